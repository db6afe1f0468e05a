/* frame.c - the bytes of a request on their way into a server's stdin.
 *
 * A frame is made of spans into the client's own text, with our id (and, where they differ, the
 * server's own name and our progress token) in the place of the client's. Nothing is copied, and
 * the offsets at which a frame enters the pipe are what evidence is made of. */
#include "core/call/party.h"
#include "core/call/frame.h"
#include "core/call/call.h"
#include <assert.h>
#include <string.h>
#include "core/machine/evidence.h"
#include "core/outbox.h"
#include "core/state/call.h"
#include "core/state/runtime.h"
#include "core/state/session.h"

static_assert(2 * HF_CUTS_MAX + 1 <= HF_PIECES_MAX, "a rewritten frame has room for its pieces");

static void add_piece(struct hf_frame *frame, struct hf_span piece)
{
    if (piece.n == 0)
        return;
    frame->pieces[frame->count++] = piece;
    frame->length += piece.n;
}

/* Cuts are few; they are kept in the order of the text. */
void hf_call_cut(struct hf_call *call, struct hf_span span, struct hf_span by)
{
    assert(call->cut_count < sizeof call->cuts / sizeof *call->cuts);
    assert(span.p >= call->text && span.p + span.n <= call->text + call->text_length);
    const size_t at = (size_t)(span.p - call->text);
    unsigned i = call->cut_count++;
    for (; i > 0 && call->cuts[i - 1].at > at; i--)
        call->cuts[i] = call->cuts[i - 1];
    call->cuts[i] = (struct hf_cut) { at, span.n, by };
}

void hf_call_weigh(struct hf_call *call, size_t before, size_t now)
{
    assert(call->held >= before);
    call->held += now - before;
    hf_party_give(call->engine, call->party, HF_SHARED_HELD, before);
    hf_party_take(call->engine, call->party, HF_SHARED_HELD, now);
}

/* For a modern server, a legacy client's request gets the introduction that it lacks, made of the
 * params of the client's initialize. */
static void dress(struct hf_call *call)
{
    const struct hf_session *session = call->session;
    const struct hf_span params = hf_span_of(session->initialize_params);
    struct hf_buf meta = hf_draft();
    struct hf_call_eras *eras = hf_call_eras(call);
    const size_t before = hf_era_weight(eras->inserts);
    hf_era_undress(eras->inserts);
    hf_era_add_meta(&meta,
                    params.p ? hf_json_get(params, HF_SPAN("clientInfo")) : (struct hf_span) { 0 },
                    session->capabilities, hf_span_of(session->log_level));
    hf_era_dress((struct hf_span) { call->text, call->text_length }, hf_buf_span(&meta),
                 hf_span_of(eras->extra), eras->inserts);
    hf_call_weigh(call, before, hf_era_weight(eras->inserts));
    hf_buf_done(&meta);
}

/* For a legacy server, a modern client's request loses the introduction that it brought. */
static void strip(struct hf_call *call)
{
    struct hf_call_eras *eras = hf_call_eras(call);
    const size_t before = hf_era_weight(eras->inserts);
    hf_era_undress(eras->inserts);
    hf_era_strip((struct hf_span) { call->text, call->text_length }, call->token,
                 hf_call_digits(call), eras->inserts);
    hf_call_weigh(call, before, hf_era_weight(eras->inserts));
}

/* All replacements on the way out, in the order of the text. */
static unsigned collect_cuts(const struct hf_call *call, bool is_dressed,
                             struct hf_cut cuts[HF_CUTS_MAX])
{
    unsigned count = 0, next = 0;
    size_t done = 0; /* up to here the text is replaced already */
    for (unsigned i = 0; i <= call->cut_count; i++) {
        const size_t at = i < call->cut_count ? call->cuts[i].at : call->text_length;
        for (; is_dressed && next < HF_INSERTS_MAX && call->eras->inserts[next].at <= at; next++) {
            const struct hf_insert *insert = &call->eras->inserts[next];
            if (!insert->bytes)
                continue;
            cuts[count++] =
                (struct hf_cut) { insert->at, insert->replaces, { insert->bytes, insert->length } };
            done = insert->at + insert->replaces;
        }
        if (i < call->cut_count && at >= done)
            cuts[count++] = call->cuts[i];
    }
    return count;
}

void hf_frame_build(struct hf_call *call)
{
    struct hf_frame *frame = &call->frame;
    frame->call = call;
    frame->count = 0;
    frame->length = frame->sent = 0;
    size_t from = 0;
    struct hf_cut cuts[HF_CUTS_MAX];
    const bool is_dressed = call->session && call->runtime->is_modern != call->is_modern;
    hf_call_weigh(call, call->intro, 0);
    call->intro = 0;
    if (is_dressed && call->is_modern)
        strip(call);
    else if (is_dressed)
        dress(call);
    frame->pieces = is_dressed ? call->eras->pieces : frame->plain;
    const unsigned cut_count = collect_cuts(call, is_dressed, cuts);
    for (unsigned i = 0; i < cut_count; i++) {
        const struct hf_cut *cut = &cuts[i];
        add_piece(frame, (struct hf_span) { call->text + from, cut->at - from });
        add_piece(frame, cut->by);
        from = cut->at + cut->length;
    }
    const size_t newline = call->runtime->remote ? 0 : 1;
    add_piece(frame, (struct hf_span) { call->text + from, call->text_length + newline - from });
    call->extent = (struct hf_extent) { .begun = false };
}

struct hf_notice *hf_notice_new(struct hf_span message)
{
    struct hf_notice *notice = hf_alloc(sizeof *notice + message.n);
    struct hf_frame *frame = &notice->frame;
    if (message.n)
        memcpy(notice->text, message.p, message.n);
    hf_msg_to_one_line(notice->text, message.n);
    frame->pieces = frame->plain;
    add_piece(frame, (struct hf_span) { notice->text, message.n });
    add_piece(frame, HF_SPAN("\n"));
    return notice;
}

void hf_frame_leave_newline(struct hf_call *call)
{
    struct hf_frame *rest = &hf_notice_new((struct hf_span) { NULL, 0 })->frame;
    assert(call->frame.length - call->frame.sent == 1);
    hf_list_add_before(&call->frame.link, &rest->link);
    hf_unlink(&call->frame.link);
}
