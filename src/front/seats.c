/* seats.c - see seats.h. */
#include "front/seats.h"
#include <assert.h>
#include "base/hex.h"
#include "base/secret.h"
#include "base/mem.h"

enum { FIRST_BUCKETS = 64 };

void hf_seats_init(struct hf_seats *seats)
{
    *seats = (struct hf_seats) { .bucket_count = FIRST_BUCKETS };
    seats->buckets = hf_new_array(struct hf_seat *, FIRST_BUCKETS);
    hf_link_init(&seats->by_use);
}

void hf_seats_done(struct hf_seats *seats)
{
    assert(seats->count == 0);
    hf_free(seats->buckets);
    seats->buckets = NULL;
}

/* Ids are random and nobody but us makes them, so their bits are as good as any hash. */
static struct hf_seat **bucket_of(const struct hf_seats *seats, const uint8_t *id)
{
    uint64_t hash;
    memcpy(&hash, id, sizeof hash);
    return &seats->buckets[hash & (seats->bucket_count - 1)];
}

static void put(struct hf_seats *seats, struct hf_seat *seat)
{
    struct hf_seat **bucket = bucket_of(seats, seat->id);
    seat->next = *bucket;
    *bucket = seat;
}

static void grow(struct hf_seats *seats)
{
    struct hf_seat **old = seats->buckets;
    const size_t old_count = seats->bucket_count;
    seats->bucket_count *= 2;
    seats->buckets = hf_new_array(struct hf_seat *, seats->bucket_count);
    for (size_t i = 0; i < old_count; i++)
        for (struct hf_seat *seat = old[i], *next; seat; seat = next) {
            next = seat->next;
            put(seats, seat);
        }
    hf_free(old);
}

void hf_seats_add(struct hf_seats *seats, struct hf_seat *seat, const uint8_t id[HF_SEAT_ID_BYTES],
                  uint64_t now_ms)
{
    if (seats->count == seats->bucket_count)
        grow(seats);
    memcpy(seat->id, id, HF_SEAT_ID_BYTES);
    hf_link_init(&seat->link);
    put(seats, seat);
    seats->count++;
    hf_seats_touch(seats, seat, now_ms);
}

void hf_seats_remove(struct hf_seats *seats, struct hf_seat *seat)
{
    struct hf_seat **at = bucket_of(seats, seat->id);
    while (*at != seat)
        at = &(*at)->next;
    *at = seat->next;
    hf_unlink(&seat->link);
    seats->count--;
}

void hf_seats_touch(struct hf_seats *seats, struct hf_seat *seat, uint64_t now_ms)
{
    seat->used_ms = now_ms;
    hf_unlink(&seat->link);
    hf_list_push(&seats->by_use, &seat->link);
}

struct hf_seat *hf_seats_find(const struct hf_seats *seats, struct hf_span text)
{
    uint8_t id[HF_SEAT_ID_BYTES];
    if (!hf_hex_read(text, id, sizeof id))
        return NULL;
    struct hf_seat *seat = *bucket_of(seats, id);
    while (seat && !hf_secret_same(seat->id, id, sizeof id))
        seat = seat->next;
    return seat;
}

void hf_seat_id_text(const struct hf_seat *seat, char ret_text[HF_SEAT_ID_TEXT + 1])
{
    hf_hex_write(seat->id, HF_SEAT_ID_BYTES, ret_text);
}
