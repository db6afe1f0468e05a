/*
 * store.c - what keeping costs: a mark and a row on the thread that asks, a row on the thread that
 * writes, a start with much to load, and the growth of the file.
 *
 *   store SCRATCH [ROWS]
 *
 * CPU time is of one thread each. SCRATCH is made, and the files in it are removed at the end.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "measure.h"
#include "rig.h"
#include "store/instance.h"
#include "store/ring.h"
#include "store/session_payload.h"
#include "store/sqlite_load.h"
#include "store/store.h"

enum {
    ROWS = 1000000,
    MARKS = 5000000,
    SESSIONS = 10000,
    CATALOGS = 100,
    CATALOG_BYTES = 20000,
    PATH_SIZE = 1024,
    LIFE_S = 600,
    WAIT_MS = 60000,
    LOADS = 5,
};

static const char *scratch;

static uint64_t thread_ns(void)
{
    struct timespec used;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static void remove_files(void)
{
    DIR *listing = opendir(scratch);
    char path[PATH_SIZE];
    for (const struct dirent *entry; listing && (entry = readdir(listing));)
        if (strncmp(entry->d_name, "holdfast.db", 11) == 0 || strstr(entry->d_name, ".ring")) {
            (void)snprintf(path, sizeof path, "%s/%.200s", scratch, entry->d_name);
            (void)unlink(path);
        }
    if (listing)
        (void)closedir(listing);
}

static double file_mb(void)
{
    char path[PATH_SIZE];
    struct stat st;
    (void)snprintf(path, sizeof path, "%s/holdfast.db", scratch);
    return stat(path, &st) == 0 ? (double)st.st_size / 1e6 : 0;
}

static struct hf_store *open_store(void)
{
    struct hf_err err;
    struct hf_store *store = hf_store_sqlite_new(
        &(struct hf_store_options) { .directory = scratch, .instance = "aaaaaaaa" }, &err);
    if (!store)
        give_up(err.text);
    return store;
}

/* Takes answers until no more than `left` requests are on their way. */
static void settle(struct hf_store *store, uint64_t *on_their_way, uint64_t left)
{
    while (*on_their_way > left) {
        const struct hf_store_answer *answer = hf_store_next(store);
        if (answer && answer->outcome != HF_STORE_DONE)
            give_up(hf_store_health(store).text);
        *on_their_way -= answer != NULL;
        if (!answer && !hf_store_wait(store, WAIT_MS))
            give_up("the store does not answer");
    }
}

static struct hf_loaded *load(struct hf_store *store)
{
    const struct hf_store_request request = { .kind = HF_STORE_LOAD,
                                              .load = { .listen = HF_SPAN("127.0.0.1:7332") } };
    struct hf_store_answer *answer;
    if (!hf_store_ask(store, &request))
        give_up("the store refuses");
    hf_store_flush(store);
    while (!(answer = hf_store_next(store)))
        if (!hf_store_wait(store, WAIT_MS))
            give_up("the store does not answer");
    return hf_loaded_take(answer);
}

/* ---- marks ---- */

static void measure_marks(void)
{
    char path[PATH_SIZE];
    struct hf_err err;
    (void)snprintf(path, sizeof path, "%s/bench.ring", scratch);
    struct hf_ring *ring = hf_ring_new(path, &err);
    if (!ring)
        give_up(err.text);
    const struct hf_mark_end end = { .at_ms = 1,
                                     .end = HF_CALL_END_RESULT,
                                     .evidence = HF_SPAN("dispatched") };
    struct hf_mark mark = { .at_ms = 1,
                            .caller = HF_SPAN("token:alice/session 12"),
                            .server = HF_SPAN("github"),
                            .tool = HF_SPAN("create_pull_request") };
    const uint64_t began = thread_ns();
    for (mark.number = 0; mark.number < MARKS; mark.number++) {
        const uint32_t slot = hf_ring_begin(ring, &mark);
        hf_ring_end(ring, slot, &end);
        hf_ring_release(ring, slot);
    }
    printf("%-58s %10.0f ns\n", "a mark: begun, ended, released",
           (double)(thread_ns() - began) / MARKS);
    hf_ring_free(ring);
}

/* ---- rows ---- */

static struct hf_store_request row_of(uint64_t number)
{
    struct hf_store_request request = {
        .kind = HF_STORE_APPEND_CALL,
        .call = { .number = number,
                  .caller = HF_SPAN("token:alice/session 12"),
                  .server = HF_SPAN("github"),
                  .tool = HF_SPAN("create_pull_request"),
                  .generation = 7,
                  .attempts = 1,
                  .evidence = HF_SPAN("dispatched"),
                  .end = HF_CALL_END_RESULT,
                  .came_ms = 1700000000000 + number,
                  .dispatched_ms = 1700000000001 + number,
                  .ended_ms = 1700000000042 + number },
    };
    for (size_t i = 0; i < HF_SHA256_SIZE; i++) /* does not compress, as a hash does not */
        request.call.arguments_hash[i] = (uint8_t)((number + i) * 2654435761u >> 13);
    return request;
}

static void measure_rows(struct hf_store *store, uint64_t first, uint64_t rows, unsigned at_once)
{
    char what[80];
    uint64_t on_their_way = 0;
    const uint64_t writer = hf_store_health(store).writer_ns, began = thread_ns(), at = clock_ns();
    for (uint64_t i = 0; i < rows; i++) {
        const struct hf_store_request request = row_of(first + i);
        if (!hf_store_ask(store, &request))
            give_up("the store refuses");
        on_their_way++;
        if (i % at_once == at_once - 1)
            hf_store_flush(store);
        if (on_their_way >= 64u * at_once)
            settle(store, &on_their_way, 32u * at_once);
    }
    hf_store_flush(store);
    settle(store, &on_their_way, 0);
    const uint64_t asked = thread_ns() - began, took = clock_ns() - at;
    hf_loaded_free(load(store)); /* the writer's CPU time is noted after its answers */
    hf_loaded_free(load(store));
    (void)snprintf(what, sizeof what, "a row, %u at once, on the thread that asks", at_once);
    printf("%-58s %10.2f us\n", what, (double)asked / 1000 / (double)rows);
    (void)snprintf(what, sizeof what, "a row, %u at once, on the thread that writes", at_once);
    printf("%-58s %10.2f us  (%.0f rows/s)\n", what,
           (double)(hf_store_health(store).writer_ns - writer) / 1000 / (double)rows,
           (double)rows * 1e9 / (double)took);
    (void)fflush(stdout);
}

static void measure_growth(uint64_t rows)
{
    struct hf_store *store = open_store();
    hf_loaded_free(load(store));
    const double before = file_mb();
    const uint64_t few = rows / 20;
    measure_rows(store, 1, few, 1);
    measure_rows(store, 1 + few, few, 16);
    measure_rows(store, 1 + 2 * few, rows - 2 * few, 256);
    hf_store_free(store, WAIT_MS); /* the log goes into the file */
    printf("%-58s %10.1f MB\n", "a million rows, on disk",
           (file_mb() - before) * 1e6 / (double)rows);
    store = open_store();
    hf_loaded_free(load(store));
    const struct hf_store_request retain = { .kind = HF_STORE_RETAIN,
                                             .retention = { .bytes_max = 1 } };
    uint64_t on_their_way = 1;
    const uint64_t at = clock_ns();
    if (!hf_store_ask(store, &retain))
        give_up("the store refuses");
    hf_store_flush(store);
    settle(store, &on_their_way, 0);
    printf("%-58s %10.2f ms\n", "a portion of 1000 rows retired", (double)(clock_ns() - at) / 1e6);
    hf_store_free(store, WAIT_MS);
    remove_files();
}

/* ---- start ---- */

static void put_much(void)
{
    static char catalog[CATALOG_BYTES];
    struct hf_store *store = open_store();
    uint64_t on_their_way = 0;
    struct hf_span subscriptions[] = { HF_SPAN("file:///project/a"), HF_SPAN("file:///project/b") };
    const struct hf_session_payload payload = {
        .version = HF_SPAN("2025-06-18"),
        .hello = HF_SPAN("{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"roots\":{"
                         "\"listChanged\":true},\"sampling\":{}},\"clientInfo\":{\"name\":"
                         "\"some client\",\"version\":\"1.2.3\"}}"),
        .log_level = HF_SPAN("info"),
        .subscriptions = subscriptions,
        .subscription_count = 2,
    };
    struct hf_buf text;
    hf_buf_init(&text, PATH_SIZE);
    if (!hf_session_payload_write(&payload, &text))
        give_up("a session is too long");
    memset(catalog, 'x', sizeof catalog);
    struct hf_store_request session = {
        .kind = HF_STORE_PUT_SESSION,
        .session = { { 0 },
                     HF_SPAN("127.0.0.1:7332"),
                     HF_SPAN("/mcp"),
                     HF_SPAN("alice"),
                     hf_buf_span(&text),
                     1,
                     1 },
    };
    struct hf_store_request record = { .kind = HF_STORE_PUT_CATALOG,
                                       .catalog = { .catalog = { catalog, sizeof catalog } } };
    for (uint32_t i = 0; i < SESSIONS; i++) {
        const struct hf_span number = { (const char *)&i, sizeof i };
        hf_sha256(number, session.session.id_hash);
        on_their_way += hf_store_ask(store, &session);
        memcpy(record.catalog.key.bytes, session.session.id_hash, HF_SHA256_SIZE);
        if (i < CATALOGS)
            on_their_way += hf_store_ask(store, &record);
    }
    hf_store_flush(store);
    if (on_their_way != SESSIONS + CATALOGS)
        give_up("the store refuses");
    settle(store, &on_their_way, 0);
    hf_store_free(store, WAIT_MS);
    hf_buf_done(&text);
}

static void measure_start(void)
{
    double ms[LOADS];
    put_much();
    for (unsigned i = 0; i < LOADS; i++) {
        const uint64_t at = clock_ns();
        struct hf_store *store = open_store();
        struct hf_loaded *loaded = load(store);
        ms[i] = (double)(clock_ns() - at) / 1e6;
        if (!loaded || loaded->session_count != SESSIONS || loaded->catalog_count != CATALOGS)
            give_up("not all was loaded");
        hf_loaded_free(loaded);
        hf_store_free(store, WAIT_MS);
    }
    printf("%-58s %10.1f ms\n", "opened, and 10000 sessions and 100 catalogs loaded",
           median(ms, LOADS));
    remove_files();
    for (unsigned i = 0; i < LOADS; i++) {
        struct hf_store *first = open_store(); /* makes the file */
        hf_loaded_free(load(first));
        hf_store_free(first, WAIT_MS);
        const uint64_t at = clock_ns();
        struct hf_store *store = open_store();
        hf_loaded_free(load(store));
        ms[i] = (double)(clock_ns() - at) / 1e6;
        hf_store_free(store, WAIT_MS);
    }
    printf("%-58s %10.1f ms\n", "opened, and nothing loaded", median(ms, LOADS));
    remove_files();
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: %s SCRATCH [ROWS]\n", argv[0]);
        return 2;
    }
    scratch = argv[1];
    const uint64_t rows = argc > 2 ? strtoull(argv[2], NULL, 10) : ROWS;
    alarm(LIFE_S);
    (void)mkdir(scratch, 0700);
    remove_files();
    const uint64_t at = clock_ns();
    if (!hf_sqlite_load(NULL))
        give_up("there is no SQLite");
    printf("%-58s %10.2f ms\n", "SQLite loaded", (double)(clock_ns() - at) / 1e6);
    measure_marks();
    measure_start();
    measure_growth(rows < 100 ? 100 : rows);
    remove_files();
    return 0;
}
