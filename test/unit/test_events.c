/* test_events.c - what a stream said can be said again, within bounds. */
#include "front/events.h"
#include "test.h"

static struct hf_span add(struct hf_events *events, const char *text)
{
    const struct hf_span piece = hf_span_of(text);
    return hf_events_add(events, 0x2a, &piece, 1);
}

TEST(an_event_is_an_id_one_data_line_and_an_empty_line)
{
    struct hf_events events;
    hf_events_init(&events);
    const struct hf_span pieces[] = { HF_SPAN("{\"id\":"), HF_SPAN("7"), HF_SPAN("}") };
    CHECK_SPAN(hf_events_add(&events, 0x2a, pieces, 3),
               "event: message\nid: 2a.1\ndata: {\"id\":7}\n\n");
    CHECK_SPAN(add(&events, "{}"), "event: message\nid: 2a.2\ndata: {}\n\n");
    hf_events_clear(&events);
}

TEST(a_newline_between_tokens_does_not_end_the_data)
{
    struct hf_events events;
    hf_events_init(&events);
    CHECK_SPAN(add(&events, "{\r\n\"a\":\n1}"), "event: message\nid: 2a.1\ndata: {  \"a\": 1}\n\n");
    const struct hf_span piece = HF_SPAN("{\n}");
    struct hf_event *plain = hf_event_new(&piece, 1);
    CHECK_SPAN(hf_event_span(plain), "event: message\ndata: { }\n\n");
    hf_free(plain);
    hf_events_clear(&events);
}

TEST(who_comes_back_gets_what_is_behind_his_last_event)
{
    struct hf_events events;
    hf_events_init(&events);
    CHECK_EQ(hf_events_after(&events, 0), NULL);
    for (unsigned i = 0; i < 5; i++)
        (void)add(&events, "{}");
    for (uint64_t last = 0; last < 5; last++) {
        const struct hf_event *next = hf_events_after(&events, last);
        REQUIRE(next);
        CHECK_EQ(next->number, last + 1);
    }
    CHECK_EQ(hf_events_after(&events, 5), NULL);
    CHECK_EQ(hf_events_after(&events, UINT64_MAX), NULL);
    hf_events_clear(&events);
}

TEST(numbers_go_on_after_a_clear)
{
    struct hf_events events;
    hf_events_init(&events);
    (void)add(&events, "{}");
    hf_events_clear(&events);
    CHECK(events.bytes == 0 && events.count == 0 && events.last == 1);
    (void)add(&events, "{}");
    CHECK_EQ(hf_events_after(&events, 0)->number, 2);
    hf_events_clear(&events);
}

TEST(the_oldest_events_go_first_and_the_newest_stays_however_large)
{
    struct hf_events events;
    hf_events_init(&events);
    for (unsigned i = 0; i < HF_EVENTS_MAX + 10; i++)
        (void)add(&events, "{}");
    CHECK_EQ(events.count, HF_EVENTS_MAX);
    CHECK_EQ(hf_events_after(&events, 0)->number, 11);

    char *large = hf_alloc(HF_EVENTS_BYTES_MAX + 1);
    memset(large, 'x', HF_EVENTS_BYTES_MAX);
    const struct hf_span sent = add(&events, large);
    CHECK(sent.n > HF_EVENTS_BYTES_MAX);
    CHECK(events.count == 1 && events.bytes == sent.n + sizeof(struct hf_event));
    CHECK_EQ(hf_events_after(&events, 0)->number, HF_EVENTS_MAX + 11);
    (void)add(&events, "{}");
    CHECK(events.count == 1 && events.bytes < 200);
    hf_free(large);
    hf_events_clear(&events);
}

TEST(an_id_is_read_as_it_was_written_and_nothing_else_is)
{
    uint64_t stream, number;
    CHECK(hf_event_id_read(HF_SPAN("0.0"), &stream, &number) && stream == 0 && number == 0);
    CHECK(hf_event_id_read(HF_SPAN("2af.17"), &stream, &number) && stream == 0x2af && number == 17);
    CHECK(hf_event_id_read(HF_SPAN("ffffffffffffffff.1"), &stream, &number) &&
          stream == UINT64_MAX);
    static const char *const wrong[] = { "",
                                         ".",
                                         "1",
                                         "1.",
                                         ".1",
                                         "1.a",
                                         "g.1",
                                         "1.1 ",
                                         " 1.1",
                                         "A.",
                                         "1.1.1",
                                         "-1.1",
                                         "1.-1",
                                         "1,1",
                                         "1.99999999999999999",
                                         "11111111111111111.1" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(!hf_event_id_read(hf_span_of(wrong[i]), &stream, &number));
}

TEST(a_priming_event_gives_an_id_and_a_delay_and_says_nothing)
{
    char room[HF_PRIMING_SIZE];
    CHECK_SPAN(hf_event_prime(room, 0x2a, 3), "id: 2a.3\nretry: 1000\ndata: \n\n");
    CHECK(hf_event_prime(room, UINT64_MAX, UINT64_MAX).n < HF_PRIMING_SIZE);
}
