/* events.c - see events.h. */
#include "front/events.h"
#include <stdio.h>
#include "wire/jsonrpc.h"

enum {
    RETRY_MS = 1000, /* long enough for a proxy in between to come back, short for a person */
    HEAD_MAX = 80,   /* "event: message\nid: …\ndata: " with two 64-bit numbers */
};

void hf_events_init(struct hf_events *events)
{
    *events = (struct hf_events) { 0 };
    hf_link_init(&events->list);
}

static size_t size_of(const struct hf_event *event)
{
    return sizeof *event + event->length;
}

static void drop_oldest(struct hf_events *events)
{
    struct hf_event *oldest = HF_ITEM(events->list.next, struct hf_event, link);
    hf_unlink(&oldest->link);
    events->bytes -= size_of(oldest);
    events->count--;
    hf_free(oldest);
}

void hf_events_clear(struct hf_events *events)
{
    while (events->count)
        drop_oldest(events);
}

static struct hf_event *make(struct hf_span head, const struct hf_span *pieces,
                             unsigned piece_count)
{
    size_t length = head.n + 2;
    for (unsigned i = 0; i < piece_count; i++)
        length += pieces[i].n;
    struct hf_event *event = hf_realloc(NULL, sizeof *event + length);
    hf_link_init(&event->link);
    event->number = 0;
    event->length = length;
    memcpy(event->text, head.p, head.n);
    char *data = event->text + head.n, *at = data;
    for (unsigned i = 0; i < piece_count; at += pieces[i++].n)
        if (pieces[i].n)
            memcpy(at, pieces[i].p, pieces[i].n);
    hf_msg_to_one_line(data, (size_t)(at - data));
    at[0] = at[1] = '\n';
    return event;
}

struct hf_event *hf_event_new(const struct hf_span *pieces, unsigned piece_count)
{
    return make(HF_SPAN("event: message\ndata: "), pieces, piece_count);
}

struct hf_span hf_events_add(struct hf_events *events, uint64_t stream,
                             const struct hf_span *pieces, unsigned piece_count)
{
    char head[HEAD_MAX];
    const uint64_t number = ++events->last;
    const int n = snprintf(head, sizeof head,
                           "event: message\nid: %llx.%llu\ndata: ", (unsigned long long)stream,
                           (unsigned long long)number);
    struct hf_event *event = make((struct hf_span) { head, (size_t)n }, pieces, piece_count);
    event->number = number;
    hf_list_push(&events->list, &event->link);
    events->bytes += size_of(event);
    events->count++;
    while (events->count > 1 &&
           (events->count > HF_EVENTS_MAX || events->bytes > HF_EVENTS_BYTES_MAX))
        drop_oldest(events);
    return hf_event_span(event);
}

const struct hf_event *hf_events_after(const struct hf_events *events, uint64_t number)
{
    const struct hf_event *event;
    HF_LIST_EACH (event, &events->list, struct hf_event, link) {
        if (event->number > number)
            return event;
    }
    return NULL;
}

struct hf_span hf_event_prime(char room[HF_PRIMING_SIZE], uint64_t stream, uint64_t number)
{
    const int n = snprintf(room, HF_PRIMING_SIZE, "id: %llx.%llu\nretry: %d\ndata: \n\n",
                           (unsigned long long)stream, (unsigned long long)number, RETRY_MS);
    return (struct hf_span) { room, (size_t)n };
}

/* Digits of that base up to the end or to `stop`; false if there are none or too many. */
static bool take_number(struct hf_span *text, unsigned base, uint64_t *ret)
{
    size_t n = 0;
    *ret = 0;
    for (; n < text->n && n < 16; n++) {
        const char c = text->p[n];
        const unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                               : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                      : base;
        if (digit >= base)
            break;
        *ret = *ret * base + digit;
    }
    *text = hf_span_from(*text, n);
    return n > 0;
}

bool hf_event_id_read(struct hf_span text, uint64_t *ret_stream, uint64_t *ret_number)
{
    if (!take_number(&text, 16, ret_stream) || !hf_span_starts(text, HF_SPAN(".")))
        return false;
    text = hf_span_from(text, 1);
    return take_number(&text, 10, ret_number) && text.n == 0;
}
