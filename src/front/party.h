/*
 * party.h - the units among which the HTTP front divides its limits: each party has a share of
 * every limit (base/share.h), so that none can use up a limit alone.
 *
 *   token ── its sessions      clients with a token
 *   address ── its sessions    other clients, from other machines
 *   session                    other clients, from this machine: their address tells nothing
 *   connection                 clients of this machine that have no session yet
 *
 * A party exists as long as there is a reference: of a connection, a session, or a party within it.
 *
 * 1. All clients with one token, or from one address, have the same party.
 * 2. The map's hash is keyed: no peer can choose addresses that make it slow.
 */
#ifndef HF_FRONT_PARTY_H
#define HF_FRONT_PARTY_H

#include "base/list.h"
#include "base/map.h"
#include "base/sha256.h"
#include "core/engine.h"
#include "io/address.h"
#include "io/http_server.h"

struct hf_parties {
    struct hf_map by_key;
};

enum { HF_PARTY_KEY_SIZE = 16 };

struct hf_party {
    struct hf_http_party http; /* first: connections and the bytes that wait on them */
    struct hf_share sessions;
    struct hf_share kept;         /* bytes of events kept for clients that may resume */
    struct hf_client_party *core; /* what the engine holds for it */
    struct hf_party *within;
    uint32_t rate_per_minute; /* requests that may come; 0: any number */
    uint64_t rate_due_us;     /* when the party has all of them again */
    struct hf_link by_use;    /* sessions that the party opened, the longest unused first */
    char *token;              /* name of its token; NULL: it has none */
    unsigned refs;
    struct hf_parties *parties; /* NULL: the party is in no map */
    struct hf_map_node in_map;  /* of `parties` */
    uint8_t key[HF_PARTY_KEY_SIZE];
};

/* `key` must be random. */
void hf_parties_init(struct hf_parties *parties, const struct hf_map_key *key);
void hf_parties_done(struct hf_parties *parties); /* all parties must have been freed */

/* Each returns a new reference. */
struct hf_party *hf_party_of_token(struct hf_parties *parties, const uint8_t hash[HF_SHA256_SIZE],
                                   const char *name);
struct hf_party *hf_party_of_address(struct hf_parties *parties, const struct hf_address *address);
/* Takes a reference of `within`, which may be NULL. */
struct hf_party *hf_party_new(struct hf_party *within);
struct hf_party *hf_party_ref(struct hf_party *party);
void hf_party_unref(struct hf_party *party); /* NULL accepted */

static inline struct hf_party *hf_party_of(struct hf_http_party *http)
{
    return (struct hf_party *)(void *)http;
}
/* Whether the party is that of a token or an address. */
static inline bool hf_party_is_known(const struct hf_party *party)
{
    return party->parties != NULL;
}
/* The party of that token, if there is one now; else NULL. */
struct hf_party *hf_parties_find_token(const struct hf_parties *parties,
                                       const uint8_t hash[HF_SHA256_SIZE]);
/* Of a token's party. */
void hf_party_set_limits(struct hf_party *party, const struct hf_token_limits *limits);
/* Counts one request of the outermost party around this one. 0: it may come; else it is one too
 * many, and another may come after so many seconds. */
uint32_t hf_party_wait_s(struct hf_party *party, uint64_t now_ms);
/* The token's name of the outermost party around this one; NULL: it has none. */
const char *hf_party_token(const struct hf_party *party);

#endif
