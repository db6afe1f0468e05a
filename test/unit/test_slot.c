/*
 * test_slot.c - DESIGN 5's table, written down a second time from its text, against slot.c.
 *
 * Every cell of state x event is walked: the rows of the table, the cells where nothing may happen
 * and which are known by name, and all others, where the machine must not move and must say so.
 */
#include "test.h"
#include "core/machine/slot.h"

#define S(id) HF_SLOT_##id
#define E(id) HF_SLOT_EV_##id
#define D(id) HF_SLOT_DO_##id

struct row {
    enum hf_slot_state from;
    enum hf_slot_event on;
    enum hf_slot_state to;
    unsigned effects;
};

/* What DESIGN calls "now, with a fresh budget": whatever was planned or under way is dropped. */
enum { NOW_AND_FRESH = D(KILL_ATTEMPT) | D(UNSCHEDULE) | D(FRESH_BUDGET) | D(ATTEMPT) };
/* "kill a running attempt; waiting calls -31003; calls in flight have drainMs" */
enum { OFF = D(KILL_ATTEMPT) | D(UNSCHEDULE) | D(FAIL_WAITING) | D(DRAIN) };

static const struct row moves[] = {
    /* disconnected: a call, or start-up of an eager server */
    { S(DISCONNECTED), E(CALL), S(CONNECTING), D(ATTEMPT) },
    { S(DISCONNECTED), E(START), S(CONNECTING), D(ATTEMPT) },
    /* (new in the config): connecting; disconnected if lazy; disabled if `disabled`; an error of
     * one server leaves it permanently_failed (DESIGN 12) */
    { S(NEW), E(START), S(CONNECTING), D(ATTEMPT) },
    { S(NEW), E(REST), S(DISCONNECTED), 0 },
    { S(NEW), E(DISABLE), S(DISABLED), 0 },
    { S(NEW), E(SPENT), S(PERMANENTLY_FAILED), 0 },
    /* connecting, reconnecting: handshake and tools list done; installed in one step */
    { S(CONNECTING), E(READY), S(CONNECTED), D(INSTALL) },
    { S(RECONNECTING), E(READY), S(CONNECTED), D(INSTALL) },
    /* connecting: restart or reconnect asked: the running attempt is killed; fresh budget */
    { S(CONNECTING), E(RESTART), S(CONNECTING), NOW_AND_FRESH },
    { S(CONNECTING), E(RECONNECT), S(CONNECTING), NOW_AND_FRESH },
    /* connected: reconnect asked, as restart with `overlap: false`: drain, then reconnecting */
    { S(CONNECTED), E(RECONNECT), S(RECONNECTING), D(KILL_ATTEMPT) | D(DRAIN) | D(ATTEMPT) },
    /* permanently_failed: enable; a failed probe; a probe that succeeds; its time */
    { S(PERMANENTLY_FAILED), E(ENABLE), S(CONNECTING), NOW_AND_FRESH },
    { S(PERMANENTLY_FAILED), E(FAILED), S(PERMANENTLY_FAILED), D(PROBE_LATER) },
    { S(PERMANENTLY_FAILED), E(SPENT), S(PERMANENTLY_FAILED), D(PROBE_LATER) },
    { S(PERMANENTLY_FAILED), E(READY), S(CONNECTED), D(INSTALL) },
    { S(PERMANENTLY_FAILED), E(DUE), S(PERMANENTLY_FAILED), D(EXTRA_ATTEMPT) },
    /* attempt failed, budget left: the next is scheduled by the manager */
    { S(CONNECTING), E(FAILED), S(RECONNECTING), D(SCHEDULE) },
    { S(RECONNECTING), E(FAILED), S(RECONNECTING), D(SCHEDULE) },
    /* attempt failed, budget spent: waiting calls fail at once, slow probes go on */
    { S(CONNECTING), E(SPENT), S(PERMANENTLY_FAILED), D(FAIL_WAITING) | D(PROBE_LATER) },
    { S(RECONNECTING), E(SPENT), S(PERMANENTLY_FAILED), D(FAIL_WAITING) | D(PROBE_LATER) },
    /* the schedule, and section 6's one extra attempt for an arrival */
    { S(RECONNECTING), E(DUE), S(RECONNECTING), D(ATTEMPT) },
    { S(RECONNECTING), E(EXTRA), S(RECONNECTING), D(EXTRA_ATTEMPT) },
    /* connected: exit, EOF, liveness lost: detach at once, first attempt after the delay */
    { S(CONNECTED), E(LOST), S(RECONNECTING), D(DETACH) | D(SCHEDULE) },
    /* connected: clean exit of an idle child, idle time over */
    { S(CONNECTED), E(REST), S(DISCONNECTED), D(KILL_ATTEMPT) | D(UNSCHEDULE) | D(DRAIN) },
    /* connected: restart: built beside it; success swaps and the old one drains; failure leaves the
     * old one */
    { S(CONNECTED), E(RESTART), S(CONNECTED), D(KILL_ATTEMPT) | D(ATTEMPT) },
    { S(CONNECTED), E(READY), S(CONNECTED), D(DRAIN) | D(INSTALL) },
    /* reconnecting, disconnected, permanently_failed: restart or reconnect asked: never a dead end
     */
    { S(RECONNECTING), E(RESTART), S(CONNECTING), NOW_AND_FRESH },
    { S(RECONNECTING), E(RECONNECT), S(CONNECTING), NOW_AND_FRESH },
    { S(DISCONNECTED), E(RESTART), S(CONNECTING), NOW_AND_FRESH },
    { S(DISCONNECTED), E(RECONNECT), S(CONNECTING), NOW_AND_FRESH },
    { S(PERMANENTLY_FAILED), E(RESTART), S(CONNECTING), NOW_AND_FRESH },
    { S(PERMANENTLY_FAILED), E(RECONNECT), S(CONNECTING), NOW_AND_FRESH },
    /* any but disabling, disabled: disable */
    { S(CONNECTING), E(DISABLE), S(DISABLING), OFF },
    { S(CONNECTED), E(DISABLE), S(DISABLING), OFF },
    { S(RECONNECTING), E(DISABLE), S(DISABLING), OFF },
    { S(DISCONNECTED), E(DISABLE), S(DISABLING), OFF },
    { S(PERMANENTLY_FAILED), E(DISABLE), S(DISABLING), OFF },
    /* disabling: all runtimes gone: disabled, or connecting if wanted is on again */
    { S(DISABLING), E(GONE), S(DISABLED), 0 },
    { S(DISABLING), E(GONE_WANTED), S(CONNECTING), NOW_AND_FRESH },
    /* disabling, disabled: restart, reconnect, call: refused */
    { S(DISABLING), E(RESTART), S(DISABLING), D(REFUSE) },
    { S(DISABLING), E(RECONNECT), S(DISABLING), D(REFUSE) },
    { S(DISABLING), E(CALL), S(DISABLING), D(REFUSE) },
    { S(DISABLED), E(RESTART), S(DISABLED), D(REFUSE) },
    { S(DISABLED), E(RECONNECT), S(DISABLED), D(REFUSE) },
    { S(DISABLED), E(CALL), S(DISABLED), D(REFUSE) },
    /* disabled: enable: fresh budget and health */
    { S(DISABLED), E(ENABLE), S(CONNECTING), NOW_AND_FRESH },
};

/* Nothing happens, and it is known why: these are no bugs of the caller. */
static const struct {
    enum hf_slot_event on;
    unsigned states; /* bits */
} ignored[] = {
#define IN(id) (1u << S(id))
    /* enable: never a bounce; of one that is going: wanted is on, connecting follows by itself */
    { E(ENABLE),
      IN(CONNECTING) | IN(CONNECTED) | IN(RECONNECTING) | IN(DISCONNECTED) | IN(DISABLING) },
    { E(DISABLE), IN(DISABLING) | IN(DISABLED) }, /* done already */
    { E(START), IN(CONNECTING) | IN(CONNECTED) | IN(RECONNECTING) | IN(DISABLING) | IN(DISABLED) |
                    IN(PERMANENTLY_FAILED) },
    /* a call waits, goes through, or is told retryAfterMs: it never starts a probe */
    { E(CALL), IN(CONNECTING) | IN(CONNECTED) | IN(RECONNECTING) | IN(PERMANENTLY_FAILED) },
    { E(FAILED), IN(CONNECTED) }, /* the one built beside: the old one stays */
    /* an old runtime that is gone never moves the slot */
    { E(GONE), IN(CONNECTING) | IN(CONNECTED) | IN(RECONNECTING) | IN(DISCONNECTED) | IN(DISABLED) |
                   IN(PERMANENTLY_FAILED) },
};

static const struct row *row_of(enum hf_slot_state from, enum hf_slot_event on)
{
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (moves[i].from == from && moves[i].on == on)
            return &moves[i];
    return NULL;
}

static bool is_ignored(enum hf_slot_state from, enum hf_slot_event on)
{
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        if (ignored[i].on == on && (ignored[i].states & (1u << from)))
            return true;
    return false;
}

static void check_cell(enum hf_slot_state from, enum hf_slot_event on)
{
    struct hf_slot_machine slot = { from };
    const unsigned effects = hf_slot_step(&slot, on);
    const struct row *row = row_of(from, on);
    const enum hf_slot_state to = row ? row->to : from;
    const unsigned promised = row                    ? row->effects
                              : is_ignored(from, on) ? (unsigned)D(NOTHING)
                                                     : (unsigned)D(REPORT_BUG);
    if (slot.state != to || effects != promised)
        printf("# %s on %s: went to %s (not %s), effects %#x (not %#x)\n", hf_slot_state_name(from),
               hf_slot_event_name(on), hf_slot_state_name(slot.state), hf_slot_state_name(to),
               effects, promised);
    CHECK_EQ(slot.state, to);
    CHECK_EQ(effects, promised);
}

/* @field B1: a server has exactly seven states, and every event in each of them is decided */
/* @field B3: the state is a machine of its own, apart from runtimes and lists */
/* @field B23: the states are one table that is proven cell by cell before anything hangs on it */
TEST(each_row_of_the_table_holds_and_every_other_cell_is_unchanged_and_named_or_a_bug)
{
    for (int from = 0; from < HF_SLOT_STATE_COUNT; from++)
        for (int on = 0; on < HF_SLOT_EVENT_COUNT; on++)
            check_cell((enum hf_slot_state)from, (enum hf_slot_event)on);
}

TEST(states_are_called_by_exactly_the_names_of_the_design)
{
    static const char *const names[] = {
        [S(CONNECTING)] = "connecting",
        [S(CONNECTED)] = "connected",
        [S(RECONNECTING)] = "reconnecting",
        [S(DISCONNECTED)] = "disconnected",
        [S(DISABLING)] = "disabling",
        [S(DISABLED)] = "disabled",
        [S(PERMANENTLY_FAILED)] = "permanently_failed",
    };
    for (int state = S(CONNECTING); state < HF_SLOT_STATE_COUNT; state++)
        CHECK_STR(hf_slot_state_name((enum hf_slot_state)state), names[state]);
    CHECK_EQ(HF_SLOT_STATE_COUNT, 8); /* the seven, and the one before the first event */
}

/* @field B12: names stay listed while connecting, reconnecting and disconnected, not when off */
/* @field Z4: the absence of tools that vanish while reconnecting */
TEST(only_switched_off_and_given_up_servers_are_unpublished)
{
    CHECK(hf_slot_is_offered(S(CONNECTING)));
    CHECK(hf_slot_is_offered(S(CONNECTED)));
    CHECK(hf_slot_is_offered(S(RECONNECTING)));
    CHECK(hf_slot_is_offered(S(DISCONNECTED)));
    CHECK(!hf_slot_is_offered(S(NEW)));
    CHECK(!hf_slot_is_offered(S(DISABLING)));
    CHECK(!hf_slot_is_offered(S(DISABLED)));
    CHECK(!hf_slot_is_offered(S(PERMANENTLY_FAILED)));
}

/* @field Y6: the absence of a permanent failure that neither reconnect nor restart can revive */
/* @field Z8: the absence of a stopped server that can never be started again */
TEST(no_state_is_a_dead_end)
{
    for (int from = S(CONNECTING); from < HF_SLOT_STATE_COUNT; from++) {
        struct hf_slot_machine slot = { (enum hf_slot_state)from };
        (void)hf_slot_step(&slot, E(ENABLE));
        (void)hf_slot_step(&slot, E(RESTART));
        if (slot.state == S(DISABLING))
            (void)hf_slot_step(&slot, E(GONE_WANTED));
        (void)hf_slot_step(&slot, E(READY));
        CHECK_EQ(slot.state, S(CONNECTED));
    }
}

/* @field W1: disable always commits: no event but the end of the old tree moves it, and only on */
TEST(a_server_being_disabled_moves_on_only_when_its_runtimes_are_gone)
{
    for (int on = 0; on < HF_SLOT_EVENT_COUNT; on++) {
        struct hf_slot_machine slot = { S(DISABLING) };
        (void)hf_slot_step(&slot, (enum hf_slot_event)on);
        CHECK(slot.state == S(DISABLING) || on == E(GONE) || on == E(GONE_WANTED));
    }
}
