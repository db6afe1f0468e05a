/* send.c - messages of our own making, towards clients and servers. */
#include "core/call/send.h"
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include "core/call/answer.h"
#include "core/call/party.h"
#include "core/call/queue.h"
#include "core/engine.h"
#include "core/machine/slot.h"
#include "core/machine/stats.h"
#include "core/outbox.h"
#include "core/state/call.h"
#include "core/state/incoming.h"
#include "core/state/party.h"
#include "core/state/runtime.h"
#include "core/state/session.h"

enum { TOLD_MAX = 1000 }; /* messages that a remote server has not taken yet */

/* NULL: the session is closed, and a closed session is sent nothing. */
static struct hf_effect *begin_send(struct hf_session *session, uint64_t via)
{
    if (session->is_closed)
        return NULL;
    struct hf_effect *effect = hf_emit(session->engine, HF_DO_SEND);
    effect->session = session;
    effect->via = via;
    effect->is_answer = false;
    effect->error_code = 0;
    effect->over = HF_SHARED_NONE;
    effect->failure_form = HF_AS_ERROR;
    return effect;
}

void hf_session_send(struct hf_session *session, uint64_t via, struct hf_span message)
{
    struct hf_effect *effect = begin_send(session, via);
    if (!effect)
        return;
    effect->pieces[0] = message;
    effect->piece_count = 1;
}

void hf_session_end_stream(struct hf_session *session, uint64_t via)
{
    struct hf_effect *effect = via ? begin_send(session, via) : NULL;
    if (effect)
        effect->is_answer = true;
}

void hf_reply_error_data(const struct hf_incoming *in, int code, const char *text,
                         struct hf_span data)
{
    hf_reply(in, hf_answer_error(in->session->engine, code, text, data));
}

void hf_reply_error(const struct hf_incoming *in, int code, const char *format, ...)
{
    char text[600];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hf_reply_error_data(in, code, text, HF_SPAN(""));
}

void hf_session_send_cancelled(struct hf_session *session, uint64_t via, uint64_t id)
{
    struct hf_buf draft = hf_draft();
    hf_msg_begin_notification(&draft, "notifications/cancelled");
    hf_buf_printf(
        &draft,
        ",\"params\":{\"requestId\":%llu,\"reason\":\"nobody waits for the answer any more\"}}",
        (unsigned long long)id);
    hf_session_send(session, via, hf_draft_end(session->engine, &draft));
}

void hf_session_send_spliced(struct hf_session *session, uint64_t via, struct hf_span text,
                             struct hf_span cut, struct hf_span by)
{
    assert(cut.p >= text.p && cut.p + cut.n <= text.p + text.n);
    struct hf_effect *effect = begin_send(session, via);
    if (!effect)
        return;
    const char *rest = cut.p + cut.n;
    effect->pieces[0] = (struct hf_span) { text.p, (size_t)(cut.p - text.p) };
    effect->pieces[1] = by;
    effect->pieces[2] = (struct hf_span) { rest, (size_t)(text.p + text.n - rest) };
    effect->piece_count = 3;
}

static struct hf_answer failure_of(const struct hf_incoming *in, struct hf_server *server,
                                   enum hf_error error, const char *reason, const char *sentence)
{
    struct hf_engine *engine = in->session->engine;
    /* a request that could not be read may have been anything: it gets an error */
    const enum hf_failure_form form = in->msg ? hf_failure_form_of(in->session, server, in->method,
                                                                   in->msg->params, in->is_modern)
                                              : HF_AS_ERROR;
    struct hf_error_facts facts = {
        .sentence = hf_span_of(sentence),
        .reason = hf_span_of(reason),
        .evidence = error == HF_ERROR_OUTCOME_UNKNOWN ? HF_EVIDENCE_DISPATCHED : HF_EVIDENCE_UNSENT,
        .retry_after_ms = -1,
    };
    const struct hf_slot *slot = server ? hf_server_slot(server) : NULL;
    struct hf_stats *stats = server ? &server->stats : &engine->stats;
    stats->failed[error]++;
    if (server) {
        facts.server = hf_span_of(server->name);
        facts.generation = server->generation;
    }
    if (slot)
        facts.state = hf_span_of(hf_slot_state_name(slot->machine.state));
    return hf_answer_failure(engine, error, &facts, form);
}

void hf_reply_failure(const struct hf_incoming *in, struct hf_server *server, enum hf_error error,
                      const char *reason, const char *sentence)
{
    hf_reply(in, failure_of(in, server, error, reason, sentence));
}

/* ---- over a limit ---- */

static const struct {
    const char *reason; /* for machines */
    const char *what;   /* "its share of the …" */
    const char *option; /* a token's own limit; NULL: it can have none */
    const char *advice;
    bool is_of_calls; /* calls that end free some */
} words[HF_SHARED_COUNT] = {
    [HF_SHARED_CALLS] = { "too_many_calls", "calls that may be under way", "calls",
                          "Wait for some to end", true },
    [HF_SHARED_HELD] = { "max_buffered_bytes", "bytes that requests may hold (maxBufferedBytes)",
                         "bytes", "Wait for some requests to end, or send smaller ones", true },
    [HF_SHARED_SUBSCRIPTIONS] = { "too_many_subscriptions",
                                  "resources that clients may be subscribed to", "subscriptions",
                                  "Unsubscribe from others first", false },
    [HF_SHARED_REMEMBERED] = { "client_keeps_too_much",
                               "bytes that holdfast remembers of clients (their introductions and "
                               "subscriptions)",
                               NULL,
                               "Unsubscribe from something, or introduce yourself more briefly",
                               false },
    [HF_SHARED_PARKED] = { "too_much_parked", "bytes of calls that wait for their client's answers",
                           NULL, "Answer or give up some of them", true },
};

/* The share, of the party's own or of one that it is in, that has its own limit and is full. */
static const struct hf_share *own_limit(const struct hf_client_party *party, enum hf_shared what,
                                        uint64_t wants)
{
    for (; party; party = party->within) {
        const struct hf_share *share = &party->shares[what];
        if (share->max && share->used + wants > share->max)
            return share;
    }
    return NULL;
}

/* "12 of 16", and of bytes how many more are wanted. */
static const char *numbers(uint64_t used, uint64_t limit, uint64_t wants, char *room, size_t size)
{
    const int n =
        snprintf(room, size, "%llu of %llu", (unsigned long long)used, (unsigned long long)limit);
    if (wants > 1)
        (void)snprintf(room + n, size - (size_t)n, ", and this needs %llu more",
                       (unsigned long long)wants);
    return room;
}

static const char *sentence(const struct hf_incoming *in, enum hf_shared what, uint64_t wants,
                            enum hf_share_verdict verdict, char *room, size_t size)
{
    const struct hf_bound *bound = &in->session->engine->bounds[what];
    const struct hf_share *own = own_limit(in->party, what, wants);
    const struct hf_share *within = own_limit(in->party, what, UINT64_MAX / 2);
    char counts[100];
    if (own)
        (void)snprintf(room, size,
                       "Your token has as many as it may (limits.%s) of the %s: %s; this request "
                       "was not sent. %s.",
                       words[what].option, words[what].what,
                       numbers(own->used, own->max, wants, counts, sizeof counts),
                       words[what].advice);
    else if (verdict == HF_SHARE_OF_PARTY)
        (void)snprintf(room, size,
                       "You have your share of the %s%s: %s; this request was not sent. %s.",
                       words[what].what, within ? " and that your token may have (its limits)" : "",
                       numbers(in->party->shares[what].used, within ? within->max : bound->limit,
                               wants, counts, sizeof counts),
                       words[what].advice);
    else
        (void)snprintf(room, size,
                       "Of the %s too few are left for anybody: %s; this request was not sent. Try "
                       "again later.",
                       words[what].what,
                       numbers(bound->used, bound->limit, wants, counts, sizeof counts));
    return room;
}

static void reply_over_limit(const struct hf_incoming *in, struct hf_server *server,
                             enum hf_shared what, const char *reason, const char *sentence)
{
    struct hf_answer answer = failure_of(in, server, HF_ERROR_OVERLOADED, reason, sentence);
    answer.over = what;
    hf_reply(in, answer);
}

bool hf_reply_if_over(const struct hf_incoming *in, struct hf_server *server, enum hf_shared what,
                      uint64_t wants)
{
    const struct hf_engine *engine = in->session->engine;
    enum hf_share_verdict verdict = hf_party_judge(engine, in->party, what, wants);
    while (verdict != HF_SHARE_FITS && words[what].is_of_calls && engine->gone_count &&
           hf_party_cancel_gone(in->party))
        verdict = hf_party_judge(engine, in->party, what, wants);
    if (verdict == HF_SHARE_FITS)
        return false;
    char room[400];
    reply_over_limit(in, server, what, words[what].reason,
                     sentence(in, what, wants, verdict, room, sizeof room));
    return true;
}

/* ---- towards servers ---- */

static bool takes_more(const struct hf_runtime *runtime, size_t n)
{
    return runtime->unsent_bytes + n <= 2 * runtime->server->engine->limits.max_message_bytes &&
           runtime->unsent_count < TOLD_MAX;
}

/* Notifications that a server does not take are dropped and the server is kept: one client may send
 * as many as it likes. */
static bool mention(struct hf_runtime *runtime, const struct hf_call *about, struct hf_span message)
{
    const bool is_taken = !runtime->is_frozen && takes_more(runtime, message.n);
    if (is_taken)
        runtime->transport->tell(runtime, about, message);
    return is_taken;
}

bool hf_runtime_notify(struct hf_runtime *runtime, struct hf_span message)
{
    return mention(runtime, NULL, message);
}

void hf_call_notify_server(const struct hf_call *call, struct hf_span message)
{
    (void)mention(call->runtime, call, message);
}
