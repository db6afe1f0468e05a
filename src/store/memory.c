/*
 * memory.c - `store: "none"`: nothing outlives the process.
 *
 * Sessions, catalogs and switches are with those who use them, for as long as they live, so there
 * is nothing to keep here but what must not repeat: generations, and the sealing secret.
 */
#include "base/map.h"
#include "io/random.h"
#include "store/store_parts.h"

enum { SERVERS_MAX = 10000 };

struct counter { /* of the generations of one server */
    struct hf_map_node node;
    struct counter *next;
    struct hf_server_key key;
    uint64_t next_generation;
};

struct memory_store {
    struct hf_store store; /* first */
    struct hf_map by_key;
    struct counter *counters;
    uint8_t sealing_secret[HF_SEALING_SECRET_SIZE];
    uint64_t done, failed, transactions;
};

static uint64_t take(struct memory_store *memory, const struct hf_server_key *key, uint32_t count)
{
    const struct hf_span bytes = { (const char *)key->bytes, sizeof key->bytes };
    const uint64_t hash = hf_map_hash(&memory->by_key, 0, bytes);
    struct counter *counter = NULL, *each;
    HF_MAP_EACH(each, &memory->by_key, hash, struct counter, node)
    if (memcmp(&each->key, key, sizeof *key) == 0)
        counter = each;
    if (!counter && memory->by_key.count == SERVERS_MAX)
        return 0;
    if (!counter) {
        counter = hf_new(struct counter);
        *counter = (struct counter) { .next = memory->counters, .key = *key, .next_generation = 1 };
        memory->counters = counter;
        hf_map_add(&memory->by_key, &counter->node, hash);
    }
    const uint64_t first = counter->next_generation;
    counter->next_generation += count;
    return first;
}

static void load(struct memory_store *memory, struct hf_store_answer *answer)
{
    const struct hf_load_wish *wish = &answer->request.load;
    const size_t count = wish->server_keys.n / sizeof(struct hf_server_key);
    struct hf_loaded *loaded = answer->loaded = hf_loaded_new();
    memcpy(loaded->sealing_secret, memory->sealing_secret, sizeof loaded->sealing_secret);
    loaded->generations = hf_new_array(struct hf_generations, count);
    loaded->generation_count = count;
    for (size_t i = 0; i < count; i++) {
        struct hf_generations *block = &loaded->generations[i];
        memcpy(&block->key, wish->server_keys.p + i * sizeof block->key, sizeof block->key);
        block->count = wish->generations;
        block->first = take(memory, &block->key, wish->generations);
    }
}

static void perform(struct memory_store *memory, struct hf_store_answer *answer)
{
    const struct hf_store_request *request = &answer->request;
    answer->outcome = HF_STORE_DONE;
    if (request->kind == HF_STORE_LOAD) {
        load(memory, answer);
    } else if (request->kind == HF_STORE_TAKE_GENERATIONS) {
        answer->value = take(memory, &request->generations.key, request->generations.count);
        if (answer->value == 0) {
            answer->outcome = HF_STORE_FAILED;
            answer->reason = HF_STORE_BECAUSE_NOT_VALID;
        }
    } else if (request->kind == HF_STORE_RESOLVE_CALL) {
        answer->outcome = HF_STORE_FAILED;
        answer->reason = HF_STORE_BECAUSE_NOT_FOUND;
    }
    memory->done += answer->outcome == HF_STORE_DONE;
    memory->failed += answer->outcome == HF_STORE_FAILED;
}

static void post(struct hf_store *store, struct hf_store_batch *batch)
{
    struct memory_store *memory = (struct memory_store *)store;
    memory->transactions++;
    for (struct hf_store_item *item = batch->first; item; item = item->next)
        perform(memory, &item->answer);
    if (!hf_mailbox_put(store->answers, &batch->letter))
        hf_store_batch_free(batch); /* only if it is closed: as many as there can be fit in */
}

static void health(struct hf_store *store, struct hf_store_health *ret_health)
{
    const struct memory_store *memory = (struct memory_store *)store;
    *ret_health = (struct hf_store_health) {
        .state = HF_STORE_IN_MEMORY,
        .text = "nothing is kept: the store is switched off",
        .transactions = memory->transactions,
        .done = memory->done,
        .failed = memory->failed,
    };
}

static void end(struct hf_store *store, uint32_t wait_ms)
{
    struct memory_store *memory = (struct memory_store *)store;
    struct hf_link batches;
    struct hf_store_batch *batch;
    (void)wait_ms;
    (void)hf_mailbox_take(store->answers, &batches);
    HF_LIST_EACH_SAFE (batch, &batches, struct hf_store_batch, letter.link)
        hf_store_batch_free(batch);
    hf_mailbox_free(store->answers);
    for (struct counter *counter = memory->counters, *next; counter; counter = next) {
        next = counter->next;
        hf_free(counter);
    }
    hf_map_done(&memory->by_key);
    hf_free(memory);
}

struct hf_store *hf_store_memory_new(struct hf_err *err)
{
    static const struct hf_store_ops ops = { post, health, end };
    uint8_t bytes[HF_MAP_KEY_SIZE];
    struct hf_mailbox *answers = hf_mailbox_new(HF_STORE_MAILBOX_MAX);
    if (!answers) {
        hf_fail(err, "there are no descriptors left for a store");
        return NULL;
    }
    struct memory_store *memory = hf_new(struct memory_store);
    hf_store_init(&memory->store, &ops, answers);
    hf_random(bytes, sizeof bytes);
    const struct hf_map_key key = hf_map_key_of(bytes);
    hf_map_init(&memory->by_key, &key);
    hf_random(memory->sealing_secret, sizeof memory->sealing_secret);
    return &memory->store;
}
