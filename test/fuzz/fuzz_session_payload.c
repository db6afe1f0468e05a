/*
 * fuzz_session_payload.c - what is read of a session can be written, and is then read as the same.
 */
#include "fuzz/fuzz.h"
#include "store/session_payload.h"

enum { ROOM = 32 << 20 };

static void check_same(const struct hf_session_payload *a, const struct hf_session_payload *b)
{
    MUST(hf_span_eq(a->version, b->version) && hf_span_eq(a->hello, b->hello));
    MUST(hf_span_eq(a->log_level, b->log_level));
    MUST(a->subscription_count == b->subscription_count && a->name_count == b->name_count);
    for (size_t i = 0; i < a->subscription_count; i++)
        MUST(hf_span_eq(a->subscriptions[i], b->subscriptions[i]));
    for (size_t i = 0; i < a->name_count; i++) {
        MUST(hf_span_eq(a->names[i].given, b->names[i].given));
        MUST(hf_span_eq(a->names[i].server, b->names[i].server));
        MUST(hf_span_eq(a->names[i].own, b->names[i].own));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hf_session_payload first, again;
    struct hf_buf text;
    if (!hf_session_payload_read((struct hf_span) { (const char *)data, size }, &first))
        return 0;
    hf_buf_init(&text, ROOM);
    MUST(hf_session_payload_write(&first, &text));
    MUST(hf_session_payload_read(hf_buf_span(&text), &again));
    check_same(&first, &again);
    hf_session_payload_done(&first);
    hf_session_payload_done(&again);
    hf_buf_done(&text);
    return 0;
}
