/* test_engine_parties.c - what the engine holds for clients is shared by parties
 * (core/call/party.h): none can use up what is there for all (P8). */
#include "core/engine.h"
#include "core/state/engine_state.h"
#include "core/state/session.h"
#include "engine_fixture.h"

/* ---- a server that answers no call by itself ---- */

static struct scene hanging(struct hf_limits limits, struct hf_settings settings)
{
    struct scene s = { .w = world_new_with(limits) };
    s.server = add_server(s.w, "one", settings);
    settle(s.w);
    s.first = newest_child(s.w, s.server);
    return s;
}

static struct client *come_as(const struct scene *s, struct hf_client_party *party)
{
    struct client *c = open_client(s->w, s->server);
    hf_session_set_party(c->session, party);
    return c;
}

/* A client whose session is within `token`; NULL: it is a party of its own. */
static struct client *come(const struct scene *s, struct hf_client_party *token)
{
    struct hf_client_party *party = hf_client_party_new(token);
    struct client *c = come_as(s, party);
    hf_client_party_unref(party);
    return c;
}

/* How many of the next `count` calls, with ids from `from`, are under way. */
static unsigned call_many(struct client *c, int from, unsigned count)
{
    unsigned under_way = 0;
    for (unsigned i = 0; i < count; i++) {
        client_calls_via(c, (uint64_t)from + i, from + (int)i, "echo");
        under_way += answers_to(c, from + (int)i) == 0;
    }
    return under_way;
}

/* ---- the table of calls ---- */

TEST(one_party_alone_gets_three_quarters_of_the_calls_and_two_get_43_percent_each)
{
    struct scene s = hanging(LIMITS(.max_calls = 1000, .shares = 3), default_settings());
    CHECK_EQ(call_many(come(&s, NULL), 1, 1000), 750);
    s = hanging(LIMITS(.max_calls = 1000, .shares = 3), default_settings());
    struct client *a = come(&s, NULL), *b = come(&s, NULL);
    unsigned of_a = 0, of_b = 0;
    for (int i = 1; i <= 500; i++) {
        of_a += call_many(a, i, 1);
        of_b += call_many(b, i, 1);
    }
    CHECK(of_a >= 428 && of_a <= 430 && of_b >= 428 && of_b <= 430);
    CHECK_EQ(call_many(come(&s, NULL), 1, 1), 1); /* and whoever is new finds something */
}

TEST(a_call_over_its_share_is_told_so_in_a_result_that_names_the_limit_and_is_counted)
{
    struct scene s = hanging(LIMITS(.max_calls = 16, .shares = 3), default_settings());
    struct client *c = come(&s, NULL);
    CHECK_EQ(call_many(c, 1, 13), 12);
    CHECK(error_of(c, 13) == -31005 && data_is(c, 13, "reason", "\"too_many_calls\""));
    CHECK(data_is(c, 13, "dispatched", "false") && data_is(c, 13, "retry", "\"later\""));
    const struct message *answer = answer_to(c, 13);
    REQUIRE(answer && outcome_in(&answer->msg).p);
    CHECK(span_has(answer->msg.text, "your share of the calls that may be under way: 12 of 16"));
    CHECK_EQ(child_got(s.first, "tools/call"), 12);
    CHECK_EQ(c->over, HF_SHARED_CALLS);
}

TEST(sessions_of_one_token_share_what_it_has_and_one_of_them_leaves_something_to_the_others)
{
    struct scene s = hanging(LIMITS(.max_calls = 1000, .shares = 3), default_settings());
    struct hf_client_party *token = hf_client_party_new(NULL);
    struct client *a = come(&s, token), *b = come(&s, token);
    const unsigned of_a = call_many(a, 1, 1000), of_b = call_many(b, 1, 1000);
    CHECK(of_a < 750 && of_b > 0 && of_a + of_b <= 750);
    CHECK_EQ(hf_client_party_used(token, HF_SHARED_CALLS), of_a + of_b);
    CHECK(call_many(come(&s, NULL), 1, 1000) >= 100);
    hf_client_party_unref(token);
}

TEST(a_party_that_has_left_leaves_its_share_to_the_others)
{
    struct scene s = hanging(LIMITS(.max_calls = 1000, .shares = 3), default_settings());
    struct client *a = come(&s, NULL), *b = come(&s, NULL);
    CHECK_EQ(call_many(a, 1, 1000), 750);
    CHECK(call_many(b, 1, 1000) < 200);
    client_leaves(a);
    CHECK_EQ(s.w->engine->bounds[HF_SHARED_CALLS].used, b->session->call_count);
    (void)call_many(b, 2000, 1000);
    CHECK_EQ(b->session->call_count, 750);
}

TEST(a_limit_of_the_tokens_own_is_told_by_its_name)
{
    struct scene s = hanging(LIMITS(.max_calls = 1000, .shares = 3), default_settings());
    struct hf_client_party *token = hf_client_party_new(NULL);
    hf_client_party_set_max(token, HF_SHARED_CALLS, 5);
    struct client *a = come_as(&s, token), *b = come_as(&s, token);
    CHECK_EQ(call_many(a, 1, 3) + call_many(b, 1, 3), 5);
    CHECK(error_of(b, 3) == -31005);
    CHECK(span_has(answer_to(b, 3)->msg.text, "(limits.calls)"));
    CHECK(span_has(answer_to(b, 3)->msg.text, "5 of 5"));
    hf_client_party_unref(token);
}

/* ---- calls whose clients are gone ---- */

TEST(a_party_at_its_limit_loses_the_oldest_call_whose_client_is_gone_for_gone_ms_and_no_other)
{
    struct scene s = hanging(LIMITS(.max_calls = 16, .shares = 3), SETTINGS(.gone_ms = 30000));
    struct hf_client_party *token = hf_client_party_new(NULL);
    hf_client_party_set_max(token, HF_SHARED_CALLS, 4);
    struct client *a = come_as(&s, token), *b = come_as(&s, token), *other = come(&s, NULL);
    CHECK_EQ(call_many(other, 1, 1), 1);
    client_via_gone(other, 1);
    CHECK_EQ(call_many(a, 1, 4), 4);
    client_via_gone(a, 2);
    client_via_gone(a, 1);
    advance(s.w, 29999);
    CHECK_EQ(call_many(b, 1, 1), 0);
    advance(s.w, 1);
    CHECK_EQ(call_many(b, 2, 1), 1);
    CHECK(error_of(a, 2) == -31002 && data_is(a, 2, "reason", "\"client_gone\""));
    CHECK(answers_to(a, 1) == 0 && answers_to(a, 3) == 0 && answers_to(other, 1) == 0);
    CHECK_EQ(child_got(s.first, "notifications/cancelled"), 1);
    hf_session_via_back(a->session, 1, at(s.w->now_ms));
    CHECK_EQ(call_many(b, 3, 1), 0); /* its client has come back: nobody gives way */
    CHECK_EQ(answers_to(a, 1), 0);
    hf_client_party_unref(token);
}

/* ---- bytes, subscriptions ---- */

TEST(bytes_of_requests_are_shared_like_calls)
{
    struct scene s = hanging(LIMITS(.max_buffered_bytes = 400000, .shares = 3), default_settings());
    struct client *c = come(&s, NULL), *other = come(&s, NULL);
    char filler[10001] = "";
    memset(filler, 'x', sizeof filler - 1);
    unsigned under_way = 0;
    for (int i = 1; i <= 40; i++) {
        client_says(c,
                    "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{"
                    "\"name\":\"echo\",\"arguments\":{\"x\":\"%s\"}}}",
                    i, filler);
        under_way += answers_to(c, i) == 0;
    }
    CHECK_EQ(under_way, 27); /* 300,000 bytes, and a call costs 700 beside its text */
    CHECK(error_of(c, 40) == -31005 && data_is(c, 40, "reason", "\"max_buffered_bytes\""));
    CHECK_EQ(c->over, HF_SHARED_HELD);
    CHECK_EQ(call_many(other, 1, 1), 1);
}

/* ---- batches ---- */

TEST(a_batch_has_at_most_100_messages_and_of_a_larger_one_nothing_is_sent)
{
    for (unsigned count = 100; count <= 101; count++) {
        struct scene s = hanging(LIMITS(.shares = 3), default_settings());
        struct client *c = come(&s, NULL);
        struct hf_buf batch;
        hf_buf_init(&batch, 1 << 20);
        for (unsigned i = 0; i < count; i++)
            hf_buf_printf(&batch,
                          "%c{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"tools/call\",\"params\":{"
                          "\"name\":\"echo\"}}",
                          i ? ',' : '[', i + 1);
        hf_buf_add_str(&batch, "]");
        hf_buf_add_char(&batch, '\0');
        const unsigned owed = client_says_via(c, 7, "%s", hf_buf_span(&batch).p);
        CHECK_EQ(owed, count > 100 ? 1 : 100);
        CHECK_EQ(child_got(s.first, "tools/call"), count > 100 ? 0 : 100);
        if (count > 100)
            CHECK(span_has(answer_via(c, 7)->msg.text, "at most 100 messages"));
        hf_buf_done(&batch);
    }
}

/* ---- clients that share a session ---- */

TEST(a_message_is_counted_for_the_party_that_its_front_names)
{
    struct scene s = hanging(LIMITS(.max_calls = 16, .shares = 3), default_settings());
    struct hf_client_party *a = hf_client_party_new(NULL), *b = hf_client_party_new(NULL);
    struct client *c = come(&s, NULL);
    for (unsigned i = 1; i <= 14; i++) {
        char text[200];
        const int n = snprintf(text, sizeof text,
                               "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"tools/call\","
                               "\"params\":{\"name\":\"echo\"}}",
                               i);
        const struct hf_origin origin = { .via = i, .party = i <= 13 ? a : b };
        (void)hf_session_message_from(c->session, (struct hf_span) { text, (size_t)n }, &origin,
                                      at(s.w->now_ms));
        settle(s.w);
    }
    CHECK(error_of(c, 13) == -31005 && answers_to(c, 14) == 0);
    CHECK_EQ(hf_client_party_used(a, HF_SHARED_CALLS), 12);
    CHECK_EQ(hf_client_party_used(b, HF_SHARED_CALLS), 1);
    client_leaves(c);
    hf_client_party_unref(a);
    hf_client_party_unref(b);
}
