/*
 * sqlite.c - the store on SQLite: a thread that owns the file.
 *
 *     loop ── batches ──► requests ──► [ one transaction for all that is there ] ──► answers ──►
 * loop
 *
 * Only this thread waits for locks and for the disk. When the file cannot be used it is closed,
 * every request is answered at once, and it is opened again after a while that doubles; nothing is
 * decided by how long that takes.
 *
 * 1. An error before COMMIT means that nothing was written: the transaction is rolled back.
 * 2. An error of COMMIT itself that SQLite may have met after the last byte was written (the sync
 *    failed) means that nobody knows: a recovery of the file may find the transaction whole.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include "io/signals.h"
#include "store/sqlite_apply.h"
#include "store/sqlite_query.h"
#include "store/store_parts.h"
#include "store/takeover.h"

enum {
    BUSY_MS = 2000,
    RETRY_MIN_MS = 250,
    RETRY_MAX_MS = 30000,
    LOOK_MS = 60000,
    CLOCK_SLACK_MS = 60000, /* clocks of one machine that differ by less are not worth a word */
    PRIMARY_CODE = 0xff,
};

struct writer { /* shared with its thread; the last of the two users frees it */
    atomic_uint users;
    struct hf_mailbox *requests, *answers;
    struct hf_store_options options;
    char *directory, *instance;
    atomic_bool is_ending;
    pthread_t thread;
    pthread_mutex_t lock; /* of `health` */
    struct hf_store_health health;
    /* ---- of the thread alone ---- */
    struct hf_db db;
    uint64_t retry_at_ms, retry_ms, look_at_ms; /* mono; retry_at_ms 0: it is open */
    int64_t wall_less_mono_ms;                  /* to see the clock being set back */
    bool has_clock;
    struct hf_retention bounds; /* as it was last asked for, ages instead of times */
    bool has_bounds, has_more_to_retire;
};

struct sqlite_store {
    struct hf_store store; /* first */
    struct writer *writer;
};

static uint64_t clock_ms(clockid_t id)
{
    struct timespec now;
    (void)clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void leave(struct writer *writer)
{
    if (atomic_fetch_sub(&writer->users, 1) != 1)
        return;
    hf_mailbox_free(writer->requests);
    hf_mailbox_free(writer->answers);
    (void)pthread_mutex_destroy(&writer->lock);
    hf_free(writer->directory);
    hf_free(writer->instance);
    hf_free(writer);
}

/* ---- health ---- */

static void set_state(struct writer *writer, enum hf_store_state state, enum hf_store_reason reason,
                      const char *text)
{
    (void)pthread_mutex_lock(&writer->lock);
    struct hf_store_health *health = &writer->health;
    if (health->state != state || health->reason != reason)
        health->since_ms = clock_ms(CLOCK_REALTIME);
    health->state = state;
    health->reason = reason;
    (void)snprintf(health->text, sizeof health->text, "%s", text);
    (void)pthread_mutex_unlock(&writer->lock);
}

static void HF_PRINTF(2, 3) notice(struct writer *writer, const char *format, ...)
{
    va_list args;
    (void)pthread_mutex_lock(&writer->lock);
    va_start(args, format);
    (void)vsnprintf(writer->health.notice, sizeof writer->health.notice, format, args);
    va_end(args);
    writer->health.notices++;
    (void)pthread_mutex_unlock(&writer->lock);
}

static void count(struct writer *writer, uint64_t *counter, uint64_t amount)
{
    (void)pthread_mutex_lock(&writer->lock);
    *counter += amount;
    (void)pthread_mutex_unlock(&writer->lock);
}

/* ---- open, down, open again ---- */

static void go_down(struct writer *writer, enum hf_store_reason reason, const char *text)
{
    const uint32_t min = writer->options.retry_min_ms, max = writer->options.retry_max_ms;
    hf_db_close(&writer->db);
    writer->db.is_damaged = reason == HF_STORE_BECAUSE_CORRUPT;
    writer->retry_ms = writer->retry_ms ? writer->retry_ms * 2 : min;
    if (writer->retry_ms > max)
        writer->retry_ms = max;
    writer->retry_at_ms = clock_ms(CLOCK_MONOTONIC) + writer->retry_ms;
    set_state(writer, HF_STORE_DOWN, reason, text);
}

static void tell_what_was_found(struct writer *writer, uint64_t now_ms)
{
    const struct hf_db *db = &writer->db;
    const bool was_open = writer->health.transactions > 0;
    if (db->set_aside[0])
        notice(writer, "%s was damaged: it is kept as %s, and an empty one was begun", db->path,
               db->set_aside);
    else if (db->is_new && was_open)
        notice(writer, "%s was deleted while it was in use: an empty one was begun", db->path);
    if (db->is_new && (was_open || db->set_aside[0]))
        count(writer, &writer->health.begun_anew, 1);
    if (db->newest_ms > (int64_t)now_ms + CLOCK_SLACK_MS)
        notice(writer,
               "the clock is %lld s behind what was written before: it was set back, and "
               "times of calls will seem out of order",
               (long long)(db->newest_ms - (int64_t)now_ms) / 1000);
}

/* Whoever waits for the store is told that it is back. */
static void wake_those_who_wait(struct writer *writer)
{
    struct hf_store_batch *batch = hf_store_batch_new(0);
    if (!hf_mailbox_put(writer->answers, &batch->letter))
        hf_store_batch_free(batch);
}

static void open_db(struct writer *writer)
{
    struct hf_err err = { "" };
    const uint64_t now_ms = clock_ms(CLOCK_REALTIME);
    const struct hf_sqlite *api = hf_sqlite_load(&err);
    if (!api) {
        writer->retry_at_ms = UINT64_MAX;
        set_state(writer, HF_STORE_UNUSABLE, HF_STORE_BECAUSE_NO_LIBRARY, err.text);
        return;
    }
    if (!writer->db.api)
        hf_db_init(&writer->db, api, writer->directory, &writer->is_ending);
    /* What holds the file since long is not waited for again and again. */
    writer->db.busy_ms = writer->retry_ms ? 0 : writer->options.busy_ms;
    const enum hf_store_reason reason = hf_db_open(&writer->db, (int64_t)now_ms, &err);
    if (reason == HF_STORE_BECAUSE_NEWER) {
        writer->retry_at_ms = UINT64_MAX;
        set_state(writer, HF_STORE_UNUSABLE, reason, err.text);
    } else if (reason) {
        go_down(writer, reason, err.text);
    } else {
        const bool was_down = writer->retry_ms != 0;
        writer->retry_at_ms = writer->retry_ms = 0;
        writer->db.busy_ms = writer->options.busy_ms;
        tell_what_was_found(writer, now_ms);
        set_state(writer, HF_STORE_GOOD, HF_STORE_BECAUSE_NONE, "");
        writer->look_at_ms = 0;
        if (was_down)
            wake_those_who_wait(writer);
    }
}

/* A file that was deleted can still be written, for nobody to read. */
static void see_whether_it_is_there(struct writer *writer)
{
    if (!writer->db.handle || hf_db_is_there(&writer->db))
        return;
    hf_db_close(&writer->db);
    open_db(writer);
}

static void see_whether_the_clock_was_set_back(struct writer *writer)
{
    const int64_t difference =
        (int64_t)clock_ms(CLOCK_REALTIME) - (int64_t)clock_ms(CLOCK_MONOTONIC);
    if (writer->has_clock && difference < writer->wall_less_mono_ms - CLOCK_SLACK_MS)
        notice(writer, "the clock was set back by %lld s: times of calls will seem out of order",
               (long long)(writer->wall_less_mono_ms - difference) / 1000);
    writer->has_clock = true;
    writer->wall_less_mono_ms = difference;
}

/* ---- one transaction ---- */

static void settle_all(struct writer *writer, struct hf_link *batches,
                       enum hf_store_outcome outcome, enum hf_store_reason reason)
{
    struct hf_store_batch *batch;
    uint64_t done = 0, failed = 0, unknown = 0;
    HF_LIST_EACH (batch, batches, struct hf_store_batch, letter.link)
        for (struct hf_store_item *item = batch->first; item; item = item->next) {
            struct hf_store_answer *answer = &item->answer;
            const bool failed_alone = outcome == HF_STORE_DONE && answer->reason;
            answer->outcome = failed_alone ? HF_STORE_FAILED : outcome;
            if (outcome != HF_STORE_DONE) {
                answer->reason = reason;
                hf_loaded_free(hf_loaded_take(answer));
            }
            done += answer->outcome == HF_STORE_DONE;
            failed += answer->outcome == HF_STORE_FAILED;
            unknown += answer->outcome == HF_STORE_UNKNOWN;
        }
    (void)pthread_mutex_lock(&writer->lock);
    writer->health.done += done;
    writer->health.failed += failed;
    writer->health.unknown += unknown;
    (void)pthread_mutex_unlock(&writer->lock);
}

static bool has_durable(const struct hf_link *batches)
{
    struct hf_store_batch *batch;
    HF_LIST_EACH (batch, batches, struct hf_store_batch, letter.link)
        for (const struct hf_store_item *item = batch->first; item; item = item->next)
            if (item->answer.request.is_durable)
                return true;
    return false;
}

static void note_bounds(struct writer *writer, const struct hf_store_answer *answer)
{
    const uint64_t now_ms = clock_ms(CLOCK_REALTIME);
    struct hf_retention bounds = answer->request.retention;
    if (bounds.calls_before_ms)
        bounds.calls_before_ms = now_ms - bounds.calls_before_ms;
    if (bounds.sessions_before_ms)
        bounds.sessions_before_ms = now_ms - bounds.sessions_before_ms;
    writer->bounds = bounds;
    writer->has_bounds = true;
}

/* SQLITE_OK, or the error for which nothing of the transaction may stay. */
static int apply_all(struct writer *writer, struct hf_link *batches)
{
    struct hf_db *db = &writer->db;
    const struct hf_span instance = hf_span_of(writer->instance);
    struct hf_store_batch *batch;
    HF_LIST_EACH (batch, batches, struct hf_store_batch, letter.link)
        for (struct hf_store_item *item = batch->first; item; item = item->next) {
            struct hf_store_answer *answer = &item->answer;
            const int code = hf_sqlite_apply(db, instance, answer);
            if (answer->request.kind == HF_STORE_RETAIN)
                note_bounds(writer, answer);
            if (code == SQLITE_OK)
                continue;
            struct hf_err unused;
            if (hf_db_reason(db, code, &unused) != HF_STORE_BECAUSE_NOT_VALID ||
                db->api->get_autocommit(db->handle))
                return code;
            answer->reason = HF_STORE_BECAUSE_NOT_VALID;
        }
    return SQLITE_OK;
}

static void fail_all(struct writer *writer, struct hf_link *batches, int code, bool is_commit)
{
    struct hf_err err = { "" };
    const enum hf_store_reason reason = hf_db_reason(&writer->db, code, &err);
    const bool is_unknown =
        is_commit && (code & PRIMARY_CODE) != SQLITE_BUSY && (code & PRIMARY_CODE) != SQLITE_FULL;
    if (!writer->db.api->get_autocommit(writer->db.handle))
        (void)hf_db_exec(&writer->db, "ROLLBACK");
    settle_all(writer, batches, is_unknown ? HF_STORE_UNKNOWN : HF_STORE_FAILED, reason);
    go_down(writer, reason, err.text);
}

static void write_all(struct writer *writer, struct hf_link *batches)
{
    struct hf_db *db = &writer->db;
    int code = hf_db_sync(db, has_durable(batches));
    if (code == SQLITE_OK)
        code = hf_db_exec(db, "BEGIN IMMEDIATE");
    if (code == SQLITE_OK)
        code = apply_all(writer, batches);
    if (code != SQLITE_OK) {
        fail_all(writer, batches, code, false);
        return;
    }
    code = hf_db_exec(db, "COMMIT");
    if (code != SQLITE_OK) {
        fail_all(writer, batches, code, true);
        return;
    }
    count(writer, &writer->health.transactions, 1);
    settle_all(writer, batches, HF_STORE_DONE, HF_STORE_BECAUSE_NONE);
}

static void serve(struct writer *writer, struct hf_link *batches)
{
    struct hf_store_batch *batch;
    if (hf_list_empty(batches))
        return;
    see_whether_it_is_there(writer);
    if (writer->db.handle)
        write_all(writer, batches);
    else
        settle_all(writer, batches, HF_STORE_FAILED, writer->health.reason);
    HF_LIST_EACH_SAFE (batch, batches, struct hf_store_batch, letter.link) {
        hf_unlink(&batch->letter.link);
        if (!hf_mailbox_put(writer->answers, &batch->letter))
            hf_store_batch_free(batch); /* nobody wants answers any more */
    }
}

/* ---- from time to time ---- */

static void retire(struct writer *writer)
{
    const uint64_t now_ms = clock_ms(CLOCK_REALTIME);
    struct hf_db *db = &writer->db;
    struct hf_retention bounds = writer->bounds;
    struct hf_retired retired = { 0 };
    bounds.calls_before_ms = bounds.calls_before_ms ? now_ms - bounds.calls_before_ms : 0;
    bounds.sessions_before_ms = bounds.sessions_before_ms ? now_ms - bounds.sessions_before_ms : 0;
    writer->has_more_to_retire = false;
    if (hf_db_sync(db, false) != SQLITE_OK || hf_db_exec(db, "BEGIN IMMEDIATE") != SQLITE_OK)
        return;
    if (hf_sqlite_retire(db, &bounds, &retired) != SQLITE_OK ||
        hf_db_exec(db, "COMMIT") != SQLITE_OK) {
        if (!db->api->get_autocommit(db->handle))
            (void)hf_db_exec(db, "ROLLBACK");
        return;
    }
    writer->has_more_to_retire = retired.has_more;
    count(writer, &writer->health.retired, retired.calls);
}

static void look(struct writer *writer, uint64_t mono_ms)
{
    struct hf_takeover found;
    struct hf_err err = { "" };
    writer->look_at_ms = mono_ms + writer->options.look_ms;
    see_whether_it_is_there(writer);
    if (!writer->db.handle)
        return;
    const int code = hf_takeover_look(&writer->db, writer->directory, writer->instance, &found);
    (void)pthread_mutex_lock(&writer->lock);
    writer->health.taken_over += found.instances;
    writer->health.torn_marks += found.torn;
    (void)pthread_mutex_unlock(&writer->lock);
    if (code != SQLITE_OK)
        go_down(writer, hf_db_reason(&writer->db, code, &err), err.text);
}

static int ms_until(uint64_t at_ms, uint64_t now_ms)
{
    if (at_ms <= now_ms)
        return 0;
    return at_ms - now_ms > 3600000 ? 3600000 : (int)(at_ms - now_ms);
}

/* How long there is nothing to do but for requests. */
static int idle_ms(const struct writer *writer, uint64_t now_ms)
{
    if (!writer->db.handle)
        return ms_until(writer->retry_at_ms, now_ms);
    return writer->has_more_to_retire ? 0 : ms_until(writer->look_at_ms, now_ms);
}

static void do_what_is_due(struct writer *writer)
{
    const uint64_t now_ms = clock_ms(CLOCK_MONOTONIC);
    if (!writer->db.handle && now_ms >= writer->retry_at_ms)
        open_db(writer);
    if (writer->db.handle && now_ms >= writer->look_at_ms) {
        see_whether_the_clock_was_set_back(writer);
        look(writer, now_ms);
        writer->has_more_to_retire = writer->has_bounds;
    }
    if (writer->db.handle && writer->has_more_to_retire)
        retire(writer);
}

static void note_cpu(struct writer *writer)
{
    struct timespec used;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    (void)pthread_mutex_lock(&writer->lock);
    writer->health.writer_ns = (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
    (void)pthread_mutex_unlock(&writer->lock);
}

static void *run(void *context)
{
    struct writer *writer = context;
    struct pollfd ready = { .fd = hf_mailbox_fd(writer->requests), .events = POLLIN };
    struct hf_link batches;
    bool is_over = false;
    open_db(writer);
    while (!is_over) {
        const bool is_closed = hf_mailbox_is_closed(writer->requests);
        is_over = !hf_mailbox_take(writer->requests, &batches) && is_closed;
        serve(writer, &batches);
        if (is_over)
            break;
        do_what_is_due(writer);
        note_cpu(writer);
        (void)poll(&ready, 1, idle_ms(writer, clock_ms(CLOCK_MONOTONIC)));
    }
    if (writer->db.handle)
        hf_db_close(&writer->db);
    hf_mailbox_close(writer->answers); /* nothing more will come */
    leave(writer);
    return NULL;
}

/* ---- in the loop ---- */

static void post(struct hf_store *store, struct hf_store_batch *batch)
{
    struct writer *writer = ((struct sqlite_store *)store)->writer;
    if (!hf_mailbox_put(writer->requests, &batch->letter))
        hf_store_batch_free(batch); /* only if it is closed: as many as there can be fit in */
}

static void health(struct hf_store *store, struct hf_store_health *ret_health)
{
    struct writer *writer = ((struct sqlite_store *)store)->writer;
    (void)pthread_mutex_lock(&writer->lock);
    *ret_health = writer->health;
    (void)pthread_mutex_unlock(&writer->lock);
}

static void drop_answers(struct writer *writer)
{
    struct hf_link batches;
    struct hf_store_batch *batch;
    (void)hf_mailbox_take(writer->answers, &batches);
    HF_LIST_EACH_SAFE (batch, &batches, struct hf_store_batch, letter.link)
        hf_store_batch_free(batch);
}

/* A disk that does not answer must not keep the process from ending: its thread is left alone. */
static void end(struct hf_store *store, uint32_t wait_ms)
{
    struct writer *writer = ((struct sqlite_store *)store)->writer;
    struct pollfd ready = { .fd = hf_mailbox_fd(writer->answers), .events = POLLIN };
    const uint64_t until_ms = clock_ms(CLOCK_MONOTONIC) + wait_ms;
    hf_mailbox_close(writer->requests);
    for (;;) {
        const bool has_ended = hf_mailbox_is_closed(writer->answers);
        drop_answers(writer);
        const int left_ms = ms_until(until_ms, clock_ms(CLOCK_MONOTONIC));
        if (has_ended) {
            (void)pthread_join(writer->thread, NULL);
            break;
        }
        if (left_ms == 0) {
            atomic_store(&writer->is_ending, true);
            hf_mailbox_close(writer->answers);
            drop_answers(writer);
            (void)pthread_detach(writer->thread);
            break;
        }
        (void)poll(&ready, 1, left_ms);
    }
    leave(writer);
    hf_free(store);
}

static bool start_thread(struct writer *writer)
{
    sigset_t before;
    hf_signals_keep_out(&before);
    const bool is_made = pthread_create(&writer->thread, NULL, run, writer) == 0;
    hf_signals_let_in(&before);
    return is_made;
}

static uint32_t or_default(uint32_t given, uint32_t otherwise)
{
    return given ? given : otherwise;
}

struct hf_store *hf_store_sqlite_new(const struct hf_store_options *options, struct hf_err *err)
{
    static const struct hf_store_ops ops = { post, health, end };
    struct writer *writer = hf_new(struct writer);
    atomic_init(&writer->users, 1);
    (void)pthread_mutex_init(&writer->lock, NULL);
    writer->requests = hf_mailbox_new(HF_STORE_MAILBOX_MAX);
    writer->answers = hf_mailbox_new(HF_STORE_MAILBOX_MAX);
    writer->directory = hf_strdup(options->directory);
    writer->instance = hf_strdup(options->instance);
    writer->options = (struct hf_store_options) {
        .busy_ms = or_default(options->busy_ms, BUSY_MS),
        .retry_min_ms = or_default(options->retry_min_ms, RETRY_MIN_MS),
        .retry_max_ms = or_default(options->retry_max_ms, RETRY_MAX_MS),
        .look_ms = or_default(options->look_ms, LOOK_MS),
    };
    writer->health.reason = HF_STORE_BECAUSE_NOT_STARTED;
    atomic_fetch_add(&writer->users, 1); /* the thread */
    if (!writer->requests || !writer->answers || !start_thread(writer)) {
        hf_fail(err, "there are no descriptors or threads left for a store");
        leave(writer);
        leave(writer);
        return NULL;
    }
    struct sqlite_store *sqlite = hf_new(struct sqlite_store);
    hf_store_init(&sqlite->store, &ops, writer->answers);
    sqlite->writer = writer;
    return &sqlite->store;
}
