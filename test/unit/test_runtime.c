/*
 * test_runtime.c - the little machine of a runtime (DESIGN 5), written down a second time, against
 * runtime.c: every cell of state x event.
 */
#include "test.h"
#include "core/machine/runtime.h"

#define S(id) HF_RUNTIME_##id
#define E(id) HF_RUNTIME_EV_##id
#define D(id) HF_RUNTIME_DO_##id

struct row {
    enum hf_runtime_state from;
    enum hf_runtime_event on;
    enum hf_runtime_state to;
    unsigned effects;
};

enum {
    POLITE = D(FREEZE) | D(CLOSE_STDIN), /* nothing is written any more, stdin is closed first */
    HARD = D(FREEZE) | D(KILL),
};

static const struct row moves[] = {
    /* the way up */
    { S(SPAWNING), E(GREET), S(HANDSHAKING), 0 },
    { S(HANDSHAKING), E(GREETED), S(LISTING), 0 },
    /* or by the question which era it speaks */
    { S(SPAWNING), E(PROBE), S(PROBING), 0 },
    { S(HANDSHAKING), E(PROBE), S(PROBING), 0 },
    { S(PROBING), E(GREET), S(HANDSHAKING), 0 },
    { S(PROBING), E(GREETED), S(LISTING), 0 },
    { S(LISTING), E(LISTED), S(LIVE), 0 },
    { S(SPAWNING), E(NOT_STARTED), S(GONE), D(RELEASE) }, /* there never was a process */
    /* startTimeoutMs over: nothing to be polite to */
    { S(SPAWNING), E(TIMEOUT), S(KILLING), HARD },
    { S(PROBING), E(TIMEOUT), S(KILLING), HARD },
    { S(HANDSHAKING), E(TIMEOUT), S(KILLING), HARD },
    { S(LISTING), E(TIMEOUT), S(KILLING), HARD },
    /* draining: only a live one has calls to finish */
    { S(LIVE), E(DRAIN), S(DRAINING), 0 },
    { S(SPAWNING), E(DRAIN), S(CLOSING), POLITE },
    { S(PROBING), E(DRAIN), S(CLOSING), POLITE },
    { S(HANDSHAKING), E(DRAIN), S(CLOSING), POLITE },
    { S(LISTING), E(DRAIN), S(CLOSING), POLITE },
    { S(DRAINING), E(DRAINED), S(CLOSING), POLITE },
    { S(DRAINING), E(TIMEOUT), S(KILLING), HARD }, /* drainMs, then the tree is killed */
    /* closing (stdin closed) -> terming -> killing -> gone, each bounded */
    { S(CLOSING), E(TIMEOUT), S(TERMING), D(TERM) },
    { S(TERMING), E(TIMEOUT), S(KILLING), D(KILL) },
    { S(KILLING), E(TIMEOUT), S(GONE), D(RELEASE) | D(CLOSE_FAILED) },
    { S(CLOSING), E(KILL), S(KILLING), D(KILL) },
    { S(TERMING), E(KILL), S(KILLING), D(KILL) },
    /* exited and EOF: what it left behind is killed before it counts as gone */
    { S(CLOSING), E(ENDED), S(KILLING), D(KILL) },
    { S(TERMING), E(ENDED), S(KILLING), D(KILL) },
    { S(KILLING), E(TREE_GONE), S(GONE), D(RELEASE) },
};

/* What any runtime does that was not asked to go, or is asked to go now. */
static const struct row ends[] = {
    { 0, E(EXITED), S(CLOSING), D(FREEZE) }, /* no stdin to close for the dead; EOF is awaited */
    { 0, E(STDOUT_EOF), S(CLOSING), POLITE },
    { 0, E(CLOSE), S(CLOSING), POLITE },
    { 0, E(KILL), S(KILLING), HARD },
};

static const struct row *row_of(enum hf_runtime_state from, enum hf_runtime_event on)
{
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (moves[i].from == from && moves[i].on == on)
            return &moves[i];
    for (size_t i = 0; from < S(CLOSING) && i < sizeof ends / sizeof *ends; i++)
        if (ends[i].on == on)
            return &ends[i];
    return NULL;
}

/* On its way out it may be told to go once more, and its exit, EOF and tree come in any order. */
static bool is_ignored(enum hf_runtime_state from, enum hf_runtime_event on)
{
    if (from == S(DRAINING))
        return on == E(DRAIN);
    if (from < S(CLOSING) || from == S(GONE))
        return false;
    switch (on) {
    case E(DRAIN):
    case E(CLOSE):
    case E(KILL):
    case E(EXITED):
    case E(STDOUT_EOF):
    case E(ENDED):
    case E(TREE_GONE): return true;
    default: return false;
    }
}

static void check_cell(enum hf_runtime_state from, enum hf_runtime_event on)
{
    struct hf_runtime_machine runtime = { from };
    const unsigned effects = hf_runtime_step(&runtime, on);
    const struct row *row = row_of(from, on);
    const enum hf_runtime_state to = row ? row->to : from;
    const unsigned promised = row                    ? row->effects
                              : is_ignored(from, on) ? (unsigned)D(NOTHING)
                                                     : (unsigned)D(REPORT_BUG);
    if (runtime.state != to || effects != promised)
        printf("# %s on %s: went to %s (not %s), effects %#x (not %#x)\n",
               hf_runtime_state_name(from), hf_runtime_event_name(on),
               hf_runtime_state_name(runtime.state), hf_runtime_state_name(to), effects, promised);
    CHECK_EQ(runtime.state, to);
    CHECK_EQ(effects, promised);
}

/* @field B19: teardown goes by fixed steps, each of them one row | DESIGN 5: stdin, TERM, KILL */
/* @field Y16: the absence of a teardown that does not close stdin first */
TEST(each_move_of_a_runtime_holds_and_every_other_cell_is_unchanged_and_named_or_a_bug)
{
    for (int from = 0; from < HF_RUNTIME_STATE_COUNT; from++)
        for (int on = 0; on < HF_RUNTIME_EVENT_COUNT; on++)
            check_cell((enum hf_runtime_state)from, (enum hf_runtime_event)on);
}

/* @field Y16: the absence of a grace that cannot be configured */
TEST(each_step_of_the_teardown_is_bounded_by_its_own_setting_and_nothing_else_is)
{
    const struct hf_settings settings = {
        .drain_ms = 11, .close_ms = 22, .term_ms = 33, .kill_ms = 44
    };
    static const int64_t stays[HF_RUNTIME_STATE_COUNT] = { -1, -1, -1, -1, -1, 11, 22, 33, 44, -1 };
    for (int state = 0; state < HF_RUNTIME_STATE_COUNT; state++) {
        const struct hf_runtime_machine runtime = { (enum hf_runtime_state)state };
        CHECK_EQ(hf_runtime_stay_ms(&runtime, &settings), stays[state]);
    }
}

/* DESIGN 4: "no write after it" is what makes bytes taken back a proof. */
TEST(every_way_out_of_use_freezes_the_pipe_before_anything_is_done_to_the_process)
{
    for (int from = S(SPAWNING); from < S(CLOSING); from++)
        for (int on = 0; on < HF_RUNTIME_EVENT_COUNT; on++) {
            struct hf_runtime_machine runtime = { (enum hf_runtime_state)from };
            const unsigned effects = hf_runtime_step(&runtime, (enum hf_runtime_event)on);
            const bool left = runtime.state >= S(CLOSING) && runtime.state != S(GONE);
            CHECK(!left || (effects & D(FREEZE)));
            CHECK(left || !(effects & (D(CLOSE_STDIN) | D(TERM) | D(KILL))));
        }
    CHECK(D(FREEZE) < D(CLOSE_STDIN) && D(CLOSE_STDIN) < D(TERM) && D(TERM) < D(KILL));
}

TEST(time_alone_brings_every_runtime_that_is_going_to_its_end)
{
    struct hf_runtime_machine runtime = { S(LIVE) };
    (void)hf_runtime_step(&runtime, E(DRAIN));
    CHECK_EQ(runtime.state, S(DRAINING));
    (void)hf_runtime_step(&runtime, E(TIMEOUT));
    CHECK_EQ(runtime.state, S(KILLING));
    CHECK(hf_runtime_step(&runtime, E(TIMEOUT)) & D(CLOSE_FAILED));
    CHECK_EQ(runtime.state, S(GONE));
}
