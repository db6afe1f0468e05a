/* test_given.c - answers that a modern request brought along before its legacy server asked. */
#include "engine_fixture.h"

#define META                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{},\"roots\":{}}}"
#define ASK_NAME                                                                                   \
    "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"elicitation/create\",\"params\":{\"message\":" \
    "\"Name?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":"       \
    "\"string\"}},\"required\":[\"name\"]}}}"

static bool was_told(const struct child *child, const char *part)
{
    for (size_t i = 0; i < child->got.count; i++)
        if (!child->got.items[i].msg.method.p && span_has(child->got.items[i].msg.text, part))
            return true;
    return false;
}

/* A modern call with these `inputResponses`, whose server then asks for a name. */
static struct client *call_with(struct scene *s, const char *responses)
{
    *s = scene();
    struct client *modern = open_client(s->w, s->server);
    client_says(modern,
                "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":"
                "\"one\",\"inputResponses\":%s," META "}}",
                responses);
    settle(s->w);
    child_says(s->first, "%s", ASK_NAME);
    settle(s->w);
    return modern;
}

TEST(a_question_that_exactly_one_answer_brought_along_fits_is_answered_with_it)
{
    struct scene s;
    const struct client *modern = call_with(
        &s, "{\"a\":{\"action\":\"accept\",\"content\":{\"x\":1}},"
            "\"b\":{\"action\":\"accept\",\"content\":{\"name\":\"Ann\"}},\"c\":{\"roots\":[]}}");
    CHECK(was_told(s.first, "\"id\":\"q\",\"result\":{\"action\":\"accept\",\"content\":{\"name\":"
                            "\"Ann\"}}"));
    advance(s.w, 1000);
    CHECK_EQ(answers_to(modern, 5), 0); /* nobody had to be asked: the call goes on */
}

TEST(an_answer_brought_along_is_used_once_and_the_same_question_again_goes_to_the_client)
{
    struct scene s;
    const struct client *modern =
        call_with(&s, "{\"b\":{\"action\":\"accept\",\"content\":{\"name\":\"Ann\"}}}");
    child_says(s.first, "%s", ASK_NAME);
    settle(s.w);
    advance(s.w, 1000);
    CHECK(answers_to(modern, 5) == 1 && span_has(answer_to(modern, 5)->msg.text, "input_required"));
}

TEST(where_no_answer_or_more_than_one_fits_the_client_is_asked)
{
    static const char *const unfit[] = {
        "{}",
        "{\"a\":{\"action\":\"decline\"}}",
        "{\"a\":{\"action\":\"accept\",\"content\":{\"x\":1}}}",
        "{\"a\":{\"action\":\"accept\",\"content\":{\"name\":\"A\"}},"
        "\"b\":{\"action\":\"accept\",\"content\":{\"name\":\"B\"}}}",
    };
    for (size_t i = 0; i < sizeof unfit / sizeof *unfit; i++) {
        struct scene s;
        const struct client *modern = call_with(&s, unfit[i]);
        advance(s.w, 1000);
        CHECK(!was_told(s.first, "\"id\":\"q\""));
        CHECK(answers_to(modern, 5) == 1 &&
              span_has(answer_to(modern, 5)->msg.text, "input_required"));
        world_end(s.w);
    }
}
