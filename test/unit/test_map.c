/* test_map.c - the hash map: what is found, what growing costs, and that nobody can choose names
 * that fall together. */
#include "base/map.h"
#include "base/mem.h"
#include "test.h"

enum { NAME_SIZE = 64 };

struct thing {
    struct hf_map_node node;
    char name[NAME_SIZE];
};

static const struct hf_map_key key = { { 0x0706050403020100, 0x0f0e0d0c0b0a0908 } };

static uint64_t hash_of(const struct hf_map *map, const struct thing *thing)
{
    return hf_map_hash(map, 0, hf_span_of(thing->name));
}

static void add(struct hf_map *map, struct thing *thing)
{
    hf_map_add(map, &thing->node, hash_of(map, thing));
}

static struct thing *find(const struct hf_map *map, const char *name)
{
    struct thing *thing;
    HF_MAP_EACH(thing, map, hf_map_hash(map, 0, hf_span_of(name)), struct thing, node)
    {
        if (strcmp(thing->name, name) == 0)
            return thing;
    }
    return NULL;
}

static struct thing *numbered_things(size_t count)
{
    struct thing *things = hf_new_array(struct thing, count);
    for (size_t i = 0; i < count; i++)
        (void)snprintf(things[i].name, NAME_SIZE, "tool %zu", i);
    return things;
}

/* ---- the hash ---- */

/* Made with an independent SipHash that gives the value of the paper's appendix for 2-4 rounds, and
 * CPython's hash() of bytes for 1-3. The key is 00 01 … 0f and so are the messages. */
TEST(the_hash_is_siphash_1_3_of_the_scope_and_the_name)
{
    static const struct {
        size_t length;
        uint64_t hash;
    } rows[] = {
        { 8, 0x369095118d299a8e },  { 9, 0x25a48eb36c063de4 },  { 15, 0xd320d86d2a519956 },
        { 16, 0xcc4fdd1a7d908b66 }, { 23, 0x525a0e7fdae6c123 }, { 63, 0x9d199062b7bbb3a8 },
    };
    char message[64];
    uint8_t bytes[HF_MAP_KEY_SIZE];
    struct hf_map map;
    for (unsigned i = 0; i < sizeof message; i++)
        message[i] = (char)i;
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)i;
    const struct hf_map_key from_bytes = hf_map_key_of(bytes);
    hf_map_init(&map, &from_bytes);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK(hf_map_hash(&map, 0x0706050403020100,
                          (struct hf_span) { message + 8, rows[i].length - 8 }) == rows[i].hash);
}

TEST(another_key_or_another_scope_gives_another_hash)
{
    struct hf_map map, other;
    hf_map_init(&map, &key);
    hf_map_init(&other, &(struct hf_map_key) { { key.halves[0], key.halves[1] ^ 1 } });
    CHECK(hf_map_hash(&map, 0, HF_SPAN("a")) != hf_map_hash(&other, 0, HF_SPAN("a")));
    CHECK(hf_map_hash(&map, 0, HF_SPAN("a")) != hf_map_hash(&map, 1, HF_SPAN("a")));
    CHECK(hf_map_hash(&map, 0, HF_SPAN("")) != hf_map_hash(&map, 0, HF_SPAN("\0")));
}

/* ---- what is in it ---- */

TEST(a_map_has_no_table_before_its_first_entry_and_the_smallest_after_its_last)
{
    struct hf_map map;
    struct thing thing = { .name = "a" };
    hf_map_init(&map, &key);
    CHECK(!find(&map, "a") && map.count == 0 && !map.table.buckets);
    add(&map, &thing);
    CHECK(find(&map, "a") == &thing && map.count == 1);
    hf_map_remove(&map, &thing.node);
    CHECK(!find(&map, "a") && map.count == 0 && map.table.size == 8 && !map.old.buckets);
    add(&map, &thing); /* its key is still the same */
    CHECK(find(&map, "a") == &thing && thing.node.hash == hf_map_hash(&map, 0, HF_SPAN("a")));
    hf_map_done(&map);
}

/* Half of them leave and come back, so that tables are met in the middle of growing and shrinking.
 */
TEST(everything_in_it_is_found_at_every_moment_and_nothing_that_left)
{
    enum { COUNT = 700 };
    struct thing *things = numbered_things(COUNT);
    struct hf_map map;
    hf_map_init(&map, &key);
    for (size_t i = 0; i < COUNT; i++) {
        add(&map, &things[i]);
        for (size_t j = 0; j < COUNT; j++)
            CHECK(find(&map, things[j].name) == (j <= i ? &things[j] : NULL));
    }
    for (size_t i = 0; i < COUNT; i++) {
        hf_map_remove(&map, &things[i].node);
        CHECK(map.count == COUNT - 1 - i);
        for (size_t j = 0; j < COUNT; j++)
            CHECK(find(&map, things[j].name) == (j > i ? &things[j] : NULL));
    }
    for (size_t i = 0; i < COUNT; i++) {
        add(&map, &things[i]);
        if (i % 3 == 2)
            hf_map_remove(&map, &things[i - 1].node);
    }
    for (size_t i = 0; i < COUNT; i++)
        CHECK(find(&map, things[i].name) == (i % 3 == 1 && i + 1 < COUNT ? NULL : &things[i]));
    hf_map_done(&map);
    hf_free(things);
}

static bool are_in_order(const struct hf_map *map, const char *name, const struct thing *from,
                         size_t count)
{
    const struct thing *thing;
    size_t seen = 0;
    HF_MAP_EACH(thing, map, hf_map_hash(map, 0, hf_span_of(name)), struct thing, node)
    {
        if (seen == count || thing != &from[seen++])
            return false;
    }
    return seen == count;
}

TEST(entries_of_one_name_stay_in_the_order_in_which_they_were_added)
{
    enum { SAME = 5, OTHERS = 3000 };
    static struct thing same[SAME];
    struct thing *others = numbered_things(OTHERS);
    struct hf_map map;
    hf_map_init(&map, &key);
    for (size_t i = 0; i < SAME; i++) {
        memcpy(same[i].name, "same", 5);
        add(&map, &same[i]);
    }
    bool in_order = true;
    for (size_t i = 0; i < OTHERS; i++) {
        add(&map, &others[i]);
        in_order = in_order && are_in_order(&map, "same", same, SAME);
    }
    for (size_t i = 0; i < OTHERS; i++) {
        hf_map_remove(&map, &others[i].node);
        in_order = in_order && are_in_order(&map, "same", same, SAME);
    }
    CHECK(in_order);
    hf_map_remove(&map, &same[0].node);
    CHECK(are_in_order(&map, "same", same + 1, SAME - 1));
    hf_map_remove(&map, &same[SAME - 1].node);
    CHECK(are_in_order(&map, "same", same + 1, SAME - 2));
    hf_map_remove(&map, &same[2].node);
    CHECK(find(&map, "same") == &same[1] && map.count == 2);
    hf_map_done(&map);
    hf_free(others);
}

/* ---- what it costs ---- */

/* What one addition or removal moves is what leaves the old table in it. */
TEST(no_addition_and_no_removal_moves_more_than_sixteen_buckets)
{
    enum { COUNT = 50000 };
    struct thing *things = numbered_things(COUNT);
    struct hf_map map;
    size_t most = 0, largest = 0;
    hf_map_init(&map, &key);
    for (size_t i = 0; i < 2 * COUNT; i++) {
        const size_t size = map.old.size, moved = map.moved;
        if (i < COUNT)
            add(&map, &things[i]);
        else
            hf_map_remove(&map, &things[i - COUNT].node);
        const size_t now = map.old.size ? map.moved : size;
        if (map.old.size == size && now - moved > most)
            most = now - moved;
        if (map.table.size > largest)
            largest = map.table.size;
    }
    CHECK(most == 16);
    CHECK(largest == 65536 && map.count == 0);
    hf_map_done(&map);
    hf_free(things);
}

TEST(a_map_that_lost_most_of_its_entries_gives_its_table_back)
{
    enum { COUNT = 50000, LEFT = 100 };
    struct thing *things = numbered_things(COUNT);
    struct hf_map map;
    hf_map_init(&map, &key);
    for (size_t i = 0; i < COUNT; i++)
        add(&map, &things[i]);
    for (size_t i = LEFT; i < COUNT; i++)
        hf_map_remove(&map, &things[i].node);
    CHECK(map.count == LEFT && map.table.size <= 32 * LEFT);
    for (size_t i = 0; i < LEFT; i++)
        CHECK(find(&map, things[i].name) == &things[i]);
    hf_map_done(&map);
    hf_free(things);
}

/* ---- names chosen to collide ---- */

/* FNV-1a as many tables use it, cut to the bits that choose a bucket. The low bits of its state
 * depend on nothing but themselves, so pieces that lead to the same state can be put together at
 * will: four for each of nine places make 2^18 names of one hash. */
enum { BITS = 18, STATES = 1 << BITS, PLACES = 9, CHOICES = 4, PIECE = 4, HOSTILE = 100000 };

static uint32_t fnv(uint32_t state, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        state = (state ^ (unsigned char)bytes[i]) * 16777619u % STATES;
    return state;
}

static void make_piece(unsigned number, char piece[PIECE])
{
    for (unsigned i = 0; i < PIECE; i++, number /= 26)
        piece[i] = (char)('a' + number % 26);
}

static uint32_t find_pieces(uint32_t state, char pieces[CHOICES][PIECE])
{
    static unsigned seen[STATES][CHOICES], count[STATES];
    memset(count, 0, sizeof count);
    for (unsigned i = 0;; i++) {
        char piece[PIECE];
        make_piece(i, piece);
        const uint32_t next = fnv(state, piece, PIECE);
        seen[next][count[next]++] = i;
        for (unsigned j = 0; count[next] == CHOICES && j < CHOICES; j++)
            make_piece(seen[next][j], pieces[j]);
        if (count[next] == CHOICES)
            return next;
    }
}

TEST(names_that_collide_under_an_unkeyed_hash_cost_a_few_probes_each)
{
    static char pieces[PLACES][CHOICES][PIECE];
    const uint32_t start = 2166136261u % STATES;
    uint32_t state = start;
    struct thing *things = hf_new_array(struct thing, HOSTILE);
    struct hf_map map;
    for (unsigned i = 0; i < PLACES; i++)
        state = find_pieces(state, pieces[i]);
    hf_map_init(&map, &key);
    size_t probes = 0, most = 0, found = 0;
    bool collide = true;
    for (size_t i = 0; i < HOSTILE; i++) {
        for (unsigned j = 0; j < PLACES; j++)
            memcpy(things[i].name + j * PIECE, pieces[j][i >> 2 * j & 3], PIECE);
        collide = collide && fnv(start, things[i].name, PLACES * PIECE) == state;
        add(&map, &things[i]);
    }
    for (size_t i = 0; i < HOSTILE; i++) {
        const size_t n = hf_map_probes(&map, hash_of(&map, &things[i]));
        probes += n;
        most = n > most ? n : most;
        found += find(&map, things[i].name) == &things[i];
    }
    CHECK(collide && found == HOSTILE);
    CHECK(probes < 3 * HOSTILE);
    CHECK(most < 16);
    hf_map_done(&map);
    hf_free(things);
}
