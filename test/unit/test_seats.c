/* test_seats.c - sessions are found by their whole id and ordered by their last use. */
#include "front/seats.h"
#include "test.h"

static const struct hf_map_key key = { { 1, 2 } };

static void make_id(uint8_t id[HF_SEAT_ID_BYTES], unsigned number)
{
    for (unsigned i = 0; i < HF_SEAT_ID_BYTES; i++)
        id[i] = (uint8_t)(number >> (8 * (i % 4)) ^ 37 * i);
}

static struct hf_seat *find(const struct hf_seats *seats, const struct hf_seat *like)
{
    char text[HF_SEAT_ID_TEXT + 1];
    hf_seat_id_text(like, text);
    return hf_seats_find(seats, hf_span_of(text));
}

TEST(every_seat_is_found_however_many_there_are_and_none_that_left)
{
    enum { COUNT = 1000 };
    static struct hf_seat seat[COUNT];
    struct hf_seats seats;
    uint8_t id[HF_SEAT_ID_BYTES];
    hf_seats_init(&seats, &key);
    for (unsigned i = 0; i < COUNT; i++) {
        make_id(id, i);
        hf_seats_add(&seats, &seat[i], id, i);
    }
    CHECK_EQ(hf_seats_count(&seats), COUNT);
    for (unsigned i = 0; i < COUNT; i++)
        CHECK(find(&seats, &seat[i]) == &seat[i]);
    for (unsigned i = 0; i < COUNT; i += 2)
        hf_seats_remove(&seats, &seat[i]);
    for (unsigned i = 0; i < COUNT; i++)
        CHECK_EQ(find(&seats, &seat[i]), i % 2 ? &seat[i] : NULL);
    for (unsigned i = 1; i < COUNT; i += 2)
        hf_seats_remove(&seats, &seat[i]);
    CHECK(hf_seats_count(&seats) == 0 && hf_list_empty(&seats.by_use));
    hf_seats_done(&seats);
}

TEST(an_id_that_differs_in_one_digit_or_in_length_is_another)
{
    struct hf_seat seat;
    struct hf_seats seats;
    uint8_t id[HF_SEAT_ID_BYTES];
    char text[HF_SEAT_ID_TEXT + 1];
    hf_seats_init(&seats, &key);
    make_id(id, 0xabcdef);
    hf_seats_add(&seats, &seat, id, 0);
    hf_seat_id_text(&seat, text);
    CHECK(hf_seats_find(&seats, hf_span_of(text)) == &seat);
    for (unsigned i = 0; i < HF_SEAT_ID_TEXT; i++) {
        const char was = text[i];
        text[i] = was == '0' ? '1' : '0';
        CHECK(!hf_seats_find(&seats, hf_span_of(text)));
        text[i] = 'x';
        CHECK(!hf_seats_find(&seats, hf_span_of(text)));
        text[i] = was;
        CHECK(!hf_seats_find(&seats, (struct hf_span) { text, i }));
    }
    CHECK(!hf_seats_find(&seats, (struct hf_span) { text, sizeof text }));
    hf_seats_remove(&seats, &seat);
    hf_seats_done(&seats);
}

TEST(the_longest_unused_seat_is_first)
{
    struct hf_seat seat[3];
    struct hf_seats seats;
    uint8_t id[HF_SEAT_ID_BYTES];
    hf_seats_init(&seats, &key);
    for (unsigned i = 0; i < 3; i++) {
        make_id(id, i);
        hf_seats_add(&seats, &seat[i], id, 10 + i);
    }
    hf_seats_touch(&seats, &seat[0], 20);
    CHECK(seats.by_use.next == &seat[1].link && seats.by_use.prev == &seat[0].link);
    CHECK(seat[0].used_ms == 20 && seat[1].used_ms == 11);
    hf_seats_remove(&seats, &seat[1]);
    CHECK(seats.by_use.next == &seat[2].link);
    hf_seats_remove(&seats, &seat[0]);
    hf_seats_remove(&seats, &seat[2]);
    hf_seats_done(&seats);
}
