/*
 * map.h - look-up by name or id: a hash map whose entries are members of their owners.
 *
 * Names come from peers, so the hash is SipHash-1-3 under a key that they do not know: no peer can
 * choose names that all fall into one bucket. The map finds candidates by their hash; the caller
 * compares the names, which the map does not store. Several entries may have the same name.
 *
 * 1. A map that never had an entry has no table. One that lost its last entry keeps the smallest
 *    table, so that adding and removing one entry costs no allocation.
 * 2. Growing and shrinking are spread: each addition and removal moves at most 16 buckets of the
 *    old table into the new one. So no call moves more than a few entries, however many there are.
 * 3. Entries with the same hash are found in the order in which they were added. The order of
 *    others means nothing.
 */
#ifndef HF_BASE_MAP_H
#define HF_BASE_MAP_H

#include <stdint.h>
#include "base/list.h"
#include "base/span.h"

enum { HF_MAP_KEY_SIZE = 16 };

struct hf_map_key { /* random; the caller makes it, since src/base has no source of randomness */
    uint64_t halves[2];
};

struct hf_map_node {
    /* private */
    struct hf_map_node *next, *prev; /* of its bucket: the last one's next is NULL, the first one's
                                        prev is the last */
    uint64_t hash;
};

struct hf_map_table {
    struct hf_map_node **buckets; /* the first of each; NULL: none */
    size_t size;                  /* a power of two, or 0 */
};

struct hf_map {
    /* private but for `count` */
    size_t count;
    struct hf_map_key key;
    struct hf_map_table table, old; /* old.size 0: nothing is being moved */
    size_t moved;                   /* buckets of `old` that are in `table` by now */
};

struct hf_map_key hf_map_key_of(const uint8_t bytes[HF_MAP_KEY_SIZE]);
void hf_map_init(struct hf_map *map, const struct hf_map_key *key);
void hf_map_done(struct hf_map *map); /* entries that are left belong to their owners */

/* The hash of a name in a scope: names of different scopes (servers, say) can share one map. With
 * only one scope it is 0. */
uint64_t hf_map_hash(const struct hf_map *map, uint64_t scope, struct hf_span name);

void hf_map_add(struct hf_map *map, struct hf_map_node *node, uint64_t hash);
void hf_map_remove(struct hf_map *map, struct hf_map_node *node); /* must be in the map */

struct hf_map_node *hf_map_first(const struct hf_map *map, uint64_t hash); /* NULL: none has it */
struct hf_map_node *hf_map_next(const struct hf_map_node *node);           /* with the same hash */

/* How many entries a look-up of that hash passes, for tests. */
size_t hf_map_probes(const struct hf_map *map, uint64_t hash);

/* Candidates: `item` may not be removed inside the loop. */
#define HF_MAP_EACH(item, map, hash, type, member)                                                 \
    for (struct hf_map_node *item##_node_ = hf_map_first(map, hash);                               \
         item##_node_ && ((item) = HF_ITEM(item##_node_, type, member), 1);                        \
         item##_node_ = hf_map_next(item##_node_))

#endif
