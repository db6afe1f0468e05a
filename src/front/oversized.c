/* oversized.c - an answer that its client cannot be given without being cut off is replaced by an
 * error that says so. See http_parts.h. */
#include "front/http_parts.h"
#include "wire/json.h"

enum { SMALL = 16 * 1024 }; /* an answer of this size is always sent */

/* Whether the answer fits into the buffer for a client that has yet to read earlier bytes. The
 * other answers of a batch keep room for at least an error each. */
static bool fits(const struct hf_reply_stream *stream, const struct hf_effect *effect)
{
    const size_t others = stream->array ? stream->owed * (size_t)HF_OVERSIZED_MAX : 0;
    size_t length = HF_OVERSIZED_MAX; /* for what is written around the answer */
    for (unsigned i = 0; i < effect->piece_count; i++)
        length += effect->pieces[i].n;
    const size_t room = hf_exchange_room(stream->exchange),
                 taken = stream->session->front->array_bytes;
    return length <= HF_OVERSIZED_MAX + SMALL || length + others + taken <= room;
}

static void write_oversized(const struct hf_effect *answer, struct hf_oversized *room)
{
    const struct hf_error_facts facts = {
        .sentence = HF_SPAN("The request was answered, but the answer does not fit into what "
                            "holdfast may hold for its clients (maxBufferedBytes) and was "
                            "dropped. If it was a call it has run: check its effect before "
                            "sending it again."),
        .reason = HF_SPAN("max_buffered_bytes"),
        .evidence = HF_EVIDENCE_DISPATCHED,
        .retry_after_ms = -1,
    };
    struct hf_json_skim skim;
    hf_json_skim_init(&skim);
    for (unsigned i = 0; i < answer->piece_count; i++)
        hf_json_skim_feed(&skim, answer->pieces[i]);
    const struct hf_span id = hf_json_skim_id(&skim);
    struct hf_buf text;
    hf_buf_init(&text, HF_OVERSIZED_MAX);
    hf_buf_add_str(&text, "{\"jsonrpc\":\"2.0\",\"id\":");
    hf_buf_add(&text, id.n ? id : HF_SPAN("null"));
    hf_error_write(&text, HF_ERROR_RESULT_TOO_LARGE, &facts, answer->failure_form);
    room->effect = *answer;
    room->effect.pieces[0] = (struct hf_span) { room->text, hf_buf_len(&text) };
    room->effect.piece_count = 1;
    room->effect.error_code =
        answer->failure_form == HF_AS_ERROR ? hf_error_code(HF_ERROR_RESULT_TOO_LARGE) : 0;
    memcpy(room->text, text.p, hf_buf_len(&text));
    hf_buf_done(&text);
}

const struct hf_effect *hf_reply_stream_fit(const struct hf_reply_stream *stream,
                                            const struct hf_effect *answer,
                                            struct hf_oversized *room)
{
    if (!stream->exchange || fits(stream, answer))
        return answer;
    write_oversized(answer, room);
    return &room->effect;
}
