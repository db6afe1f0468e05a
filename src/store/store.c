/* store.c - see store.h: gathers requests, gives out answers, keeps what waits for better times. */
#include "store/store.h"
#include <errno.h>
#include <poll.h>
#include "store/store_parts.h"

#define KIND_NAME(id) [HF_STORE_##id] = #id,
static const char *const kind_names[HF_STORE_KIND_COUNT] = { HF_STORE_KINDS(KIND_NAME) };
#define REASON_NAME(id, name) [HF_STORE_BECAUSE_##id] = (name),
static const char *const reason_names[HF_STORE_REASON_COUNT] = { HF_STORE_REASONS(REASON_NAME) };

const char *hf_store_kind_name(enum hf_store_kind kind)
{
    return (unsigned)kind < HF_STORE_KIND_COUNT ? kind_names[kind] : "?";
}

const char *hf_store_reason_name(enum hf_store_reason reason)
{
    return (unsigned)reason < HF_STORE_REASON_COUNT ? reason_names[reason] : "?";
}

/* ---- batches ---- */

struct hf_store_batch *hf_store_batch_new(size_t size)
{
    struct hf_store_batch *batch = hf_realloc(NULL, sizeof *batch + size);
    *batch = (struct hf_store_batch) { .size = size };
    hf_link_init(&batch->letter.link);
    batch->last = &batch->first;
    return batch;
}

void hf_store_batch_free(struct hf_store_batch *batch)
{
    if (!batch)
        return;
    for (struct hf_store_item *item = batch->first; item; item = item->next)
        hf_loaded_free(item->answer.loaded);
    hf_free(batch);
}

void hf_store_init(struct hf_store *store, const struct hf_store_ops *ops,
                   struct hf_mailbox *answers)
{
    *store = (struct hf_store) { .ops = ops, .answers = answers };
    hf_link_init(&store->came);
    hf_link_init(&store->waiting);
    hf_link_init(&store->spares);
}

static void free_all(struct hf_link *batches)
{
    struct hf_store_batch *batch;
    HF_LIST_EACH_SAFE (batch, batches, struct hf_store_batch, letter.link)
        hf_store_batch_free(batch);
    hf_link_init(batches);
}

struct hf_loaded *hf_loaded_take(struct hf_store_answer *answer)
{
    struct hf_loaded *loaded = answer->loaded;
    answer->loaded = NULL;
    return loaded;
}

static void free_given(struct hf_store *store)
{
    if (store->given)
        hf_loaded_free(hf_loaded_take(store->given));
    store->given = NULL;
}

void hf_store_free(struct hf_store *store, uint32_t wait_ms)
{
    if (!store)
        return;
    hf_store_flush(store);
    free_given(store);
    struct hf_store_batch *reading = store->reading;
    struct hf_link came, waiting, spares;
    hf_list_move(&came, &store->came);
    hf_list_move(&spares, &store->spares);
    hf_list_move(&waiting, &store->waiting);
    store->ops->end(store, wait_ms);
    hf_store_batch_free(reading);
    free_all(&spares);
    free_all(&came);
    free_all(&waiting);
}

/* ---- asking ---- */

enum { SPANS_MAX = 12, SPARES_MAX = 8 };

/* The spans of a request, whose bytes travel with it. */
static unsigned spans_of(struct hf_store_request *request, struct hf_span *ret[SPANS_MAX])
{
    struct hf_call_row *call = &request->call;
    struct hf_session_row *session = &request->session;
    unsigned n = 0;
    switch (request->kind) {
    case HF_STORE_LOAD:
        ret[n++] = &request->load.listen;
        ret[n++] = &request->load.server_keys;
        break;
    case HF_STORE_PUT_CATALOG:
    case HF_STORE_FORGET_CATALOG: ret[n++] = &request->catalog.catalog; break;
    case HF_STORE_PUT_SWITCH:
    case HF_STORE_FORGET_SWITCH:
        ret[n++] = &request->change.server;
        ret[n++] = &request->change.who;
        break;
    case HF_STORE_PUT_SESSION:
    case HF_STORE_TOUCH_SESSION:
    case HF_STORE_FORGET_SESSION:
        ret[n++] = &session->listen;
        ret[n++] = &session->endpoint;
        ret[n++] = &session->token;
        ret[n++] = &session->payload;
        break;
    case HF_STORE_OPEN_CALL:
    case HF_STORE_CLOSE_CALL:
    case HF_STORE_APPEND_CALL:
    case HF_STORE_RESOLVE_CALL: {
        struct hf_span *all[] = { &call->instance, &call->caller,     &call->server,
                                  &call->tool,     &call->evidence,   &call->reason,
                                  &call->key,      &call->arguments,  &call->result,
                                  &call->note,     &call->resolved_by };
        n = sizeof all / sizeof all[0];
        memcpy(ret, all, sizeof all);
        break;
    }
    case HF_STORE_TAKE_GENERATIONS:
    case HF_STORE_RETAIN:
    case HF_STORE_KIND_COUNT: break;
    }
    return n;
}

static void *cut(struct hf_store_batch *batch, size_t size)
{
    const size_t step = sizeof(max_align_t);
    batch->used = (batch->used + step - 1) / step * step;
    void *at = (char *)batch->bytes + batch->used;
    batch->used += size;
    return at;
}

static struct hf_store_batch *batch_with_room(struct hf_store *store, size_t size)
{
    if (store->open && store->open->size - store->open->used >= size)
        return store->open;
    hf_store_flush(store);
    struct hf_store_batch *spare =
        HF_LIST_FIRST(&store->spares, struct hf_store_batch, letter.link);
    if (spare && size <= spare->size) {
        hf_unlink(&spare->letter.link);
        store->spare_count--;
        store->open = spare;
    } else {
        store->open = hf_store_batch_new(size > HF_STORE_BLOCK_BYTES ? size : HF_STORE_BLOCK_BYTES);
    }
    store->bytes += store->open->size;
    store->batches++;
    return store->open;
}

static size_t size_of(struct hf_store_request *request)
{
    struct hf_span *spans[SPANS_MAX];
    size_t text = 0;
    const unsigned count = spans_of(request, spans);
    for (unsigned i = 0; i < count; i++)
        text += spans[i]->n;
    return sizeof(struct hf_store_item) + text + 2 * sizeof(max_align_t);
}

/* The batch has room for it. */
static void append(struct hf_store_batch *batch, const struct hf_store_request *request)
{
    struct hf_store_item *item = cut(batch, sizeof *item);
    struct hf_span *spans[SPANS_MAX];
    *item = (struct hf_store_item) { .answer = { .request = *request } };
    const unsigned count = spans_of(&item->answer.request, spans);
    for (unsigned i = 0; i < count; i++) {
        char *at = (char *)batch->bytes + batch->used;
        if (spans[i]->n)
            memcpy(at, spans[i]->p, spans[i]->n);
        spans[i]->p = at;
        batch->used += spans[i]->n;
    }
    *batch->last = item;
    batch->last = &item->next;
    batch->is_urgent |= request->kind < HF_STORE_OPEN_CALL || request->kind > HF_STORE_APPEND_CALL;
}

bool hf_store_ask(struct hf_store *store, const struct hf_store_request *request)
{
    struct hf_store_request copy = *request;
    const size_t size = size_of(&copy);
    if (store->bytes > HF_STORE_BYTES_MAX || size > HF_STORE_BYTES_MAX - store->bytes ||
        store->batches >= HF_STORE_BATCHES_MAX) {
        store->refused++;
        return false;
    }
    append(batch_with_room(store, size), request);
    return true;
}

bool hf_store_is_urgent(const struct hf_store *store)
{
    return store->open && store->open->is_urgent;
}

void hf_store_flush(struct hf_store *store)
{
    struct hf_store_batch *batch = store->open;
    store->open = NULL;
    if (batch)
        store->ops->post(store, batch);
}

/* ---- answers ---- */

int hf_store_fd(const struct hf_store *store)
{
    return hf_mailbox_fd(store->answers);
}

/* Requests that waited are asked again. The store may be down again by then: they come back. */
static void post_waiting(struct hf_store *store)
{
    struct hf_link batches;
    struct hf_store_batch *batch;
    hf_list_move(&batches, &store->waiting);
    store->waiting_bytes = 0;
    store->waiting_count = 0;
    HF_LIST_EACH_SAFE (batch, &batches, struct hf_store_batch, letter.link) {
        hf_unlink(&batch->letter.link);
        store->bytes += batch->size;
        store->batches++;
        store->ops->post(store, batch);
    }
}

static void let_go(struct hf_store *store, struct hf_store_batch *batch)
{
    store->bytes -= batch->size;
    store->batches--;
    if (store->spare_count < SPARES_MAX && batch->size == HF_STORE_BLOCK_BYTES) {
        store->spare_count++;
        hf_list_push_front(&store->spares, &batch->letter.link);
        batch->first = NULL;
        batch->last = &batch->first;
        batch->used = 0;
        batch->is_urgent = false;
    } else {
        hf_store_batch_free(batch);
    }
}

static void finish_reading(struct hf_store *store)
{
    if (store->reading)
        let_go(store, store->reading);
    store->reading = NULL;
}

static bool take_batch(struct hf_store *store)
{
    struct hf_store_batch *batch = HF_LIST_FIRST(&store->came, struct hf_store_batch, letter.link);
    if (!batch) {
        if (!hf_mailbox_take(store->answers, &store->came))
            return false;
        batch = HF_LIST_FIRST(&store->came, struct hf_store_batch, letter.link);
    }
    hf_unlink(&batch->letter.link);
    if (!batch->first) {
        hf_store_batch_free(batch);
        post_waiting(store);
        return true;
    }
    store->reading = batch;
    store->next = batch->first;
    return true;
}

/* Whether an answer is put off, because its request waits until the store is back. Requests that
 * wait are copied together: they may have come one by one. */
static bool put_off(struct hf_store *store, const struct hf_store_answer *answer)
{
    struct hf_store_request request = answer->request;
    const size_t size = size_of(&request);
    struct hf_store_batch *batch =
        hf_list_empty(&store->waiting)
            ? NULL
            : HF_ITEM(store->waiting.prev, struct hf_store_batch, letter.link);
    if (answer->outcome == HF_STORE_DONE || !request.may_wait ||
        answer->reason == HF_STORE_BECAUSE_NOT_VALID ||
        answer->reason == HF_STORE_BECAUSE_NOT_FOUND || answer->reason == HF_STORE_BECAUSE_NEWER ||
        answer->reason == HF_STORE_BECAUSE_NO_LIBRARY)
        return false;
    if (!batch || batch->size - batch->used < size) {
        const size_t room = size > HF_STORE_BLOCK_BYTES ? size : HF_STORE_BLOCK_BYTES;
        if (store->waiting_bytes + room > HF_STORE_WAITING_MAX)
            return false;
        batch = hf_store_batch_new(room);
        hf_list_push(&store->waiting, &batch->letter.link);
        store->waiting_bytes += room;
    }
    append(batch, &request);
    store->waiting_count++;
    return true;
}

struct hf_store_answer *hf_store_next(struct hf_store *store)
{
    free_given(store);
    for (;;) {
        struct hf_store_item *item = store->reading ? store->next : NULL;
        if (!item) {
            finish_reading(store);
            if (!take_batch(store))
                return NULL;
            continue;
        }
        store->next = item->next;
        if (!put_off(store, &item->answer))
            return store->given = &item->answer;
    }
}

bool hf_store_wait(struct hf_store *store, uint32_t wait_ms)
{
    struct pollfd ready = { .fd = hf_store_fd(store), .events = POLLIN };
    hf_store_flush(store);
    if (store->next || !hf_list_empty(&store->came))
        return true;
    return poll(&ready, 1, (int)wait_ms) > 0;
}

struct hf_store_health hf_store_health(struct hf_store *store)
{
    struct hf_store_health health = { 0 };
    store->ops->health(store, &health);
    health.refused = store->refused;
    health.waiting = store->waiting_count;
    return health;
}
