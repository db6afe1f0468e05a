/* test_session_payload.c - what is kept of a client session is read as it was written. */
#include "store/session_payload.h"
#include "test.h"

enum { ROOM = 8 << 20 };

TEST(a_session_is_read_as_it_was_written)
{
    struct hf_span subscriptions[] = { HF_SPAN("a://\"b\""), HF_SPAN("c\n\xc3\xa4") };
    struct hf_given_name names[] = { { HF_SPAN("s__x"), HF_SPAN("s"), HF_SPAN("x") },
                                     { HF_SPAN("t__y"), HF_SPAN("t"), HF_SPAN("") } };
    const struct hf_session_payload wanted = {
        .version = HF_SPAN("2025-06-18"),
        .hello = HF_SPAN("{\"capabilities\":{\"roots\":{}},\"clientInfo\":{\"name\":\"c\"}}"),
        .log_level = HF_SPAN("warning"),
        .subscriptions = subscriptions,
        .names = names,
        .subscription_count = 2,
        .name_count = 2,
    };
    struct hf_session_payload got;
    struct hf_buf text;
    hf_buf_init(&text, ROOM);
    REQUIRE(hf_session_payload_write(&wanted, &text));
    REQUIRE(hf_session_payload_read(hf_buf_span(&text), &got));
    CHECK(hf_span_eq(got.version, wanted.version) && hf_span_eq(got.hello, wanted.hello) &&
          hf_span_eq(got.log_level, wanted.log_level));
    REQUIRE(got.subscription_count == 2 && got.name_count == 2);
    for (size_t i = 0; i < 2; i++) {
        CHECK(hf_span_eq(got.subscriptions[i], subscriptions[i]));
        CHECK(hf_span_eq(got.names[i].given, names[i].given) &&
              hf_span_eq(got.names[i].server, names[i].server) &&
              hf_span_eq(got.names[i].own, names[i].own));
    }
    hf_session_payload_done(&got);
    hf_buf_done(&text);
}

TEST(what_is_missing_is_empty_and_what_is_not_known_is_passed_over)
{
    struct hf_session_payload got;
    REQUIRE(hf_session_payload_read(HF_SPAN("{\"v\":1,\"later\":[1,{}]}"), &got));
    CHECK(got.version.n == 0 && got.hello.n == 0 && got.log_level.n == 0);
    CHECK(got.subscription_count == 0 && got.name_count == 0);
    hf_session_payload_done(&got);
    REQUIRE(hf_session_payload_read(HF_SPAN("{\"v\":1,\"names\":[[\"a\",\"b\",\"c\",4]]}"), &got));
    CHECK_EQ(got.name_count, 1);
    hf_session_payload_done(&got);
}

TEST(a_text_that_is_none_is_refused_whole)
{
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "{}",
        "{\"v\":2}",
        "{\"v\":\"1\"}",
        "{\"v\":1,\"version\":1}",
        "{\"v\":1,\"hello\":[]}",
        "{\"v\":1,\"logLevel\":null}",
        "{\"v\":1,\"subscriptions\":{}}",
        "{\"v\":1,\"subscriptions\":[1]}",
        "{\"v\":1,\"names\":[\"a\"]}",
        "{\"v\":1,\"names\":[[\"a\",\"b\"]]}",
        "{\"v\":1,\"names\":[[\"a\",\"b\",3]]}",
        "{\"v\":1,\"v\":1}",
    };
    struct hf_session_payload got;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        CHECK(!hf_session_payload_read(hf_span_of(texts[i]), &got));
}

TEST(a_session_that_would_be_too_long_is_not_written)
{
    char *uri = hf_alloc(HF_SESSION_PAYLOAD_MAX);
    struct hf_span subscription = { uri, HF_SESSION_PAYLOAD_MAX / 6 };
    const struct hf_session_payload payload = { .subscriptions = &subscription,
                                                .subscription_count = 1 };
    struct hf_buf text;
    hf_buf_init(&text, ROOM);
    CHECK(!hf_session_payload_write(&payload, &text));
    CHECK_EQ(hf_buf_len(&text), 0);
    hf_buf_done(&text);
    hf_free(uri);
}
