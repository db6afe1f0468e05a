/* map.c - see map.h. */
#include "base/map.h"
#include <assert.h>
#include <string.h>
#include "base/mem.h"

/* A table shrinks when it has eight buckets for each entry. With twice that many buckets moved at
 * each step, all are moved before half of the entries have been removed. */
enum { FIRST_SIZE = 8, SPARSE = 8, BUCKETS_A_STEP = 2 * SPARSE };

/* ---- SipHash-1-3 (Aumasson and Bernstein, "SipHash: a fast short-input PRF") ---- */

enum { ROUNDS = 1, LAST_ROUNDS = 3, WORD = 8 };

static uint64_t rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

static void mix(uint64_t v[4], unsigned rounds)
{
    for (; rounds; rounds--) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] = rotate(v[0], 32) + v[3];
        v[2] += v[1];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[2] = rotate(v[2], 32);
    }
}

/* In the machine's own order of bytes: no hash leaves the process. */
static uint64_t read_word(const void *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, WORD);
    return word;
}

/* Of the last bytes, which are less than a word. */
static uint64_t read_rest(const char *bytes, size_t n)
{
    uint64_t word = 0;
    for (size_t i = 0; i < n; i++)
        word |= (uint64_t)(uint8_t)bytes[i] << (8 * i);
    return word;
}

static void take(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    mix(v, ROUNDS);
    v[0] ^= word;
}

struct hf_map_key hf_map_key_of(const uint8_t bytes[HF_MAP_KEY_SIZE])
{
    return (struct hf_map_key) { { read_word(bytes), read_word(bytes + WORD) } };
}

/* The scope is the first word of the message, the name follows. */
uint64_t hf_map_hash(const struct hf_map *map, uint64_t scope, struct hf_span name)
{
    const uint64_t *key = map->key.halves;
    uint64_t v[4] = { key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d,
                      key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573 };
    size_t at = 0;
    take(v, scope);
    for (; name.n - at >= WORD; at += WORD)
        take(v, read_word(name.p + at));
    const uint64_t length = (uint64_t)(WORD + name.n) << 56;
    take(v, length | (name.n > at ? read_rest(name.p + at, name.n - at) : 0));
    v[2] ^= 0xff;
    mix(v, LAST_ROUNDS);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* ---- buckets ---- */

static struct hf_map_node **bucket_in(const struct hf_map_table *table, uint64_t hash)
{
    return &table->buckets[hash & (table->size - 1)];
}

/* The one bucket of a hash at this moment, in the old table or the new one. */
static struct hf_map_node **bucket_of(const struct hf_map *map, uint64_t hash)
{
    if (map->old.size && (hash & (map->old.size - 1)) >= map->moved)
        return bucket_in(&map->old, hash);
    return bucket_in(&map->table, hash);
}

static void push(struct hf_map_node **bucket, struct hf_map_node *node)
{
    node->next = NULL;
    node->prev = *bucket ? (*bucket)->prev : node;
    if (*bucket)
        (*bucket)->prev->next = node;
    else
        *bucket = node;
    (*bucket)->prev = node;
}

static void take_out(struct hf_map_node **bucket, struct hf_map_node *node)
{
    struct hf_map_node *last = (*bucket)->prev;
    if (node == *bucket)
        *bucket = node->next;
    else
        node->prev->next = node->next;
    if (node->next)
        node->next->prev = node->prev;
    else if (*bucket)
        last = node->prev;
    if (*bucket)
        (*bucket)->prev = last;
    node->next = node->prev = NULL;
}

/* ---- size ---- */

static void move_some(struct hf_map *map)
{
    for (unsigned i = 0; map->old.size && i < BUCKETS_A_STEP; i++) {
        struct hf_map_node *node = map->old.buckets[map->moved++], *next;
        for (; node; node = next) {
            next = node->next;
            push(bucket_in(&map->table, node->hash), node);
        }
        if (map->moved == map->old.size) {
            hf_free(map->old.buckets);
            map->old = (struct hf_map_table) { NULL, 0 };
            map->moved = 0;
        }
    }
}

/* Does nothing while a table is being moved. */
static void fit(struct hf_map *map)
{
    const size_t size = map->table.size;
    size_t wanted = size;
    if (map->count > size)
        wanted = size ? 2 * size : FIRST_SIZE;
    else if (size > FIRST_SIZE && map->count < size / SPARSE)
        wanted = size / 2;
    if (wanted == size || map->old.size)
        return;
    map->old = map->table;
    map->table = (struct hf_map_table) { hf_new_array(struct hf_map_node *, wanted), wanted };
}

/* ---- the map ---- */

void hf_map_init(struct hf_map *map, const struct hf_map_key *key)
{
    *map = (struct hf_map) { .key = *key };
}

void hf_map_done(struct hf_map *map)
{
    hf_free(map->table.buckets);
    hf_free(map->old.buckets);
    *map = (struct hf_map) { .key = map->key };
}

void hf_map_add(struct hf_map *map, struct hf_map_node *node, uint64_t hash)
{
    map->count++;
    fit(map);
    node->hash = hash;
    push(bucket_of(map, hash), node);
    move_some(map);
}

void hf_map_remove(struct hf_map *map, struct hf_map_node *node)
{
    assert(map->count > 0);
    take_out(bucket_of(map, node->hash), node);
    if (--map->count == 0 && map->table.size > FIRST_SIZE) {
        hf_map_done(map);
        return;
    }
    fit(map);
    move_some(map);
}

static struct hf_map_node *with_hash(struct hf_map_node *node, uint64_t hash)
{
    while (node && node->hash != hash)
        node = node->next;
    return node;
}

struct hf_map_node *hf_map_first(const struct hf_map *map, uint64_t hash)
{
    return map->count ? with_hash(*bucket_of(map, hash), hash) : NULL;
}

struct hf_map_node *hf_map_next(const struct hf_map_node *node)
{
    return with_hash(node->next, node->hash);
}

size_t hf_map_probes(const struct hf_map *map, uint64_t hash)
{
    size_t count = 0;
    const struct hf_map_node *node = map->count ? *bucket_of(map, hash) : NULL;
    for (; node; node = node->next)
        count++;
    return count;
}
