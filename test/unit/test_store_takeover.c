/* test_store_takeover.c - several processes on one file; what the killed ones left is settled. */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "store_fixture.h"
#include "test.h"

/* ---- a process that is killed with calls on their way ---- */

struct world { /* of one process */
    struct hf_instance *instance;
    struct hf_ring *ring;
    struct hf_store *store;
};

static struct world begin(void)
{
    struct world world;
    struct hf_err err;
    char path[HF_INSTANCE_PATH_SIZE];
    world.instance = hf_instance_new(fixture_directory(), &err);
    if (!world.instance ||
        !hf_instance_path(fixture_directory(), hf_instance_name(world.instance), "ring", path))
        abort();
    world.ring = hf_ring_new(path, &err);
    world.store = fixture_store(hf_instance_name(world.instance));
    return world;
}

static void append(struct world *world, enum hf_store_kind kind, uint64_t number,
                   enum hf_call_end end)
{
    const struct hf_store_request request = fixture_call(kind, number, "pay", end);
    if (fixture_do(world->store, &request) != HF_STORE_DONE)
        abort();
}

static uint32_t mark(struct world *world, uint64_t number)
{
    const struct hf_mark mark = { .number = number,
                                  .at_ms = 1700000000000 + number,
                                  .server = HF_SPAN("bank"),
                                  .tool = HF_SPAN("pay") };
    return hf_ring_begin(world->ring, &mark);
}

static void end_mark(struct world *world, uint32_t slot)
{
    const struct hf_mark_end end = { .at_ms = 1, .end = HF_CALL_END_ERROR, .code = -32000 };
    hf_ring_end(world->ring, slot, &end);
}

/* 1: its row is open. 2: only a mark. 3: a mark with its end. 4: an open row, and a mark with its
 * end. 5: its row is closed, its mark is still there. 6: released. */
static void leave_calls_behind(struct world *world)
{
    append(world, HF_STORE_OPEN_CALL, 1, HF_CALL_END_OPEN);
    (void)mark(world, 2);
    end_mark(world, mark(world, 3));
    append(world, HF_STORE_OPEN_CALL, 4, HF_CALL_END_OPEN);
    end_mark(world, mark(world, 4));
    end_mark(world, mark(world, 5));
    append(world, HF_STORE_APPEND_CALL, 5, HF_CALL_END_RESULT);
    const uint32_t slot = mark(world, 6);
    append(world, HF_STORE_APPEND_CALL, 6, HF_CALL_END_RESULT);
    hf_ring_release(world->ring, slot);
}

static int die(void *context)
{
    struct world world = begin();
    (void)context;
    leave_calls_behind(&world);
    (void)kill(getpid(), SIGKILL);
    return 1;
}

/* A look comes between two answers: what was left is settled by the second. */
static struct hf_store *look(const char *instance)
{
    struct hf_store *store = fixture_store(instance);
    hf_loaded_free(fixture_load(store, "", NULL));
    hf_loaded_free(fixture_load(store, "", NULL));
    return store;
}

static bool has_row(const char *end_of_row)
{
    return strstr(fixture_all_rows(), end_of_row) != NULL;
}

static void check_settled(void)
{
    CHECK(has_row("-1 pay unknown") && has_row("-2 pay unknown"));
    CHECK(has_row("-3 pay error") && has_row("-4 pay error"));
    CHECK(has_row("-5 pay result") && has_row("-6 pay result"));
    CHECK_EQ(fixture_count(".lock"), 0);
    CHECK_EQ(fixture_count(".ring"), 0);
}

TEST(calls_of_a_killed_process_get_the_end_that_is_known_of_them_or_are_unknown)
{
    (void)fixture_directory();
    const int status = fixture_child(die, NULL);
    REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    CHECK_EQ(fixture_count(".lock"), 1);
    CHECK(has_row("-1 pay running") && !has_row("-2 pay"));
    struct hf_store *store = look("zzzzzzzz");
    check_settled();
    CHECK_EQ(hf_store_health(store).taken_over, 1);
    CHECK_EQ(hf_store_health(store).torn_marks, 0);
}

static bool copy_reason(void *context, const struct hf_call_row *row)
{
    (void)snprintf(context, 128, "%.*s, %.*s", HF_FMT(row->evidence), HF_FMT(row->reason));
    return true;
}

TEST(a_call_that_nobody_knows_of_says_why)
{
    char text[128] = "";
    struct hf_err err;
    const struct hf_calls_filter filter = { .is_unknown = true, .limit = 1 };
    (void)fixture_directory();
    (void)fixture_child(die, NULL);
    (void)look("zzzzzzzz");
    struct hf_calls *calls = hf_calls_open(fixture_directory(), &err);
    REQUIRE(calls && hf_calls_each(calls, &filter, copy_reason, text, &err));
    CHECK_STR(text, "dispatched, holdfast ended while the call was running");
    hf_calls_close(calls);
}

TEST(what_is_left_stays_as_long_as_it_cannot_be_written)
{
    (void)fixture_directory();
    (void)fixture_child(die, NULL);
    REQUIRE(fixture_sql("PRAGMA user_version=99"));
    struct hf_store *store = fixture_store("zzzzzzzz");
    const struct hf_store_request request = { .kind = HF_STORE_LOAD };
    CHECK_EQ(fixture_do(store, &request), HF_STORE_FAILED);
    CHECK_EQ(fixture_do(store, &request), HF_STORE_FAILED);
    CHECK(fixture_count(".lock") == 1 && fixture_count(".ring") == 1);
    fixture_store_end(store);
    REQUIRE(fixture_sql("PRAGMA user_version=1"));
    (void)look("yyyyyyyy");
    check_settled();
}

TEST(files_of_a_dead_process_are_removed_only_when_its_rows_are_committed)
{
    const struct hf_store_request request = { .kind = HF_STORE_LOAD };
    (void)fixture_directory();
    (void)fixture_child(die, NULL);
    REQUIRE(fixture_sql("CREATE TRIGGER no BEFORE UPDATE ON calls BEGIN SELECT RAISE(ABORT,'no');"
                        "END"));
    struct hf_store *store = fixture_store("zzzzzzzz");
    (void)fixture_do(store, &request);
    (void)fixture_do(store, &request); /* it has looked by now */
    CHECK(fixture_count(".lock") == 1 && fixture_count(".ring") == 1);
    CHECK(has_row("-1 pay running") && !has_row("-2 pay"));
    fixture_store_end(store);
    REQUIRE(fixture_sql("DROP TRIGGER no"));
    (void)look("yyyyyyyy");
    check_settled();
}

TEST(open_calls_of_a_process_whose_lock_file_is_gone_are_unknown_too_and_our_own_are_not)
{
    struct hf_store *gone = fixture_store("gggggggg"); /* it never had one */
    const struct hf_store_request request =
        fixture_call(HF_STORE_OPEN_CALL, 1, "pay", HF_CALL_END_OPEN);
    CHECK_EQ(fixture_do(gone, &request), HF_STORE_DONE);
    fixture_store_end(gone);
    struct hf_store *store = fixture_store("zzzzzzzz");
    CHECK_EQ(fixture_do(store, &request), HF_STORE_DONE);
    hf_loaded_free(fixture_load(store, "", NULL));
    CHECK(has_row("gggggggg-1 pay unknown") && has_row("zzzzzzzz-1 pay running"));
}

/* ---- ten processes ---- */

enum { PROCESSES = 10, ROWS = 50 };

struct process {
    pid_t pid;
    int told; /* readable when its rows are written */
};

static void run_process(int tell)
{
    struct world world = begin();
    for (uint64_t i = 1; i <= ROWS; i++)
        append(&world, HF_STORE_APPEND_CALL, i, HF_CALL_END_RESULT);
    append(&world, HF_STORE_OPEN_CALL, ROWS + 1, HF_CALL_END_OPEN);
    (void)mark(&world, ROWS + 2);
    (void)!write(tell, "x", 1);
    for (;;)
        (void)pause();
}

static struct process start(void)
{
    struct process process;
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0)
        abort();
    (void)fflush(NULL);
    process.pid = fork();
    if (process.pid == 0)
        run_process(fds[1]);
    close(fds[1]);
    process.told = fds[0];
    return process;
}

static void kill_process(struct process *process)
{
    CHECK(kill(process->pid, SIGKILL) == 0 && waitpid(process->pid, NULL, 0) == process->pid);
}

static unsigned count_rows(const struct hf_calls_filter *filter)
{
    const char *rows = fixture_rows(filter);
    unsigned count = *rows != '\0';
    for (; *rows; rows++)
        count += *rows == '\n';
    return count;
}

TEST(of_ten_processes_on_one_file_the_killed_are_settled_and_the_living_are_left_alone)
{
    struct process all[PROCESSES];
    char byte;
    (void)fixture_directory();
    for (int i = 0; i < PROCESSES; i++)
        all[i] = start();
    for (int i = 0; i < PROCESSES; i++) {
        CHECK_EQ(read(all[i].told, &byte, 1), 1);
        close(all[i].told);
    }
    for (int i = 0; i < PROCESSES; i += 2)
        kill_process(&all[i]);
    struct hf_store *store = look("zzzzzzzz");
    CHECK_EQ(hf_store_health(store).taken_over, PROCESSES / 2);
    CHECK_EQ(fixture_count(".lock"), PROCESSES / 2);
    CHECK_EQ(fixture_count(".ring"), PROCESSES / 2);
    CHECK_EQ(count_rows(&(struct hf_calls_filter) { .has_end = true, .end = HF_CALL_END_RESULT }),
             PROCESSES * ROWS);
    CHECK_EQ(count_rows(&(struct hf_calls_filter) { .is_unknown = true }), PROCESSES);
    CHECK_EQ(count_rows(&(struct hf_calls_filter) { .has_end = true, .end = HF_CALL_END_OPEN }),
             PROCESSES / 2);
    for (int i = 1; i < PROCESSES; i += 2)
        kill_process(&all[i]);
    fixture_store_end(store);
    (void)look("yyyyyyyy");
    CHECK_EQ(count_rows(&(struct hf_calls_filter) { .is_unknown = true }), 2 * PROCESSES);
    CHECK_EQ(fixture_count(".lock"), 0);
}
