/* party.c - see party.h. */
#include "front/party.h"
#include <assert.h>
#include "base/mem.h"

void hf_parties_init(struct hf_parties *parties, const struct hf_map_key *key)
{
    hf_map_init(&parties->by_key, key);
}

void hf_parties_done(struct hf_parties *parties)
{
    assert(parties->by_key.count == 0);
    hf_map_done(&parties->by_key);
}

/* ---- finding ---- */

enum { ADDRESSES, TOKENS }; /* scopes of the map */

static uint64_t hash_of(const struct hf_parties *parties, const uint8_t *key, bool is_token)
{
    return hf_map_hash(&parties->by_key, is_token ? TOKENS : ADDRESSES,
                       (struct hf_span) { (const char *)key, HF_PARTY_KEY_SIZE });
}

static struct hf_party *find(const struct hf_parties *parties, const uint8_t *key, bool is_token)
{
    struct hf_party *party;
    HF_MAP_EACH(party, &parties->by_key, hash_of(parties, key, is_token), struct hf_party, in_map)
    {
        if (memcmp(party->key, key, sizeof party->key) == 0 && (party->token != NULL) == is_token)
            return party;
    }
    return NULL;
}

/* `token` NULL: the key is an address. */
static struct hf_party *find_or_make(struct hf_parties *parties, const uint8_t *key,
                                     const char *token)
{
    struct hf_party *party = find(parties, key, token != NULL);
    if (party)
        return hf_party_ref(party);
    party = hf_party_new(NULL);
    memcpy(party->key, key, sizeof party->key);
    party->token = token ? hf_strdup(token) : NULL;
    party->parties = parties;
    hf_map_add(&parties->by_key, &party->in_map, hash_of(parties, key, token != NULL));
    return party;
}

struct hf_party *hf_party_of_token(struct hf_parties *parties, const uint8_t hash[HF_SHA256_SIZE],
                                   const char *name)
{
    return find_or_make(parties, hash, name);
}

struct hf_party *hf_party_of_address(struct hf_parties *parties, const struct hf_address *address)
{
    const struct hf_address key = hf_address_of_party(address);
    return find_or_make(parties, key.bytes, NULL);
}

/* ---- lifetime ---- */

struct hf_party *hf_party_new(struct hf_party *within)
{
    struct hf_party *party = hf_new(struct hf_party);
    party->refs = 1;
    hf_link_init(&party->by_use);
    party->core = hf_client_party_new(within ? within->core : NULL);
    if (!within)
        return party;
    party->within = hf_party_ref(within);
    party->http.connections.within = &within->http.connections;
    party->http.silent.within = &within->http.silent;
    party->http.bytes.within = &within->http.bytes;
    party->sessions.within = &within->sessions;
    party->kept.within = &within->kept;
    return party;
}

struct hf_party *hf_party_ref(struct hf_party *party)
{
    party->refs++;
    return party;
}

void hf_party_unref(struct hf_party *party)
{
    while (party && --party->refs == 0) {
        struct hf_party *within = party->within;
        assert(party->http.connections.used == 0 && party->http.bytes.used == 0);
        assert(party->sessions.used == 0 && party->kept.used == 0);
        if (party->parties)
            hf_map_remove(&party->parties->by_key, &party->in_map);
        hf_client_party_unref(party->core);
        hf_free(party->token);
        hf_free(party);
        party = within;
    }
}

const char *hf_party_token(const struct hf_party *party)
{
    while (party->within)
        party = party->within;
    return party->token;
}

/* ---- a token's own limits ---- */

struct hf_party *hf_parties_find_token(const struct hf_parties *parties,
                                       const uint8_t hash[HF_SHA256_SIZE])
{
    return find(parties, hash, true);
}

void hf_party_set_limits(struct hf_party *party, const struct hf_token_limits *limits)
{
    party->http.connections.max = limits->streams;
    party->http.bytes.max = limits->bytes;
    party->sessions.max = limits->sessions;
    party->rate_per_minute = limits->rate_per_minute;
    hf_client_party_set_max(party->core, HF_SHARED_CALLS, limits->calls);
    hf_client_party_set_max(party->core, HF_SHARED_HELD, limits->bytes);
    hf_client_party_set_max(party->core, HF_SHARED_SUBSCRIPTIONS, limits->subscriptions);
}

/* A minute's requests may come all at once; each is there again after its part of a minute. */
uint32_t hf_party_wait_s(struct hf_party *party, uint64_t now_ms)
{
    const uint64_t minute_us = 60 * 1000 * 1000;
    while (party->within)
        party = party->within;
    if (!party->rate_per_minute)
        return 0;
    const uint64_t now_us = now_ms * 1000;
    const uint64_t from_us = party->rate_due_us > now_us ? party->rate_due_us : now_us;
    const uint64_t due_us = from_us + minute_us / party->rate_per_minute;
    if (due_us > now_us + minute_us)
        return (uint32_t)((due_us - now_us - minute_us + 999999) / 1000000);
    party->rate_due_us = due_us;
    return 0;
}
