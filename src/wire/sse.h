/*
 * sse.h - event streams (text/event-stream), resumable at any byte, with a limit.
 *
 * Data lines of one event are joined by newlines. An event over the limit is not stored: its data
 * runs through the JSON skimmer, and it is reported once with the id found in it. An event that the
 * end of the stream cuts off is none, unless its data is a complete JSON text: then only the blank
 * line is missing. Never does I/O.
 *
 * 1. What comes out does not depend on where the input was cut.
 * 2. The id of an event counts when the event is whole, not before: who resumes behind an event
 *    that he never got would lose it.
 */
#ifndef HF_WIRE_SSE_H
#define HF_WIRE_SSE_H

#include "base/buf.h"
#include "wire/json.h"

enum hf_sse_kind {
    HF_SSE_NONE,  /* feed more */
    HF_SSE_EVENT, /* a whole one; its spans are good until the next call */
    HF_SSE_OVER,  /* its data was over the limit; hf_sse_over() says whose it was */
};

struct hf_sse_event {
    struct hf_span name; /* "message" if none was given */
    struct hf_span data; /* n == 0: an event that only carries an id (priming); n == 0 if OVER */
    struct hf_span id;   /* the stream's last event id so far; p NULL: none, or one too long */
    int64_t retry_ms;    /* as last said by the server; -1: never */
};

struct hf_sse; /* see sse.c for its parts; embed by pointer */

struct hf_sse *hf_sse_new(size_t event_max);
void hf_sse_free(struct hf_sse *sse); /* NULL accepted */
/* Takes from the front of `*bytes` until one event is whole or all bytes are taken. Unlike browsers
 * it also reports events without data when they carry an id or a retry: they make a stream
 * resumable. `ret` is filled for OVER too, and untouched for NONE. */
enum hf_sse_kind hf_sse_next(struct hf_sse *sse, struct hf_span *bytes, struct hf_sse_event *ret);
/* The data of the event that has begun and not ended, if it is a complete JSON text; else n == 0.
 */
struct hf_span hf_sse_begun(const struct hf_sse *sse);
/* The stream has ended: what it ended in, if that counts as an event. Never OVER. */
enum hf_sse_kind hf_sse_end(struct hf_sse *sse, struct hf_sse_event *ret);
/* Whether nothing was begun that has not been told: only then has a stream said all it wanted. */
bool hf_sse_is_between(const struct hf_sse *sse);
const struct hf_json_skim *hf_sse_over(const struct hf_sse *sse); /* after HF_SSE_OVER */

#endif
