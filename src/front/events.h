/*
 * events.h - events of one stream, kept so that they can be sent again to a client that comes back
 * with a Last-Event-ID.
 *
 * An event is held as the bytes that go out: its id (STREAM.NUMBER), one data line, an empty line.
 * Never does I/O.
 *
 * 1. The numbers of a stream grow by one, from 1. Number 0 is the priming event: it has no data,
 *    only gives the client an id to come back with, and is not kept.
 * 2. A stream over its bounds drops its oldest events first, and never the newest one, which holds
 *    the answer.
 */
#ifndef HF_FRONT_EVENTS_H
#define HF_FRONT_EVENTS_H

#include <stdint.h>
#include "base/list.h"
#include "base/mem.h"
#include "base/span.h"

enum { HF_EVENTS_MAX = 256, HF_EVENTS_BYTES_MAX = 1024 * 1024 };

struct hf_event {
    struct hf_link link;
    uint64_t number;
    size_t length;
    char text[];
};

struct hf_events {
    struct hf_link list; /* oldest first */
    uint64_t last;       /* number of the newest; 0: none yet */
    size_t bytes;        /* of memory, for those that are kept */
    unsigned count;
};

void hf_events_init(struct hf_events *events);
void hf_events_clear(struct hf_events *events); /* numbering continues */

/* One message as an event without an id, in no list; the caller frees it. Newlines between JSON
 * tokens become spaces, so that the data is one line. */
struct hf_event *hf_event_new(const struct hf_span *pieces, unsigned piece_count);
/* One message as the next event of `stream`. The returned text is valid until the next add or
 * clear. */
struct hf_span hf_events_add(struct hf_events *events, uint64_t stream,
                             const struct hf_span *pieces, unsigned piece_count);
/* The first kept event with a larger number, or NULL. */
const struct hf_event *hf_events_after(const struct hf_events *events, uint64_t number);

static inline struct hf_span hf_event_span(const struct hf_event *event)
{
    return (struct hf_span) { event->text, event->length };
}

enum { HF_PRIMING_SIZE = 80 };
/* The priming event of `stream`, after `number`, with how long to wait before coming back. */
struct hf_span hf_event_prime(char room[HF_PRIMING_SIZE], uint64_t stream, uint64_t number);

/* Reads a client's Last-Event-ID; false: it does not have our form. */
HF_MUST_CHECK bool hf_event_id_read(struct hf_span text, uint64_t *ret_stream,
                                    uint64_t *ret_number);

#endif
