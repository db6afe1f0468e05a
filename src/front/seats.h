/*
 * seats.h - sessions of HTTP clients, found by their ids and ordered by when they were last used.
 *
 * A seat lives in its session. Ids are 192 random bits, given from outside, so that tests choose
 * them; a client writes them in hex. Never allocates but for the map, never reads a clock.
 *
 * 1. A look-up takes a time that says nothing about how much of an id was right: the map's hash is
 *    keyed, and all bits are compared in a time that does not depend on where they differ.
 * 2. The list of all seats is in the order of their last use, longest ago first.
 */
#ifndef HF_FRONT_SEATS_H
#define HF_FRONT_SEATS_H

#include <stdint.h>
#include "base/list.h"
#include "base/map.h"
#include "base/span.h"

enum { HF_SEAT_ID_BYTES = 24, HF_SEAT_ID_TEXT = 2 * HF_SEAT_ID_BYTES };

struct hf_seat {
    struct hf_link link; /* in seats->by_use */
    struct hf_map_node in_map;
    uint64_t used_ms;
    uint8_t id[HF_SEAT_ID_BYTES];
};

struct hf_seats {
    struct hf_map by_id;
    struct hf_link by_use;
};

void hf_seats_init(struct hf_seats *seats, const struct hf_map_key *key); /* random */
void hf_seats_done(struct hf_seats *seats);                               /* of no seats any more */

void hf_seats_add(struct hf_seats *seats, struct hf_seat *seat, const uint8_t id[HF_SEAT_ID_BYTES],
                  uint64_t now_ms);
void hf_seats_remove(struct hf_seats *seats, struct hf_seat *seat);
void hf_seats_touch(struct hf_seats *seats, struct hf_seat *seat, uint64_t now_ms);
struct hf_seat *hf_seats_find(const struct hf_seats *seats, struct hf_span text);

static inline size_t hf_seats_count(const struct hf_seats *seats)
{
    return seats->by_id.count;
}
void hf_seat_id_text(const struct hf_seat *seat, char ret_text[HF_SEAT_ID_TEXT + 1]);

#endif
