/* test_store_ring.c - marks of calls survive the process that made them, at every step of it. */
#include "store/ring.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "store_fixture.h"
#include "test.h"

static struct hf_mark mark_of(uint64_t number)
{
    struct hf_mark mark = { .number = number,
                            .at_ms = 1700000000000 + number,
                            .generation = 3,
                            .caller = HF_SPAN("alice"),
                            .server = HF_SPAN("bank"),
                            .tool = HF_SPAN("pay") };
    memset(mark.arguments_hash, (int)number, sizeof mark.arguments_hash);
    return mark;
}

static const struct hf_mark_end ended = { .at_ms = 1700000009000,
                                          .end = HF_CALL_END_ERROR,
                                          .code = -32000,
                                          .evidence = { "dispatched", 10 } };

struct found {
    unsigned count, torn, ends;
    uint64_t numbers; /* a bit for each */
    bool is_as_written;
};

static void on_mark(void *context, const struct hf_mark_read *read)
{
    struct found *found = context;
    const struct hf_mark wanted = mark_of(read->mark.number);
    found->count++;
    found->ends += read->has_end;
    found->numbers |= (uint64_t)1 << (read->mark.number & 63);
    found->is_as_written &= read->mark.at_ms == wanted.at_ms && read->mark.generation == 3 &&
                            hf_span_is(read->mark.caller, "alice") &&
                            hf_span_is(read->mark.server, "bank") &&
                            hf_span_is(read->mark.tool, "pay") &&
                            memcmp(read->mark.arguments_hash, wanted.arguments_hash, 32) == 0;
    if (read->has_end)
        found->is_as_written &= read->end.at_ms == ended.at_ms && read->end.code == -32000 &&
                                read->end.end == HF_CALL_END_ERROR &&
                                hf_span_is(read->end.evidence, "dispatched");
}

static struct found look_into(const char *path)
{
    struct found found = { .is_as_written = true };
    struct hf_buf bytes;
    if (hf_ring_read(path, &bytes)) {
        found.torn = hf_ring_marks(hf_buf_span(&bytes), on_mark, &found);
        hf_buf_done(&bytes);
    }
    return found;
}

/* ---- killed at each step ---- */

enum step { MADE, BEGUN, BEGUN_TWICE, ENDED, RELEASED, BEGUN_AGAIN, STEPS };

struct life {
    const char *path;
    enum step until;
};

static int live(void *context)
{
    const struct life *life = context;
    struct hf_err err;
    struct hf_ring *ring = hf_ring_new(life->path, &err);
    uint32_t slot = 0;
    for (enum step step = MADE; ring && step <= life->until; step++) {
        const struct hf_mark mark = mark_of(step);
        if (step == BEGUN)
            slot = hf_ring_begin(ring, &mark);
        else if (step == BEGUN_TWICE || step == BEGUN_AGAIN)
            (void)hf_ring_begin(ring, &mark);
        else if (step == ENDED)
            hf_ring_end(ring, slot, &ended);
        else if (step == RELEASED)
            hf_ring_release(ring, slot);
    }
    (void)kill(getpid(), SIGKILL);
    return 1;
}

TEST(a_process_that_is_killed_at_any_step_leaves_exactly_the_marks_that_it_had_made)
{
    static const struct {
        unsigned count, ends;
        uint64_t numbers;
    } rows[STEPS] = {
        [MADE] = { 0, 0, 0 },
        [BEGUN] = { 1, 0, 1 << BEGUN },
        [BEGUN_TWICE] = { 2, 0, 1 << BEGUN | 1 << BEGUN_TWICE },
        [ENDED] = { 2, 1, 1 << BEGUN | 1 << BEGUN_TWICE },
        [RELEASED] = { 1, 0, 1 << BEGUN_TWICE },
        [BEGUN_AGAIN] = { 2, 0, 1 << BEGUN_TWICE | 1 << BEGUN_AGAIN },
    };
    for (enum step step = MADE; step < STEPS; step++) {
        char path[FIXTURE_PATH_SIZE], name[32];
        (void)snprintf(name, sizeof name, "%d.ring", (int)step);
        fixture_path(name, path);
        struct life life = { path, step };
        const int status = fixture_child(live, &life);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        const struct found found = look_into(path);
        CHECK(found.is_as_written && found.torn == 0);
        CHECK_EQ(found.count, rows[step].count);
        CHECK_EQ(found.ends, rows[step].ends);
        CHECK_EQ(found.numbers, rows[step].numbers);
    }
}

/* Killed by another process in the midst of it, wherever that is: what is there is whole. */
static int hurry(void *context)
{
    struct hf_err err;
    struct hf_ring *ring = hf_ring_new(context, &err);
    uint32_t slots[8] = { 0 };
    for (uint64_t i = 0; ring; i++) {
        const struct hf_mark mark = mark_of(i % 64);
        uint32_t *slot = &slots[i % 8];
        if (i >= 8) {
            hf_ring_end(ring, *slot, &ended);
            hf_ring_release(ring, *slot);
        }
        *slot = hf_ring_begin(ring, &mark);
    }
    return 1;
}

TEST(a_process_that_is_killed_in_the_midst_of_a_mark_leaves_no_torn_one)
{
    for (int i = 0; i < 20; i++) {
        char path[FIXTURE_PATH_SIZE], name[32];
        struct found found = { 0 };
        (void)snprintf(name, sizeof name, "h%d.ring", i);
        fixture_path(name, path);
        (void)fflush(NULL);
        const pid_t pid = fork();
        if (pid == 0)
            _exit(hurry(path));
        REQUIRE(pid > 0);
        do
            found = look_into(path);
        while (found.count + found.torn == 0); /* it is at work */
        CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
        found = look_into(path);
        CHECK(found.is_as_written && found.torn == 0);
        CHECK(found.count == 7 || found.count == 8);
        (void)unlink(path);
    }
}

/* ---- bounds ---- */

TEST(a_full_ring_makes_no_call_wait_and_counts_those_that_went_without)
{
    static uint32_t slots[HF_RING_SLOTS];
    char path[FIXTURE_PATH_SIZE];
    struct hf_err err;
    fixture_path("full.ring", path);
    struct hf_ring *ring = hf_ring_new(path, &err);
    REQUIRE(ring);
    const struct hf_mark mark = mark_of(1);
    for (unsigned i = 0; i < HF_RING_SLOTS; i++)
        slots[i] = hf_ring_begin(ring, &mark);
    CHECK_EQ(hf_ring_begin(ring, &mark), HF_RING_NO_SLOT);
    CHECK_EQ(hf_ring_unmarked(ring), 1);
    CHECK_EQ(hf_ring_in_use(ring), HF_RING_SLOTS);
    hf_ring_end(ring, HF_RING_NO_SLOT, &ended);
    hf_ring_release(ring, HF_RING_NO_SLOT);
    CHECK_EQ(hf_ring_in_use(ring), HF_RING_SLOTS);
    hf_ring_release(ring, slots[5]);
    hf_ring_release(ring, slots[3]);
    CHECK_EQ(hf_ring_begin(ring, &mark), slots[5]); /* the one that has been free for longest */
    CHECK_EQ(hf_ring_begin(ring, &mark), slots[3]);
    CHECK_EQ(look_into(path).count, HF_RING_SLOTS);
    CHECK_EQ(hf_ring_begin(NULL, &mark), HF_RING_NO_SLOT);
    CHECK_EQ(hf_ring_unmarked(NULL), 0);
    hf_ring_free(ring);
}

struct texts {
    char caller[64], server[64], tool[128];
};

static void on_text(void *context, const struct hf_mark_read *read)
{
    struct texts *texts = context;
    (void)snprintf(texts->caller, sizeof texts->caller, "%.*s", HF_FMT(read->mark.caller));
    (void)snprintf(texts->server, sizeof texts->server, "%.*s", HF_FMT(read->mark.server));
    (void)snprintf(texts->tool, sizeof texts->tool, "%.*s", HF_FMT(read->mark.tool));
}

TEST(texts_that_are_too_long_are_cut_between_two_characters)
{
    char path[FIXTURE_PATH_SIZE], tool[128] = "";
    struct hf_err err;
    struct hf_buf bytes;
    struct texts texts = { "", "", "" };
    fixture_path("long.ring", path);
    struct hf_ring *ring = hf_ring_new(path, &err);
    REQUIRE(ring);
    memset(tool, 'x', 63);
    memcpy(tool + 63, "\xc3\xa4", 3); /* the room ends within this character */
    struct hf_mark mark = mark_of(1);
    mark.tool = hf_span_of(tool);
    mark.caller = HF_SPAN("");
    mark.server = HF_SPAN("0123456789012345678901234567890123456789 and more");
    CHECK(hf_ring_begin(ring, &mark) != HF_RING_NO_SLOT);
    REQUIRE(hf_ring_read(path, &bytes));
    CHECK_EQ(hf_ring_marks(hf_buf_span(&bytes), on_text, &texts), 0);
    tool[63] = '\0';
    CHECK_STR(texts.tool, tool);
    CHECK_STR(texts.server, "0123456789012345678901234567890123456789");
    CHECK_STR(texts.caller, "");
    hf_buf_done(&bytes);
    hf_ring_free(ring);
}

/* ---- any bytes at all ---- */

static void ignore_mark(void *context, const struct hf_mark_read *read)
{
    struct found *found = context;
    found->count++;
    found->ends += read->has_end;
}

TEST(a_mark_of_which_any_byte_was_changed_is_torn_or_has_no_end)
{
    enum { HEAD = 256, BEGIN = 224, SLOT = 272, STATE = 264 };
    char path[FIXTURE_PATH_SIZE];
    struct hf_err err;
    struct hf_buf bytes;
    fixture_path("torn.ring", path);
    struct hf_ring *ring = hf_ring_new(path, &err);
    REQUIRE(ring);
    const struct hf_mark mark = mark_of(1);
    hf_ring_end(ring, hf_ring_begin(ring, &mark), &ended);
    REQUIRE(hf_ring_read(path, &bytes));
    for (size_t i = 0; i < STATE; i++) {
        struct found found = { 0 };
        bytes.p[HEAD + i] ^= 0x40;
        found.torn = hf_ring_marks(hf_buf_span(&bytes), ignore_mark, &found);
        CHECK(i < BEGIN ? found.torn == 1 && found.count == 0
                        : found.torn == 0 && found.count == 1 && found.ends == 0);
        bytes.p[HEAD + i] ^= 0x40;
    }
    for (size_t n = 0; n < HEAD + SLOT; n++) { /* cut off anywhere in the first slot */
        struct found found = { 0 };
        CHECK_EQ(hf_ring_marks((struct hf_span) { bytes.p, n }, ignore_mark, &found), 0);
        CHECK_EQ(found.count, 0);
    }
    hf_buf_done(&bytes);
    hf_ring_free(ring);
    CHECK(!hf_ring_new(path, &err)); /* nobody's ring is overwritten */
    CHECK(!hf_ring_read("/nowhere/x.ring", &bytes));
}
