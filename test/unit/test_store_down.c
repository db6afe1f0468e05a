/* test_store_down.c - a store that cannot be used says why, answers, and comes back by itself. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "store/sqlite_load.h"
#include "store_fixture.h"
#include "test.h"

static struct hf_store *impatient_store(void)
{
    return fixture_store_with(&(struct hf_store_options) { .directory = fixture_directory(),
                                                           .instance = "aaaaaaaa",
                                                           .busy_ms = 1,
                                                           .retry_min_ms = 1,
                                                           .retry_max_ms = 4 });
}

static struct hf_store_request call(uint64_t number, bool may_wait)
{
    struct hf_store_request request =
        fixture_call(HF_STORE_APPEND_CALL, number, "pay", HF_CALL_END_RESULT);
    request.may_wait = may_wait;
    return request;
}

static void check_down(struct hf_store *store, enum hf_store_reason reason, const char *words)
{
    const struct hf_store_request request = call(1, false);
    const struct hf_store_answer *answer = fixture_ask(store, &request);
    CHECK_EQ(answer->outcome, HF_STORE_FAILED);
    CHECK_EQ(answer->reason, reason);
    const struct hf_store_health health = hf_store_health(store);
    CHECK_EQ(health.state, HF_STORE_DOWN);
    CHECK_EQ(health.reason, reason);
    if (!strstr(health.text, words))
        test_fail(__FILE__, __LINE__, health.text);
}

/* Asks for something that waits for the store's return. */
static void check_heals(struct hf_store *store)
{
    const struct hf_store_request request = call(2, true);
    CHECK_EQ(fixture_do(store, &request), HF_STORE_DONE);
    CHECK_EQ(hf_store_health(store).state, HF_STORE_GOOD);
    CHECK_STR(fixture_all_rows(), "aaaaaaaa-2 pay result");
}

static void path_of_db(char ret_path[FIXTURE_PATH_SIZE])
{
    fixture_path("holdfast.db", ret_path);
}

static void write_file(const char *path, const char *text, int flags)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

static void load(struct hf_store *store)
{
    hf_loaded_free(fixture_load(store, "", NULL));
}

/* ---- held by another program ---- */

TEST(a_file_that_another_program_holds_fails_requests_at_once_and_is_used_again_after_it)
{
    const struct hf_sqlite *api = hf_sqlite_load(NULL);
    struct hf_store *store = impatient_store();
    char path[FIXTURE_PATH_SIZE];
    sqlite3 *other = NULL;
    load(store);
    path_of_db(path);
    REQUIRE(api && api->open_v2(path, &other, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK);
    REQUIRE_EQ(api->exec(other, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
    check_down(store, HF_STORE_BECAUSE_LOCKED, "another program holds it");
    const struct hf_store_request patient = call(3, true);
    REQUIRE(hf_store_ask(store, &patient));
    check_down(store, HF_STORE_BECAUSE_LOCKED, "another program holds it");
    CHECK_EQ(hf_store_health(store).waiting, 1);
    CHECK_EQ(api->exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    (void)api->close_v2(other);
    const struct hf_store_answer *answer;
    while (!(answer = hf_store_next(store)))
        REQUIRE(hf_store_wait(store, 60000));
    CHECK(answer->outcome == HF_STORE_DONE && answer->request.call.number == 3);
    CHECK_EQ(hf_store_health(store).waiting, 0);
    CHECK_STR(fixture_all_rows(), "aaaaaaaa-3 pay result");
}

TEST(ten_thousand_rows_that_came_one_by_one_wait_for_the_store_and_none_is_lost)
{
    enum { MANY = 10000 };
    char path[FIXTURE_PATH_SIZE];
    fixture_path("later", path);
    struct hf_store *store = fixture_store_with(&(struct hf_store_options) {
        .directory = path, .instance = "aaaaaaaa", .retry_min_ms = 1, .retry_max_ms = 4 });
    check_down(store, HF_STORE_BECAUSE_NO_ACCESS, "cannot be opened");
    for (uint64_t i = 1; i <= MANY; i++) {
        const struct hf_store_request request = call(i, true);
        REQUIRE(hf_store_ask(store, &request));
        hf_store_flush(store);
        while (hf_store_health(store).waiting < i) { /* it comes back, and is kept */
            REQUIRE(!hf_store_next(store));
            REQUIRE(hf_store_health(store).waiting == i || hf_store_wait(store, 60000));
        }
    }
    CHECK_EQ(mkdir(path, 0700), 0);
    for (uint64_t i = 1; i <= MANY; i++) {
        const struct hf_store_answer *answer;
        while (!(answer = hf_store_next(store)))
            REQUIRE(hf_store_wait(store, 60000));
        CHECK(answer->outcome == HF_STORE_DONE && answer->request.call.number == i);
    }
    CHECK_EQ(hf_store_health(store).waiting, 0);
}

TEST(a_store_that_waits_for_a_lock_can_be_left)
{
    const struct hf_sqlite *api = hf_sqlite_load(NULL);
    struct hf_store *store = fixture_store_with(&(struct hf_store_options) {
        .directory = fixture_directory(), .instance = "aaaaaaaa", .busy_ms = 3600000 });
    char path[FIXTURE_PATH_SIZE];
    sqlite3 *other = NULL;
    load(store);
    path_of_db(path);
    REQUIRE(api && api->open_v2(path, &other, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK);
    REQUIRE_EQ(api->exec(other, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
    const struct hf_store_request request = call(1, true);
    REQUIRE(hf_store_ask(store, &request));
    test_has_ended(store);
    hf_store_free(store, 1);
    (void)api->close_v2(other);
}

/* ---- damaged ---- */

TEST(a_file_that_is_no_database_is_set_aside_with_all_that_is_in_it)
{
    char path[FIXTURE_PATH_SIZE];
    path_of_db(path);
    write_file(path, "This is somebody's diary, and no database at all. It is rather long.", 0);
    struct hf_store *store = impatient_store();
    load(store);
    const struct hf_store_health health = hf_store_health(store);
    CHECK_EQ(health.state, HF_STORE_GOOD);
    CHECK(health.notices == 1 && strstr(health.notice, "was damaged"));
    CHECK_EQ(health.begun_anew, 1);
    const char *aside = strstr(health.notice, "kept as ");
    REQUIRE(aside);
    (void)snprintf(path, sizeof path, "%.*s", (int)strcspn(aside + 8, ","), aside + 8);
    struct stat st;
    CHECK(stat(path, &st) == 0 && st.st_size == 68);
    check_heals(store);
}

TEST(a_file_that_is_damaged_while_it_is_used_is_set_aside)
{
    struct hf_store *store = impatient_store();
    char path[FIXTURE_PATH_SIZE], garbage[4096];
    load(store);
    REQUIRE(fixture_sql("INSERT INTO meta VALUES('x',1);PRAGMA wal_checkpoint(TRUNCATE)"));
    path_of_db(path);
    memset(garbage, 'x', sizeof garbage);
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    for (int page = 1; page < 30; page++) /* the first page stays: the schema is in it */
        CHECK_EQ(pwrite(fd, garbage, sizeof garbage, page * (off_t)sizeof garbage), 4096);
    close(fd);
    const struct hf_store_request request = call(1, false);
    const struct hf_store_answer *answer = fixture_ask(store, &request);
    CHECK(answer->outcome == HF_STORE_FAILED && answer->reason == HF_STORE_BECAUSE_CORRUPT);
    check_heals(store);
    CHECK(strstr(hf_store_health(store).notice, "was damaged"));
    CHECK_EQ(hf_store_health(store).begun_anew, 1);
}

/* ---- a newer one, one that is gone ---- */

TEST(a_file_of_a_newer_holdfast_is_left_as_it_is)
{
    struct hf_store *store = impatient_store();
    load(store);
    fixture_store_end(store);
    REQUIRE(fixture_sql("PRAGMA user_version=99"));
    store = impatient_store();
    const struct hf_store_request request = call(1, true);
    const struct hf_store_answer *answer = fixture_ask(store, &request); /* waiting is no use */
    CHECK(answer->outcome == HF_STORE_FAILED && answer->reason == HF_STORE_BECAUSE_NEWER);
    const struct hf_store_health health = hf_store_health(store);
    CHECK_EQ(health.state, HF_STORE_UNUSABLE);
    CHECK(strstr(health.text, "newer holdfast (schema 99"));
    CHECK_STR(fixture_all_rows(), "");
}

static void check_begun_anew(const char *const *files)
{
    struct hf_store *store = impatient_store();
    char path[FIXTURE_PATH_SIZE];
    load(store);
    const struct hf_store_request request = call(1, false);
    CHECK_EQ(fixture_do(store, &request), HF_STORE_DONE);
    for (; *files; files++) {
        fixture_path(*files, path);
        CHECK_EQ(unlink(path), 0);
    }
    check_heals(store); /* the first row is gone with its file */
    const struct hf_store_health health = hf_store_health(store);
    CHECK_EQ(health.begun_anew, 1);
    CHECK(strstr(health.notice, "was deleted while it was in use"));
    fixture_store_end(store);
}

TEST(a_file_that_is_deleted_while_it_is_used_is_begun_anew)
{
    check_begun_anew((const char *const[]) { "holdfast.db", NULL });
}

TEST(a_file_that_is_deleted_with_its_log_is_begun_anew)
{
    check_begun_anew(
        (const char *const[]) { "holdfast.db", "holdfast.db-wal", "holdfast.db-shm", NULL });
}

TEST(a_directory_that_is_not_there_yet_is_used_when_it_comes)
{
    char path[FIXTURE_PATH_SIZE];
    fixture_path("later", path);
    struct hf_store *store = fixture_store_with(&(struct hf_store_options) {
        .directory = path, .instance = "aaaaaaaa", .retry_min_ms = 1, .retry_max_ms = 4 });
    check_down(store, HF_STORE_BECAUSE_NO_ACCESS, "cannot be opened");
    CHECK_EQ(mkdir(path, 0700), 0);
    const struct hf_store_request request = call(2, true);
    CHECK_EQ(fixture_do(store, &request), HF_STORE_DONE);
}

TEST(a_clock_that_was_set_back_is_told_and_changes_nothing)
{
    struct hf_store *store = impatient_store();
    load(store);
    fixture_store_end(store);
    REQUIRE(fixture_sql("UPDATE meta SET value=4000000000000 WHERE name='opened'"));
    store = impatient_store();
    check_heals(store);
    CHECK(strstr(hf_store_health(store).notice, "it was set back"));
}

/* ---- commits of which nobody knows ---- */

static const char *failing_sql;
static bool is_full, was_full; /* how it is synced now; and was, at the last commit */
static int failing_code;
static __typeof__(sqlite3_exec) *real_exec;

static int exec_but_fail(sqlite3 *handle, const char *sql,
                         int (*callback)(void *, int, char **, char **), void *context,
                         char **message)
{
    if (strncmp(sql, "PRAGMA synchronous=", 19) == 0)
        is_full = strcmp(sql + 19, "FULL") == 0;
    if (strcmp(sql, "COMMIT") == 0)
        was_full = is_full;
    if (failing_sql && strcmp(sql, failing_sql) == 0) {
        failing_sql = NULL; /* once */
        return failing_code;
    }
    return real_exec(handle, sql, callback, context, message);
}

static struct hf_sqlite *sqlite_that_fails(void)
{
    struct hf_sqlite *api = (struct hf_sqlite *)(uintptr_t)hf_sqlite_load(NULL);
    real_exec = api->exec;
    api->exec = exec_but_fail;
    return api;
}

TEST(a_commit_whose_sync_failed_is_unknown_and_one_that_found_no_room_is_not)
{
    static const struct {
        const char *sql;
        int code;
        enum hf_store_outcome outcome;
        enum hf_store_reason reason;
    } rows[] = {
        { "COMMIT", SQLITE_IOERR_FSYNC, HF_STORE_UNKNOWN, HF_STORE_BECAUSE_IO_ERROR },
        { "COMMIT", SQLITE_FULL, HF_STORE_FAILED, HF_STORE_BECAUSE_DISK_FULL },
        { "COMMIT", SQLITE_BUSY, HF_STORE_FAILED, HF_STORE_BECAUSE_LOCKED },
        { "BEGIN IMMEDIATE", SQLITE_IOERR_READ, HF_STORE_FAILED, HF_STORE_BECAUSE_IO_ERROR },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hf_store *store = impatient_store();
        load(store);
        load(store); /* the look between them has its own transactions */
        fixture_store_end(store);
        struct hf_sqlite *api = sqlite_that_fails();
        store = impatient_store();
        load(store);
        load(store);
        failing_code = rows[i].code;
        failing_sql = rows[i].sql;
        const struct hf_store_request request = call(10 + i, false);
        const struct hf_store_answer *answer = fixture_ask(store, &request);
        CHECK_EQ(answer->outcome, rows[i].outcome);
        CHECK_EQ(answer->reason, rows[i].reason);
        const struct hf_store_request patient = call(20 + i, true);
        CHECK_EQ(fixture_do(store, &patient), HF_STORE_DONE);
        fixture_store_end(store);
        api->exec = real_exec;
    }
    CHECK(strstr(fixture_all_rows(), "-20 ") && strstr(fixture_all_rows(), "-23 "));
    CHECK(!strstr(fixture_all_rows(), "-11 ")); /* failed: nothing was written */
}

TEST(only_what_is_durable_waits_for_the_disk_before_it_is_done)
{
    struct hf_sqlite *api = sqlite_that_fails();
    struct hf_store *store = impatient_store();
    struct hf_store_request request = call(1, false);
    failing_sql = NULL;
    was_full = false;
    CHECK_EQ(fixture_do(store, &request), HF_STORE_DONE);
    CHECK(!was_full);
    request = call(2, true);
    CHECK_EQ(fixture_do(store, &request), HF_STORE_DONE);
    CHECK(!was_full);
    request = call(3, false);
    request.is_durable = true;
    CHECK_EQ(fixture_do(store, &request), HF_STORE_DONE);
    CHECK(was_full);
    request = call(4, false);
    CHECK_EQ(fixture_do(store, &request), HF_STORE_DONE);
    CHECK(!was_full);
    fixture_store_end(store);
    api->exec = real_exec;
}

/* ---- no room, no permission: in a process of its own ---- */

static int finish(struct hf_store *store)
{
    fixture_store_end(store);
    return test_failed ? 1 : 0;
}

/* Over this size of a file the system refuses to write: what a quota looks like. */
static int run_into_limit(void *unused)
{
    const struct rlimit small = { 200 << 10, RLIM_INFINITY };
    const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };
    struct hf_store *store = impatient_store();
    (void)unused;
    (void)signal(SIGXFSZ, SIG_IGN);
    load(store);
    if (setrlimit(RLIMIT_FSIZE, &small) != 0)
        return 2;
    enum hf_store_outcome outcome = HF_STORE_DONE;
    for (uint64_t i = 100; outcome == HF_STORE_DONE && i < 10000; i++) {
        const struct hf_store_request request = call(i, false);
        outcome = fixture_do(store, &request);
    }
    CHECK(outcome == HF_STORE_FAILED || outcome == HF_STORE_UNKNOWN);
    CHECK_EQ(hf_store_health(store).state, HF_STORE_DOWN);
    (void)setrlimit(RLIMIT_FSIZE, &none);
    const struct hf_store_request request = call(2, true);
    CHECK_EQ(fixture_do(store, &request), HF_STORE_DONE);
    return finish(store);
}

TEST(a_file_that_may_not_grow_fails_requests_and_is_used_again_when_it_may)
{
    (void)fixture_directory();
    CHECK_EQ(fixture_child(run_into_limit, NULL), 0);
}

enum { CANNOT_MOUNT = 77 };

static int fill_disk(void *unused)
{
    char path[FIXTURE_PATH_SIZE], *filler = hf_alloc(1 << 20);
    (void)unused;
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("hf", fixture_directory(), "tmpfs", 0, "size=2m,mode=700") != 0)
        return CANNOT_MOUNT;
    struct hf_store *store = impatient_store();
    load(store);
    fixture_path("filler", path);
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    for (size_t n = 1 << 20; n > 0; n /= 2)
        while (write(fd, filler, n) > 0)
            ;
    close(fd);
    hf_free(filler);
    enum hf_store_outcome outcome = HF_STORE_DONE;
    for (uint64_t i = 100; outcome == HF_STORE_DONE && i < 10000; i++) {
        const struct hf_store_request request = call(i, false);
        outcome = fixture_do(store, &request);
    }
    CHECK_EQ(outcome, HF_STORE_FAILED);
    CHECK_EQ(hf_store_health(store).reason, HF_STORE_BECAUSE_DISK_FULL);
    CHECK(strstr(hf_store_health(store).text, "no room left"));
    struct hf_err err = { "" };
    fixture_path("full.ring", path);
    CHECK(!hf_ring_new(path, &err) && strstr(err.text, "no room"));
    CHECK(!fixture_has("full.ring"));
    fixture_path("filler", path);
    CHECK_EQ(unlink(path), 0);
    const struct hf_store_request request = call(2, true);
    CHECK_EQ(fixture_do(store, &request), HF_STORE_DONE);
    return finish(store);
}

TEST(a_full_disk_fails_requests_and_the_store_goes_on_when_there_is_room_again)
{
    (void)fixture_directory();
    const int status = fixture_child(fill_disk, NULL);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT_MOUNT)
        printf("# not run: only root can make a small disk\n");
    else
        CHECK_EQ(status, 0);
}

static int lose_permission(void *unused)
{
    enum { NOBODY = 65534 };
    char path[FIXTURE_PATH_SIZE];
    (void)unused;
    path_of_db(path);
    if (geteuid() == 0 &&
        (chown(fixture_directory(), NOBODY, NOBODY) != 0 || chown(path, NOBODY, NOBODY) != 0 ||
         setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
        return 2;
    CHECK(chmod(path, 0400) == 0 && chmod(fixture_directory(), 0500) == 0);
    struct hf_store *store = impatient_store();
    check_down(store, HF_STORE_BECAUSE_READ_ONLY, "may only be read");
    CHECK(chmod(path, 0600) == 0 && chmod(fixture_directory(), 0700) == 0);
    check_heals(store);
    return finish(store);
}

TEST(a_file_that_may_only_be_read_fails_requests_until_it_may_be_written)
{
    struct hf_store *store = impatient_store();
    load(store);
    fixture_store_end(store);
    CHECK_EQ(fixture_child(lose_permission, NULL), 0);
}
