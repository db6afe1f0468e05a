/* test_backoff.c - when the next attempt comes, and when it is enough (DESIGN 5, Delay and Budget).
 */
#include <limits.h>
#include "test.h"
#include "core/machine/backoff.h"

static struct hf_backoff_settings settings(void)
{
    return (struct hf_backoff_settings) { .min_ms = 1000,
                                          .max_ms = 30000,
                                          .jitter = 0,
                                          .window_ms = 300000,
                                          .attempts = -1,
                                          .first_attempts = 10,
                                          .probe_ms = 60000 };
}

enum { T0 = 1000000 };

TEST(a_doubled_delay_stays_within_its_maximum)
{
    static const struct {
        uint64_t first_ms;
        unsigned doublings;
        uint64_t max_ms, delay_ms;
    } rows[] = {
        { 1000, 0, 30000, 1000 },          { 1000, 1, 30000, 2000 },
        { 1000, 4, 30000, 16000 },         { 1000, 5, 30000, 30000 },
        { 1000, UINT_MAX, 30000, 30000 },  { 0, UINT_MAX, 30000, 0 },
        { 50000, 0, 30000, 30000 },        { 100, 3, 0, 0 },
        { 15000, 1, 30000, 30000 },        { 1, 63, UINT64_MAX, UINT64_C(1) << 63 },
        { 1, 64, UINT64_MAX, UINT64_MAX },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_EQ(hf_doubled_ms(rows[i].first_ms, rows[i].doublings, rows[i].max_ms),
                 rows[i].delay_ms);
}

/* @field A11: delays double up to a maximum | DESIGN 5: the first attempt comes at once */
/* @field B6: a fixed series of growing delays | DESIGN 5: 0, then minMs doubling up to maxMs */
/* @field Z7: the absence of a first reconnect that sleeps although the server may be back */
TEST(failed_attempts_come_at_0_1_3_7_15_and_31_seconds)
{
    static const uint64_t expected[] = { 0, 1000, 3000, 7000, 15000, 31000 };
    const struct hf_backoff_settings s = settings();
    struct hf_backoff b = { 0 };
    uint64_t now = T0;
    hf_backoff_connected(&b);
    hf_backoff_died(&b, true, now);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        now += hf_backoff_delay_ms(&b, &s, 0, now);
        CHECK_EQ(now - T0, expected[i]);
        hf_backoff_attempt_failed(&b, now);
    }
}

TEST(the_delay_never_exceeds_its_maximum_however_often_it_failed)
{
    const struct hf_backoff_settings s = settings();
    struct hf_backoff b = { 0 };
    for (int i = 0; i < 200; i++) {
        hf_backoff_attempt_failed(&b, T0);
        CHECK(hf_backoff_delay_ms(&b, &s, 0, T0) <= s.max_ms);
    }
    CHECK_EQ(hf_backoff_delay_ms(&b, &s, 0, T0), s.max_ms);
}

TEST(a_minimum_above_the_maximum_gives_the_maximum)
{
    struct hf_backoff_settings s = settings();
    s.min_ms = 50000;
    struct hf_backoff b = { 0 };
    hf_backoff_attempt_failed(&b, T0);
    CHECK_EQ(hf_backoff_delay_ms(&b, &s, 0, T0), 30000);
}

TEST(a_first_death_costs_no_delay_at_all)
{
    const struct hf_backoff_settings s = settings();
    struct hf_backoff b = { 0 };
    hf_backoff_connected(&b);
    hf_backoff_died(&b, false, T0);
    CHECK_EQ(hf_backoff_k(&b, &s, T0), 0);
    CHECK_EQ(hf_backoff_delay_ms(&b, &s, 0, T0), 0);
}

/* @field X8: the absence of a handshake that resets the backoff of a server that then crashes */
/* @field Z5: the absence of a budget that every successful connect makes new */
/* @field D7: delays grow by two up to a limit, all configurable | DESIGN 5: deaths count too */
TEST(a_crash_loop_is_slowed_down_although_each_of_its_starts_succeeds)
{
    static const uint64_t delays[] = { 0, 1000, 2000, 4000, 8000, 16000, 30000, 30000 };
    const struct hf_backoff_settings s = settings();
    struct hf_backoff b = { 0 };
    uint64_t now = T0;
    for (size_t i = 0; i < sizeof delays / sizeof *delays; i++) {
        hf_backoff_connected(&b);
        hf_backoff_call_completed(&b);
        hf_backoff_died(&b, true, now);
        CHECK_EQ(hf_backoff_delay_ms(&b, &s, 0, now), delays[i]);
        now += hf_backoff_delay_ms(&b, &s, 0, now);
    }
    CHECK(hf_backoff_k(&b, &s, now) >= HF_CRASH_LOOP_K);
}

TEST(what_failed_longer_than_the_window_ago_is_forgotten)
{
    const struct hf_backoff_settings s = settings();
    struct hf_backoff b = { 0 };
    hf_backoff_attempt_failed(&b, T0);
    hf_backoff_attempt_failed(&b, T0 + 1000);
    CHECK_EQ(hf_backoff_k(&b, &s, T0 + 299999), 2);
    CHECK_EQ(hf_backoff_k(&b, &s, T0 + 300000), 1);
    CHECK_EQ(hf_backoff_k(&b, &s, T0 + 301000), 0);
    CHECK_EQ(hf_backoff_delay_ms(&b, &s, 0, T0 + 301000), 0);
}

TEST(a_death_long_after_the_last_one_is_a_first_death_again)
{
    const struct hf_backoff_settings s = settings();
    struct hf_backoff b = { 0 };
    hf_backoff_died(&b, true, T0);
    hf_backoff_died(&b, true, T0 + 300000);
    CHECK_EQ(hf_backoff_delay_ms(&b, &s, 0, T0 + 300000), 0);
    hf_backoff_died(&b, true, T0 + 599999);
    CHECK_EQ(hf_backoff_delay_ms(&b, &s, 0, T0 + 599999), 1000);
}

TEST(a_death_beyond_the_window_does_not_hide_a_failure_within_it)
{
    const struct hf_backoff_settings s = settings();
    struct hf_backoff b = { 0 };
    hf_backoff_died(&b, true, T0);
    hf_backoff_attempt_failed(&b, T0 + 1);
    hf_backoff_attempt_failed(&b, T0 + 299999);
    CHECK_EQ(hf_backoff_k(&b, &s, T0 + 299999), 2);
    CHECK_EQ(hf_backoff_k(&b, &s, T0 + 300000), 2); /* the death has left, and its pardon with it */
}

/* @field Y7: the absence of restart settings that are read and ignored, and of fixed delays */
TEST(jitter_takes_a_random_share_off_the_delay_and_never_adds_to_it)
{
    struct hf_backoff_settings s = settings();
    struct hf_backoff b = { 0 };
    hf_backoff_attempt_failed(&b, T0);
    hf_backoff_attempt_failed(&b, T0); /* 2000 ms before jitter */
    s.jitter = 1;
    CHECK_EQ(hf_backoff_delay_ms(&b, &s, 0, T0), 2000);
    CHECK(hf_backoff_delay_ms(&b, &s, 0.5, T0) == 1000);
    CHECK(hf_backoff_delay_ms(&b, &s, 0.999999, T0) < 10);
    s.jitter = 0.25;
    CHECK_EQ(hf_backoff_delay_ms(&b, &s, 0, T0), 2000);
    CHECK(hf_backoff_delay_ms(&b, &s, 0.999999, T0) >= 1500);
    CHECK(hf_backoff_delay_ms(&b, &s, 0.999999, T0) <= 1501);
    s.jitter = 0;
    CHECK(hf_backoff_delay_ms(&b, &s, 0.999999, T0) == 2000);
}

TEST(a_peer_that_says_when_to_come_back_is_obeyed)
{
    const struct hf_backoff_settings s = settings();
    struct hf_backoff b = { .retry_after_ms = T0 + 5000 };
    hf_backoff_attempt_failed(&b, T0);
    CHECK_EQ(hf_backoff_delay_ms(&b, &s, 0, T0), 5000);
    CHECK_EQ(hf_backoff_delay_ms(&b, &s, 0, T0 + 4500), 1000); /* later than it asked anyway */
    hf_backoff_connected(&b);
    CHECK_EQ(hf_backoff_delay_ms(&b, &s, 0, T0), 1000);
}

TEST(a_minimum_of_zero_means_every_attempt_comes_at_once)
{
    struct hf_backoff_settings s = settings();
    s.min_ms = 0;
    struct hf_backoff b = { 0 };
    for (int i = 0; i < 40; i++)
        hf_backoff_died(&b, true, T0);
    CHECK_EQ(hf_backoff_delay_ms(&b, &s, 0, T0), 0);
}

/* ---- the budget ---- */

/* @field B7: the budget runs to its end by itself, and no further */
TEST(a_server_that_never_connected_has_first_attempts)
{
    const struct hf_backoff_settings s = settings();
    struct hf_backoff b = { 0 };
    for (int i = 0; i < 10; i++) {
        CHECK(!hf_backoff_spent(&b, &s));
        hf_backoff_attempt_failed(&b, T0);
    }
    CHECK(hf_backoff_spent(&b, &s));
}

TEST(a_server_that_was_connected_is_never_given_up_unless_attempts_says_so)
{
    struct hf_backoff_settings s = settings();
    struct hf_backoff b = { 0 };
    hf_backoff_connected(&b);
    for (int i = 0; i < 1000; i++)
        hf_backoff_attempt_failed(&b, T0);
    CHECK(!hf_backoff_spent(&b, &s));
    s.attempts = 1000;
    CHECK(hf_backoff_spent(&b, &s));
}

/* @field D7: five attempts, then the end; -1 for no limit */
TEST(attempts_5_means_five_attempts_after_a_death_whether_or_not_a_call_was_ever_made)
{
    struct hf_backoff_settings s = settings();
    s.attempts = 5;
    for (int completed = 0; completed <= 1; completed++) {
        struct hf_backoff b = { 0 };
        hf_backoff_connected(&b);
        hf_backoff_died(&b, completed, T0);
        for (int i = 0; i < 5; i++) {
            CHECK(!hf_backoff_spent(&b, &s));
            hf_backoff_attempt_failed(&b, T0);
        }
        CHECK(hf_backoff_spent(&b, &s));
    }
}

/* @field Z5: the absence of a connect-then-die loop that nothing ever ends */
TEST(a_server_that_dies_after_each_start_without_completing_a_call_spends_its_budget)
{
    struct hf_backoff_settings s = settings();
    s.attempts = 5;
    struct hf_backoff b = { 0 };
    int starts = 0;
    for (; starts < 100 && !hf_backoff_spent(&b, &s); starts++) {
        hf_backoff_connected(&b);
        hf_backoff_died(&b, false, T0);
    }
    CHECK_EQ(starts, 6); /* the first one, and five attempts */
}

TEST(a_completed_call_makes_the_budget_whole)
{
    struct hf_backoff_settings s = settings();
    s.attempts = 5;
    struct hf_backoff b = { 0 };
    hf_backoff_connected(&b);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++)
            hf_backoff_attempt_failed(&b, T0);
        CHECK(!hf_backoff_spent(&b, &s));
        hf_backoff_call_completed(&b);
        hf_backoff_died(&b, true, T0);
        CHECK(!hf_backoff_spent(&b, &s));
    }
}

TEST(a_death_before_a_completed_call_is_not_held_for_or_against_what_follows)
{
    struct hf_backoff_settings s = settings();
    s.attempts = 3;
    struct hf_backoff b = { 0 };
    hf_backoff_connected(&b);
    hf_backoff_died(&b, false, T0);
    hf_backoff_call_completed(&b);
    for (int i = 0; i < 3; i++) {
        CHECK(!hf_backoff_spent(&b, &s));
        hf_backoff_attempt_failed(&b, T0);
    }
    CHECK(hf_backoff_spent(&b, &s));
}

/* @field B10: enabling gives a fresh budget */
TEST(a_reset_forgets_every_failure_but_not_that_it_was_connected)
{
    struct hf_backoff_settings s = settings();
    s.attempts = 2;
    struct hf_backoff b = { 0 };
    hf_backoff_connected(&b);
    for (int i = 0; i < 8; i++)
        hf_backoff_died(&b, false, T0);
    CHECK(hf_backoff_spent(&b, &s));
    hf_backoff_reset(&b);
    CHECK(!hf_backoff_spent(&b, &s));
    CHECK_EQ(hf_backoff_k(&b, &s, T0), 0);
    CHECK(b.was_connected);
}

TEST(no_attempts_at_all_are_spent_from_the_start)
{
    struct hf_backoff_settings s = settings();
    s.first_attempts = 0;
    const struct hf_backoff b = { 0 };
    CHECK(hf_backoff_spent(&b, &s));
}
