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

/* `token` NULL: the key is an address. */
static struct hf_party *find_or_make(struct hf_parties *parties, const uint8_t *key,
                                     const char *token)
{
    const uint64_t hash = hf_map_hash(&parties->by_key, token ? TOKENS : ADDRESSES,
                                      (struct hf_span) { (const char *)key, HF_PARTY_KEY_SIZE });
    struct hf_party *party;
    HF_MAP_EACH(party, &parties->by_key, hash, struct hf_party, in_map)
    {
        if (memcmp(party->key, key, sizeof party->key) == 0 && !party->token == !token)
            return hf_party_ref(party);
    }
    party = hf_party_new(NULL);
    memcpy(party->key, key, sizeof party->key);
    party->token = token ? hf_strdup(token) : NULL;
    party->parties = parties;
    hf_map_add(&parties->by_key, &party->in_map, hash);
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
