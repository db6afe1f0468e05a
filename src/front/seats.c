/* seats.c - see seats.h. */
#include "front/seats.h"
#include <assert.h>
#include "base/hex.h"
#include "base/secret.h"

void hf_seats_init(struct hf_seats *seats, const struct hf_map_key *key)
{
    hf_map_init(&seats->by_id, key);
    hf_link_init(&seats->by_use);
}

void hf_seats_done(struct hf_seats *seats)
{
    assert(hf_seats_count(seats) == 0);
    hf_map_done(&seats->by_id);
}

static uint64_t hash_of(const struct hf_seats *seats, const uint8_t *id)
{
    return hf_map_hash(&seats->by_id, 0, (struct hf_span) { (const char *)id, HF_SEAT_ID_BYTES });
}

void hf_seats_add(struct hf_seats *seats, struct hf_seat *seat, const uint8_t id[HF_SEAT_ID_BYTES],
                  uint64_t now_ms)
{
    memcpy(seat->id, id, HF_SEAT_ID_BYTES);
    hf_link_init(&seat->link);
    hf_map_add(&seats->by_id, &seat->in_map, hash_of(seats, id));
    hf_seats_touch(seats, seat, now_ms);
}

void hf_seats_remove(struct hf_seats *seats, struct hf_seat *seat)
{
    hf_map_remove(&seats->by_id, &seat->in_map);
    hf_unlink(&seat->link);
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
    struct hf_seat *seat;
    HF_MAP_EACH(seat, &seats->by_id, hash_of(seats, id), struct hf_seat, in_map)
    {
        if (hf_secret_same(seat->id, id, sizeof id))
            return seat;
    }
    return NULL;
}

void hf_seat_id_text(const struct hf_seat *seat, char ret_text[HF_SEAT_ID_TEXT + 1])
{
    hf_hex_write(seat->id, HF_SEAT_ID_BYTES, ret_text);
}
