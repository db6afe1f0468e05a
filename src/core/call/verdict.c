/* verdict.c - a call was lost on its way: what that proves, and what becomes of it.
 *
 * Every loss of a client's call is judged by hf_call_judge, from the evidence that its transport
 * has, and hf_call_judge alone decides that bytes go out again (DESIGN 4). */
#include "core/call/verdict.h"
#include "core/call/answer.h"
#include "core/call/call.h"
#include "core/call/queue.h"
#include "core/machine/evidence.h"
#include "core/outbox.h"
#include "core/state/runtime.h"

static void send_again(struct hf_call *call)
{
    struct hf_server *server = call->slot->server;
    struct hf_runtime *before = call->runtime;
    if (hf_call_park(call))
        call->engine->bridge->resent(call);
    (void)hf_call_leave_runtime(call);
    call->runtime = NULL;
    call->is_answered = false; /* if it was refused: another answer is waited for */
    server->resends++;
    hf_note(call->engine, server,
            &(struct hf_note) { .event = HF_NOTE_RESEND,
                                .generation = before->generation,
                                .method = hf_span_of(call->method->name),
                                .evidence = hf_span_of(hf_evidence_name(call->evidence)),
                                .count = call->history.sends });
    hf_call_arrive(call, call->slot);
    hf_call_left(before);
}

void hf_call_lost(struct hf_call *call, struct hf_stream_facts facts)
{
    if (call->owner->purpose != HF_FOR_CLIENT) {
        hf_call_end_ours(call);
        return;
    }
    const struct hf_transport_ops *transport = call->runtime->transport;
    if (transport->call_lost && transport->call_lost(call))
        return;
    hf_call_judge(call,
                  (struct hf_loss) { .evidence = hf_evidence_of(call->extent, facts),
                                     .byte_taken = hf_evidence_byte_taken(call->extent, facts),
                                     .why = call->slot->server->reason });
}

void hf_call_judge(struct hf_call *call, struct hf_loss loss)
{
    struct hf_server *server = call->slot->server;
    if (hf_call_is_parked(call) && call->engine->bridge->is_bound(call)) {
        loss.evidence = HF_EVIDENCE_DISPATCHED;
        call->history.is_repeatable = false;
    }
    server->stats.lost[loss.evidence]++;
    call->evidence = loss.evidence;
    call->was_dispatched |= loss.evidence == HF_EVIDENCE_DISPATCHED;
    call->history.byte_taken |= loss.byte_taken;
    switch (hf_evidence_verdict(call->evidence, call->history)) {
    case HF_VERDICT_RESEND: send_again(call); break;
    case HF_VERDICT_UNKNOWN:
        server->unknowns++;
        hf_call_fail(call, HF_ERROR_OUTCOME_UNKNOWN, loss.why,
                     "The call was sent to '%s' and no answer came back%s. It may have run. Check "
                     "its effect before sending it again.",
                     server->name, hf_because(call->engine, loss.why));
        break;
    case HF_VERDICT_DIES_ON_IT:
        hf_call_fail(
            call, HF_ERROR_DIES_ON_IT, "server_dies_on_it",
            "The server \"%s\" died %u times while it was reading this call, before it had "
            "all of it; the call never ran. Do not send it again as it is.",
            server->name, call->history.sends);
        break;
    case HF_VERDICT_REFUSED_AGAIN:
        hf_call_fail(call, HF_ERROR_DIES_ON_IT, "refused_again",
                     "The server \"%s\" turned this call away %u times; it never ran.",
                     server->name, call->history.sends);
        break;
    }
}
