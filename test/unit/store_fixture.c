/* store_fixture.c - see store_fixture.h. */
#include "store_fixture.h"
#include <dirent.h>
#include <ftw.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "store/sqlite_load.h"
#include "test.h"

enum { WAIT_MS = 60000, ROWS_MAX = 1 << 20 }; /* far more than any test takes */

static char directory[FIXTURE_PATH_SIZE];
static struct hf_buf rows;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st;
    (void)type;
    (void)where;
    return remove(path);
}

static void remove_directory(void *unused)
{
    (void)unused;
    (void)chmod(directory, 0700);
    (void)nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    directory[0] = '\0';
    hf_buf_done(&rows);
}

const char *fixture_directory(void)
{
    if (!directory[0]) {
        (void)snprintf(directory, sizeof directory, "/tmp/hf-store-XXXXXX");
        if (!mkdtemp(directory))
            abort();
        test_at_end(remove_directory, directory);
    }
    return directory;
}

void fixture_path(const char *file, char ret_path[FIXTURE_PATH_SIZE])
{
    (void)snprintf(ret_path, FIXTURE_PATH_SIZE, "%.128s/%.100s", fixture_directory(), file);
}

bool fixture_has(const char *file)
{
    char path[FIXTURE_PATH_SIZE];
    fixture_path(file, path);
    return access(path, F_OK) == 0;
}

unsigned fixture_count(const char *ending)
{
    DIR *listing = opendir(fixture_directory());
    unsigned count = 0;
    for (const struct dirent *entry; listing && (entry = readdir(listing));) {
        const size_t n = strlen(entry->d_name), m = strlen(ending);
        count += n >= m && strcmp(entry->d_name + n - m, ending) == 0;
    }
    if (listing)
        (void)closedir(listing);
    return count;
}

/* ---- a store ---- */

static void free_store(void *store)
{
    hf_store_free(store, WAIT_MS);
}

struct hf_store *fixture_store_with(const struct hf_store_options *options)
{
    struct hf_err err = { "" };
    struct hf_store *store = hf_store_sqlite_new(options, &err);
    if (!store) {
        fprintf(stderr, "# %s\n", err.text);
        abort();
    }
    test_at_end(free_store, store);
    return store;
}

struct hf_store *fixture_store(const char *instance)
{
    return fixture_store_with(
        &(struct hf_store_options) { .directory = fixture_directory(), .instance = instance });
}

void fixture_store_end(struct hf_store *store)
{
    test_has_ended(store);
    free_store(store);
}

struct hf_store_answer *fixture_ask(struct hf_store *store, const struct hf_store_request *request)
{
    struct hf_store_answer *answer = NULL;
    if (!hf_store_ask(store, request)) {
        fprintf(stderr, "# the store did not take a request\n");
        abort();
    }
    hf_store_flush(store);
    while (!(answer = hf_store_next(store)))
        if (!hf_store_wait(store, WAIT_MS)) {
            fprintf(stderr, "# the store did not answer\n");
            abort();
        }
    return answer;
}

enum hf_store_outcome fixture_do(struct hf_store *store, const struct hf_store_request *request)
{
    return fixture_ask(store, request)->outcome;
}

struct hf_loaded *fixture_load(struct hf_store *store, const char *listen,
                               const struct hf_server_key *key)
{
    const struct hf_store_request request = {
        .kind = HF_STORE_LOAD,
        .may_wait = true,
        .load = { .listen = hf_span_of(listen),
                  .server_keys = { (const char *)key, key ? sizeof *key : 0 },
                  .generations = 10 },
    };
    return hf_loaded_take(fixture_ask(store, &request));
}

struct hf_store_request fixture_call(enum hf_store_kind kind, uint64_t number, const char *tool,
                                     enum hf_call_end end)
{
    return (struct hf_store_request) {
        .kind = kind,
        .tag = number,
        .call = { .number = number,
                  .caller = HF_SPAN("alice"),
                  .server = HF_SPAN("bank"),
                  .tool = hf_span_of(tool),
                  .generation = 7,
                  .attempts = 1,
                  .evidence = HF_SPAN("dispatched"),
                  .end = end,
                  .came_ms = 1700000000000 + number,
                  .dispatched_ms = 1700000000001 + number,
                  .ended_ms = end ? 1700000000002 + number : 0 },
    };
}

/* ---- rows ---- */

static bool on_row(void *context, const struct hf_call_row *row)
{
    char id[HF_CALL_ID_SIZE];
    (void)context;
    hf_call_id_write(row->instance, row->number, id);
    hf_buf_printf(&rows, "%s%s %.*s %s", hf_buf_len(&rows) ? "\n" : "", id, HF_FMT(row->tool),
                  hf_call_end_name(row->end));
    return true;
}

const char *fixture_rows(const struct hf_calls_filter *filter)
{
    struct hf_err err = { "" };
    struct hf_calls *calls = hf_calls_open(fixture_directory(), &err);
    hf_buf_done(&rows);
    hf_buf_init(&rows, ROWS_MAX);
    if (!calls || !hf_calls_each(calls, filter, on_row, NULL, &err))
        hf_buf_printf(&rows, "error: %s", err.text);
    hf_calls_close(calls);
    hf_buf_add_char(&rows, '\0');
    return rows.p;
}

const char *fixture_all_rows(void)
{
    return fixture_rows(&(struct hf_calls_filter) { .limit = 0 });
}

/* ---- others ---- */

int fixture_child(int (*run)(void *context), void *context)
{
    int status = 0;
    (void)fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0)
        _exit(run(context));
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        abort();
    return status;
}

bool fixture_sql(const char *sql)
{
    const struct hf_sqlite *api = hf_sqlite_load(NULL);
    char path[FIXTURE_PATH_SIZE];
    sqlite3 *handle = NULL;
    fixture_path("holdfast.db", path);
    const bool is_done = api &&
                         api->open_v2(path, &handle, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
                         api->exec(handle, sql, NULL, NULL, NULL) == SQLITE_OK;
    if (api)
        (void)api->close_v2(handle);
    return is_done;
}
