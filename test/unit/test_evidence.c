/*
 * test_evidence.c - what proves that a call never reached its server, byte by byte, and what may be
 * sent again (DESIGN 4).
 *
 * The request under test always lies at [100, 149]: its closing brace is byte 149, its newline 150.
 */
#include "test.h"
#include "core/machine/evidence.h"

enum { START = 100, BRACE = 149, NEWLINE = 150 };

static enum hf_evidence of(uint64_t written, int64_t taken_back)
{
    const struct hf_extent extent = { START, BRACE, true };
    return hf_evidence_of(extent, (struct hf_stream_facts) { written, taken_back });
}

static bool taken(uint64_t written, int64_t taken_back)
{
    const struct hf_extent extent = { START, BRACE, true };
    return hf_evidence_byte_taken(extent, (struct hf_stream_facts) { written, taken_back });
}

/* @field A1: whether a call was dispatched is a fact about bytes, decided at every single one */
/* @field A3: "lost while waiting for the answer" and "never written" are different evidence */
TEST(written_up_to_each_byte_a_request_is_partial_until_its_closing_brace_is_in_the_pipe)
{
    for (uint64_t written = START + 1; written <= NEWLINE + 20; written++) {
        const enum hf_evidence expected =
            written <= BRACE ? HF_EVIDENCE_PARTIAL : HF_EVIDENCE_DISPATCHED;
        CHECK_EQ(of(written, 0), expected);
        CHECK_EQ(of(written, -1), expected);
    }
}

/* @field Y4: the absence of calls that fail although they were provably never read */
TEST(read_up_to_each_byte_a_request_is_unread_until_its_closing_brace_was_read)
{
    for (uint64_t read = 0; read <= NEWLINE + 50; read++) {
        const uint64_t written = NEWLINE + 51;
        const enum hf_evidence expected =
            read <= BRACE ? HF_EVIDENCE_UNREAD : HF_EVIDENCE_DISPATCHED;
        CHECK_EQ(of(written, (int64_t)(written - read)), expected);
    }
}

TEST(only_the_newline_taken_back_proves_nothing)
{
    CHECK_EQ(of(NEWLINE + 1, 1), HF_EVIDENCE_DISPATCHED);
    CHECK_EQ(of(NEWLINE + 1, 2), HF_EVIDENCE_UNREAD); /* brace and newline */
}

TEST(where_nobody_could_look_into_the_pipe_nothing_is_proven)
{
    CHECK_EQ(of(NEWLINE + 1, -1), HF_EVIDENCE_DISPATCHED);
    CHECK_EQ(of(NEWLINE + 1, 0), HF_EVIDENCE_DISPATCHED);
    CHECK_EQ(of(BRACE, -1), HF_EVIDENCE_PARTIAL); /* a fact about our own writing stands */
    CHECK(taken(NEWLINE + 1, -1));                /* and the worse is assumed */
}

TEST(more_taken_back_than_was_written_proves_nothing_and_ends_nobody)
{
    for (int64_t more = 1; more < 300; more++) {
        CHECK_EQ(of(NEWLINE + 1, NEWLINE + 1 + more), HF_EVIDENCE_DISPATCHED);
        CHECK(taken(NEWLINE + 1, NEWLINE + 1 + more));
        CHECK_EQ(of(BRACE, BRACE + more), HF_EVIDENCE_PARTIAL);
    }
    CHECK_EQ(of(NEWLINE + 1, INT64_MAX), HF_EVIDENCE_DISPATCHED);
}

TEST(a_request_of_which_no_byte_was_written_is_unsent_whatever_else_happened)
{
    const struct hf_extent never = { .begun = false };
    for (int64_t back = -1; back <= 200; back++) {
        const struct hf_stream_facts facts = { 200, back };
        CHECK_EQ(hf_evidence_of(never, facts), HF_EVIDENCE_UNSENT);
        CHECK(!hf_evidence_byte_taken(never, facts));
    }
}

TEST(a_byte_counts_as_taken_from_the_first_one_that_did_not_come_back)
{
    for (uint64_t read = 0; read <= NEWLINE; read++) {
        const uint64_t written = NEWLINE + 1;
        CHECK_EQ(taken(written, (int64_t)(written - read)), read > START);
        CHECK_EQ(taken(START + 10, (int64_t)(START + 10 - (read < START + 10 ? read : START + 10))),
                 read > START);
    }
}

TEST(the_very_first_request_of_a_stream_is_judged_alike)
{
    const struct hf_extent first = { 0, 0, true }; /* one byte of JSON is the least there is */
    CHECK(hf_evidence_of(first, (struct hf_stream_facts) { 1, 1 }) == HF_EVIDENCE_UNREAD);
    CHECK(hf_evidence_of(first, (struct hf_stream_facts) { 2, 1 }) == HF_EVIDENCE_DISPATCHED);
    CHECK(hf_evidence_of(first, (struct hf_stream_facts) { 2, 2 }) == HF_EVIDENCE_UNREAD);
    CHECK(!hf_evidence_byte_taken(first, (struct hf_stream_facts) { 2, 2 }));
}

TEST(offsets_beyond_four_gigabytes_are_still_exact)
{
    const uint64_t at = UINT64_C(5) << 32;
    const struct hf_extent extent = { at, at + 49, true };
    CHECK(hf_evidence_of(extent, (struct hf_stream_facts) { at + 49, 0 }) == HF_EVIDENCE_PARTIAL);
    CHECK(hf_evidence_of(extent, (struct hf_stream_facts) { at + 51, 2 }) == HF_EVIDENCE_UNREAD);
    CHECK(hf_evidence_of(extent, (struct hf_stream_facts) { at + 51, 1 }) ==
          HF_EVIDENCE_DISPATCHED);
}

/* ---- what a lost request may do next ---- */

static enum hf_verdict verdict(enum hf_evidence evidence, unsigned sends, bool byte_taken,
                               bool is_repeatable)
{
    return hf_evidence_verdict(evidence, (struct hf_history) { sends, byte_taken, is_repeatable });
}

/* @field A2: a dispatched call is never sent again by us; the caller decides */
/* @field A6: nothing counts as idempotent unless somebody said so */
/* @field X1: the absence of a blind re-send after a death in mid-call */
TEST(a_dispatched_call_is_never_sent_again_however_often_it_was_tried)
{
    for (unsigned sends = 1; sends <= 4; sends++) {
        CHECK_EQ(verdict(HF_EVIDENCE_DISPATCHED, sends, false, false), HF_VERDICT_UNKNOWN);
        CHECK_EQ(verdict(HF_EVIDENCE_DISPATCHED, sends, true, false), HF_VERDICT_UNKNOWN);
    }
}

/* @field A12: a call is re-sent a bounded number of times | DESIGN 4: three sends, two once taken
 */
TEST(a_call_is_sent_at_most_three_times_and_twice_once_a_byte_was_taken)
{
    static const enum hf_evidence proven[] = { HF_EVIDENCE_PARTIAL, HF_EVIDENCE_UNREAD };
    for (size_t i = 0; i < sizeof proven / sizeof *proven; i++) {
        CHECK_EQ(verdict(proven[i], 1, false, false), HF_VERDICT_RESEND);
        CHECK_EQ(verdict(proven[i], 2, false, false), HF_VERDICT_RESEND);
        CHECK_EQ(verdict(proven[i], 3, false, false), HF_VERDICT_DIES_ON_IT);
        CHECK_EQ(verdict(proven[i], 1, true, false), HF_VERDICT_RESEND);
        CHECK_EQ(verdict(proven[i], 2, true, false), HF_VERDICT_DIES_ON_IT);
    }
}

TEST(a_call_that_never_left_us_is_not_counted_against_itself)
{
    for (unsigned sends = 0; sends <= 5; sends++)
        CHECK_EQ(verdict(HF_EVIDENCE_UNSENT, sends, sends > 1, false), HF_VERDICT_RESEND);
}

TEST(a_call_turned_away_again_and_again_is_told_so)
{
    CHECK_EQ(verdict(HF_EVIDENCE_REFUSED, 1, false, false), HF_VERDICT_RESEND);
    CHECK_EQ(verdict(HF_EVIDENCE_REFUSED, 2, false, false), HF_VERDICT_RESEND);
    CHECK_EQ(verdict(HF_EVIDENCE_REFUSED, 3, false, false), HF_VERDICT_REFUSED_AGAIN);
    CHECK_EQ(verdict(HF_EVIDENCE_REFUSED, 2, true, false), HF_VERDICT_REFUSED_AGAIN);
}

TEST(a_repeatable_call_is_sent_again_although_dispatched_but_under_the_same_cap)
{
    CHECK_EQ(verdict(HF_EVIDENCE_DISPATCHED, 1, true, true), HF_VERDICT_RESEND);
    CHECK_EQ(verdict(HF_EVIDENCE_DISPATCHED, 2, true, true), HF_VERDICT_UNKNOWN);
    CHECK_EQ(verdict(HF_EVIDENCE_UNREAD, 1, false, true), HF_VERDICT_RESEND);
    CHECK_EQ(verdict(HF_EVIDENCE_UNREAD, 3, false, true), HF_VERDICT_DIES_ON_IT);
}

/* ---- HTTP: what one exchange proved ---- */

enum { STATUS_END = 600 };

static enum hf_http_verdict http(enum hf_sent sent, int status, bool had_session, bool is_vouched)
{
    return hf_http_verdict((struct hf_http_facts) {
        .sent = sent, .status = status, .had_session = had_session, .is_vouched = is_vouched });
}

static bool is_one_of(int status, const int *list)
{
    while (*list && *list != status)
        list++;
    return *list;
}

/* DESIGN 4, written down once more. */
static enum hf_http_verdict by_design(enum hf_sent sent, int status, bool had_session, bool vouched)
{
    static const int before_it_ran[] = { 405, 413, 415, 0 };
    const bool is_client_error = status >= 400 && status <= 499;
    if (status == 0)
        return sent == HF_SENT_NOTHING ? HF_HTTP_UNSENT
               : sent == HF_SENT_PART  ? HF_HTTP_PARTIAL
                                       : HF_HTTP_DISPATCHED;
    if (status == 421 || status == 425 || (vouched && status >= 400))
        return HF_HTTP_REFUSED;
    if (is_client_error && had_session && status != 429) /* that is about how much is asked */
        return HF_HTTP_DOUBTED;
    if (status == 401) /* whose? */
        return HF_HTTP_DOUBTED;
    if (is_client_error)
        return is_one_of(status, before_it_ran) ? HF_HTTP_REJECTED : HF_HTTP_REJECTED_LATE;
    if (status >= 300 && status <= 399)
        return HF_HTTP_REJECTED_LATE;
    return HF_HTTP_DISPATCHED;
}

TEST(every_status_with_every_fact_beside_it_is_judged_as_the_design_says)
{
    for (int status = 0; status < STATUS_END; status = status ? status + 1 : 200)
        for (int sent = HF_SENT_NOTHING; sent <= HF_SENT_WHOLE; sent++)
            for (int facts = 0; facts < 4; facts++) {
                const bool had_session = facts & 1, vouched = facts & 2;
                CHECK_EQ(http((enum hf_sent)sent, status, had_session, vouched),
                         by_design((enum hf_sent)sent, status, had_session, vouched));
            }
}

TEST(a_status_whose_body_cannot_be_read_to_its_end_proves_nothing_whoever_vouches_for_it)
{
    for (int status = 200; status < STATUS_END; status++)
        for (int facts = 0; facts < 16; facts++)
            CHECK(hf_http_verdict((struct hf_http_facts) { .sent = HF_SENT_WHOLE,
                                                           .status = status,
                                                           .had_session = facts & 1,
                                                           .is_vouched = facts & 2,
                                                           .is_to_nobody = facts & 4,
                                                           .may_be_of_era = facts & 8,
                                                           .is_unreadable = true }) ==
                  HF_HTTP_DISPATCHED);
}

TEST(an_error_to_nobody_with_a_good_status_is_in_doubt_where_a_session_was_sent)
{
    struct hf_http_facts facts = { .sent = HF_SENT_WHOLE, .status = 200, .is_to_nobody = true };
    CHECK_EQ(hf_http_verdict(facts), HF_HTTP_DISPATCHED);
    facts.had_session = true;
    CHECK_EQ(hf_http_verdict(facts), HF_HTTP_DOUBTED);
}

TEST(only_400_404_and_405_may_be_about_the_era)
{
    for (int status = 400; status < 500; status++) {
        const struct hf_http_facts facts = { .sent = HF_SENT_WHOLE,
                                             .status = status,
                                             .may_be_of_era = true };
        const bool is_of_era = status == 400 || status == 404 || status == 405;
        CHECK_EQ(hf_http_verdict(facts) == HF_HTTP_DOUBTED, is_of_era || status == 401);
    }
}

TEST(no_5xx_and_no_success_proves_anything_unless_the_operator_vouches)
{
    for (int status = 200; status < STATUS_END; status++) {
        if (status >= 300 && status < 500)
            continue;
        CHECK_EQ(http(HF_SENT_WHOLE, status, true, false), HF_HTTP_DISPATCHED);
        CHECK_EQ(http(HF_SENT_NOTHING, status, false, false), HF_HTTP_DISPATCHED);
        CHECK_EQ(http(HF_SENT_WHOLE, status, true, true),
                 status < 300 ? HF_HTTP_DISPATCHED : HF_HTTP_REFUSED);
    }
}

TEST(a_404_says_something_of_a_session_only_where_there_was_one)
{
    CHECK_EQ(http(HF_SENT_WHOLE, 404, true, false), HF_HTTP_DOUBTED);
    CHECK_EQ(http(HF_SENT_WHOLE, 404, false, false), HF_HTTP_REJECTED_LATE);
    CHECK_EQ(http(HF_SENT_WHOLE, 403, true, false), HF_HTTP_DOUBTED);
    CHECK_EQ(http(HF_SENT_WHOLE, 403, false, false), HF_HTTP_REJECTED_LATE);
}

TEST(only_three_statuses_and_anybodys_401_are_known_to_come_before_anything_ran)
{
    static const int before_it_ran[] = { 405, 413, 415, 0 };
    for (int status = 400; status < 500; status++) {
        const bool is_before = is_one_of(status, before_it_ran);
        CHECK_EQ(hf_http_rejection(status, false) == HF_HTTP_REJECTED, is_before);
        CHECK_EQ(hf_http_rejection(status, true) == HF_HTTP_REJECTED, is_before || status == 401);
    }
}

TEST(evidence_is_called_by_the_names_of_the_design)
{
    static const char *const names[] = { "unsent", "partial", "unread", "refused", "dispatched" };
    for (int i = 0; i < HF_EVIDENCE_COUNT; i++)
        CHECK_STR(hf_evidence_name((enum hf_evidence)i), names[i]);
}
