/*
 * party.h - who of the HTTP front's clients costs us something: each has a share of every limit
 * (base/share.h), so that none can use up what is there for all.
 *
 *   token ── its sessions      whoever has a token
 *   address ── its sessions    the others, if they come from elsewhere
 *   session                    the others, if they come from this machine: an address says nothing
 *   connection                 of those, whoever has no session yet
 *
 * A party is there as long as somebody has a reference: a connection, a session, a party within it.
 *
 * 1. All that come with one token, or from one address, have the same party.
 * 2. The map's hash is keyed: nobody can choose addresses that make it slow.
 */
#ifndef HF_FRONT_PARTY_H
#define HF_FRONT_PARTY_H

#include "base/list.h"
#include "base/map.h"
#include "base/sha256.h"
#include "io/address.h"
#include "io/http_server.h"

struct hf_parties {
    struct hf_map by_key;
};

enum { HF_PARTY_KEY_SIZE = 16 };

struct hf_party {
    struct hf_http_party http; /* first: connections and the bytes that wait on them */
    struct hf_share sessions;
    struct hf_share kept; /* bytes of events for whoever comes back */
    struct hf_party *within;
    struct hf_link by_use; /* sessions it opened, the longest unused first */
    char *token;           /* name of its token; NULL: it has none */
    unsigned refs;
    struct hf_parties *parties; /* NULL: it is not to be found, but by those who have it */
    struct hf_map_node in_map;  /* of `parties` */
    uint8_t key[HF_PARTY_KEY_SIZE];
};

void hf_parties_init(struct hf_parties *parties, const struct hf_map_key *key); /* random */
void hf_parties_done(struct hf_parties *parties); /* of no parties any more */

/* Each gives a reference. */
struct hf_party *hf_party_of_token(struct hf_parties *parties, const uint8_t hash[HF_SHA256_SIZE],
                                   const char *name);
struct hf_party *hf_party_of_address(struct hf_parties *parties, const struct hf_address *address);
struct hf_party *hf_party_new(
    struct hf_party *within); /* takes a reference of `within`; NULL: none */
struct hf_party *hf_party_ref(struct hf_party *party);
void hf_party_unref(struct hf_party *party); /* NULL accepted */

static inline struct hf_party *hf_party_of(struct hf_http_party *http)
{
    return (struct hf_party *)(void *)http;
}
/* Whether it is a token's or an address's. */
static inline bool hf_party_is_known(const struct hf_party *party)
{
    return party->parties != NULL;
}
const char *hf_party_token(const struct hf_party *party); /* of the outermost; NULL: none */

#endif
