/* park.c - a legacy server asks something in the middle of a modern client's call: its requests are
 * gathered for a moment, the client's own request is answered with them, and the call stays where
 * it is until the client comes back (retry.c).
 *
 *   asked ─ 30 ms ─► question out: parked ─ retry ─► answers told ─► next question, or the end
 *
 * 1. A parked call is with its server like any other and has no client side: retries that come for
 *    it wait in `waiters`, and each of them gets one answer.
 * 2. A call in the middle of which its server asked something is never sent again, whatever becomes
 *    of the server.
 * 3. All retries of a round get the same answer, until parkMs have passed.
 * 4. A server request without a round (not asked yet) exists only while the call has not ended. */
#include "core/bridge/park.h"
#include <assert.h>
#include <stdio.h>
#include "core/bridge/legacy_input.h"
#include "core/bridge/retry.h"
#include "core/call/party.h"
#include "core/call/answer.h"
#include "core/call/call.h"
#include "core/call/queue.h"
#include "core/call/send.h"
#include "core/call/session_calls.h"
#include "core/call/settle.h"
#include "core/machine/seal.h"
#include "core/machine/stage.h"
#include "core/outbox.h"
#include "core/server/server_request.h"
#include "core/state/incoming.h"
#include "core/state/runtime.h"
#include "core/state/session.h"

enum { GATHER_MS = 30 }; /* server requests that come within this time form one round */

static const char not_kept_sentence[] =
    "The call is done, but its result was more than holdfast could keep for another retry. It has "
    "run: do not send it again.";

struct hf_round *hf_park_newest(const struct hf_park *park)
{
    return hf_list_empty(&park->rounds) ? NULL : HF_ITEM(park->rounds.prev, struct hf_round, link);
}

bool hf_park_is_asked(const struct hf_park *park)
{
    const struct hf_round *round = hf_park_newest(park);
    return round && !round->is_answered;
}

static bool has_unasked(const struct hf_park *park)
{
    const struct hf_server_request *request;
    HF_LIST_EACH (request, &park->server_requests, struct hf_server_request, in_park) {
        if (request->round == 0)
            return true;
    }
    return false;
}

/* ---- what is kept, and how much of it ---- */

/* Parked calls may keep a quarter of maxBufferedBytes: questions, answers and their structs, but
 * not the clients' requests, which count elsewhere. */
bool hf_park_may_charge(const struct hf_engine *engine, const struct hf_client_party *party,
                        size_t bytes)
{
    return hf_party_may_take(engine, party, HF_SHARED_PARKED, bytes);
}

void hf_park_charge(struct hf_park *park, size_t bytes)
{
    park->kept += bytes;
    hf_party_take(park->session->engine, park->party, HF_SHARED_PARKED, bytes);
}

void hf_park_set_capabilities(struct hf_park *park, struct hf_span capabilities)
{
    const size_t before = park->capabilities ? strlen(park->capabilities) : 0;
    hf_free(park->capabilities);
    park->capabilities = hf_span_dup(capabilities);
    park->kept -= before;
    hf_party_give(park->session->engine, park->party, HF_SHARED_PARKED, before);
    hf_park_charge(park, capabilities.n);
}

struct hf_park *hf_park_new(struct hf_call *call)
{
    struct hf_park *park = hf_new(struct hf_park);
    struct hf_session *session = call->session;
    const struct hf_span params =
        hf_json_get((struct hf_span) { call->text, call->text_length }, HF_SPAN("params"));
    park->session = session;
    park->party = hf_party_ref(call->party);
    park->call = call;
    park->number = call->id;
    park->server = hf_strdup(call->slot->server->name);
    park->generation = call->runtime->generation;
    park->form = hf_call_failure_form(call);
    hf_park_bind(session, call->method, params, park->bound);
    hf_link_init(&park->server_requests);
    hf_link_init(&park->rounds);
    hf_link_init(&park->waiters);
    hf_timer_init(&park->timer, HF_TIMER_PARK, park);
    hf_list_push(&session->parks, &park->link);
    hf_park_charge(park, sizeof *park);
    hf_park_set_capabilities(park, call->eras->capabilities);
    hf_call_eras(call)->park = park;
    return park;
}

static void free_park(void *p)
{
    struct hf_park *park = p;
    struct hf_round *round;
    HF_LIST_EACH_SAFE (round, &park->rounds, struct hf_round, link) {
        hf_free(round->question.rest);
        hf_free(round);
    }
    hf_free(park->end.rest);
    hf_party_unref(park->party);
    hf_free(park->server);
    hf_free(park->capabilities);
    hf_free(park);
}

void hf_park_refuse_asks(struct hf_park *park, bool only_unasked, const char *why)
{
    struct hf_server_request *request;
    HF_LIST_EACH_SAFE (request, &park->server_requests, struct hf_server_request, in_park) {
        if (only_unasked && request->round)
            continue;
        hf_runtime_respond_error(request->runtime, hf_span_of(request->server_id), -32603, why);
        hf_server_request_end(request);
    }
}

static void forget(struct hf_park *park, const char *why)
{
    struct hf_engine *engine = park->session->engine;
    assert(!park->call && hf_list_empty(&park->waiters));
    hf_park_refuse_asks(park, false, why);
    hf_party_give(engine, park->party, HF_SHARED_PARKED, park->kept);
    hf_timer_clear(&engine->timers, &park->timer);
    hf_unlink(&park->link);
    hf_bury(engine, free_park, park);
}

static struct hf_call *let_go(struct hf_park *park)
{
    struct hf_call *call = park->call;
    park->call = NULL;
    call->eras->park = NULL;
    return call;
}

/* No client will come for the parked call any more. */
static void give_up(struct hf_park *park, const char *why)
{
    struct hf_buf reason = hf_draft();
    hf_json_add_string(&reason, hf_span_of(why));
    if (park->call)
        hf_call_cancel(let_go(park), hf_buf_span(&reason));
    hf_buf_done(&reason);
    forget(park, why);
}

void hf_park_rearm(struct hf_park *park)
{
    struct hf_engine *engine = park->session->engine;
    const uint64_t by = engine->now_ms + engine->limits.park_ms;
    const bool is_owed = park->call && !hf_park_is_asked(park) && !hf_list_empty(&park->waiters);
    if (!park->is_gathering)
        hf_timer_set(&engine->timers, &park->timer, is_owed ? 0 : by);
}

/* ---- answering retries ---- */

struct hf_answer hf_park_saying(const struct hf_park *park, const struct hf_saying *saying)
{
    struct hf_engine *engine = park->session->engine;
    static const struct hf_error_facts not_kept = {
        .sentence = { not_kept_sentence, sizeof not_kept_sentence - 1 },
        .reason = { "result_not_kept", 15 },
        .evidence = HF_EVIDENCE_DISPATCHED,
        .retry_after_ms = -1,
    };
    if (!saying->rest)
        return hf_answer_failure(engine, HF_ERROR_RESULT_TOO_LARGE, &not_kept, park->form);
    struct hf_buf draft = hf_draft(); /* the kept text may be freed before the answer is sent */
    hf_buf_add(&draft, (struct hf_span) { saying->rest, saying->length });
    return hf_answer_rest(HF_OUTCOME_RELAYED, saying->code, hf_draft_end(engine, &draft));
}

static void answer_waiters(struct hf_park *park, struct hf_answer answer)
{
    while (!hf_list_empty(&park->waiters)) {
        struct hf_call *waiter = HF_LIST_FIRST(&park->waiters, struct hf_call, link);
        hf_unlink(&waiter->link);
        waiter->eras->park = NULL;
        hf_call_answer(waiter, answer);
    }
}

/* ---- asking ---- */

static void add_seal(struct hf_buf *out, const struct hf_park *park, uint32_t round)
{
    const struct hf_seal seal = {
        .server = hf_seal_name(hf_span_of(park->server)),
        .generation = park->generation,
        .call = park->number,
        .round = round,
    };
    hf_seal_write(out, park->session->engine->secret, &seal, park->bound);
}

static struct hf_span info_of(const struct hf_server *server)
{
    return server->greeting ? hf_json_get(hf_span_of(server->greeting), HF_SPAN("serverInfo"))
                            : (struct hf_span) { NULL, 0 };
}

void hf_park_put(struct hf_park *park, struct hf_span requests, const struct hf_server *server)
{
    const struct hf_span info = info_of(server);
    struct hf_session *session = park->session;
    struct hf_call *call = park->call;
    const struct hf_round *before = hf_park_newest(park);
    struct hf_round *round = hf_new(struct hf_round);
    struct hf_buf rest = hf_draft();
    round->number = before ? before->number + 1 : 1;
    hf_buf_add_str(&rest, ",\"result\":{\"resultType\":\"input_required\",\"inputRequests\":{");
    hf_buf_add(&rest, requests);
    hf_buf_add_str(&rest, "},\"requestState\":\"");
    add_seal(&rest, park, round->number);
    hf_buf_add_char(&rest, '"');
    if (info.p)
        hf_buf_printf(&rest, ",\"_meta\":{\"" HF_META_SERVER "\":%.*s}", HF_FMT(info));
    hf_buf_add_str(&rest, "}}");
    round->question = (struct hf_saying) { hf_span_dup(hf_buf_span(&rest)), hf_buf_len(&rest), 0 };
    hf_buf_done(&rest);
    hf_park_charge(park, sizeof *round + round->question.length);
    assert(park->rounds.prev); /* hf_park_new made the list */
    hf_list_push(&park->rounds, &round->link);
    hf_call_stop_clock(call, true);
    const struct hf_answer question = hf_park_saying(park, &round->question);
    round->was_heard = hf_linked(&call->in_session) || !hf_list_empty(&park->waiters);
    if (hf_linked(&call->in_session)) { /* first round: then the call has no client side */
        const struct hf_incoming asked = { .session = session,
                                           .via = call->via,
                                           .id = call->client_id };
        hf_reply(&asked, question);
        hf_session_remove_call(call);
        hf_session_maybe_settle(session);
    } else {
        answer_waiters(park, question);
    }
    hf_park_rearm(park);
    if (session->is_finished || session->engine->is_stopping)
        give_up(park, "nobody can come back to answer");
}

static const char *kind_of(enum hf_method_id method)
{
    return method == HF_METHOD_SAMPLING ? "sampling"
           : method == HF_METHOD_ROOTS  ? "roots"
                                        : "elicitation";
}

static void add_key(struct hf_buf *out, const struct hf_server_request *request)
{
    hf_buf_printf(out, "%s-%u", kind_of(request->method), request->key);
}

void hf_park_tell(struct hf_park *park, uint32_t round, struct hf_span responses)
{
    struct hf_server_request *request;
    HF_LIST_EACH_SAFE (request, &park->server_requests, struct hf_server_request, in_park) {
        if (request->round != round)
            continue;
        if (request->is_refused) {
            hf_runtime_respond_error(request->runtime, hf_span_of(request->server_id), -32601,
                                     hf_not_declared);
        } else {
            struct hf_buf draft = hf_draft();
            hf_msg_add_result(&draft, hf_span_of(request->server_id),
                              hf_park_response(responses, request));
            hf_runtime_respond(request->runtime, hf_draft_end(park->session->engine, &draft));
        }
        hf_server_request_end(request);
    }
}

struct hf_span hf_park_response(struct hf_span responses, const struct hf_server_request *request)
{
    struct hf_buf key = hf_draft();
    add_key(&key, request);
    const struct hf_span response = hf_json_get(responses, hf_buf_span(&key));
    hf_buf_done(&key);
    return response;
}

/* A server that asks several things at once gets all answers at once, and with them the refusals of
 * what its client cannot do: an early refusal could end the call before the rest is asked. */
static void ask_round(struct hf_park *park)
{
    const struct hf_round *before = hf_park_newest(park);
    const uint32_t number = before ? before->number + 1 : 1;
    struct hf_buf requests = hf_draft();
    struct hf_server_request *request;
    HF_LIST_EACH (request, &park->server_requests, struct hf_server_request, in_park) {
        if (request->round)
            continue;
        request->round = number;
        request->since_ms = park->session->engine->now_ms;
        hf_server_request_arm(request);
        if (request->is_refused)
            continue;
        if (hf_buf_len(&requests))
            hf_buf_add_char(&requests, ',');
        hf_buf_add_char(&requests, '"');
        add_key(&requests, request);
        hf_buf_printf(&requests, "\":%s", request->text);
        hf_free(request->text);
        request->text = NULL;
    }
    if (hf_buf_len(&requests)) {
        park->is_anew = false;
        hf_park_put(park, hf_buf_span(&requests), park->call->slot->server);
    } else {
        hf_park_tell(park, number, (struct hf_span) { NULL, 0 });
        if (!hf_linked(&park->call->in_session))
            hf_park_rearm(park);
    }
    hf_buf_done(&requests);
}

void hf_park_gather(struct hf_park *park)
{
    struct hf_engine *engine = park->session->engine;
    if (park->is_gathering || hf_park_is_asked(park) || !has_unasked(park))
        return;
    park->is_gathering = true;
    hf_timer_set(&engine->timers, &park->timer, engine->now_ms + GATHER_MS);
}

void hf_park_unanswered(struct hf_park *park)
{
    const struct hf_server_request *request;
    HF_LIST_EACH (request, &park->server_requests, struct hf_server_request, in_park) {
        if (request->round)
            return;
    }
    if (park->call && park->call->stage == HF_CALL_SENT)
        hf_call_stop_clock(park->call, false);
}

void hf_park_timer(struct hf_park *park)
{
    if (park->is_gathering) {
        park->is_gathering = false;
        ask_round(park);
        return;
    }
    if (park->call)
        hf_note(park->session->engine, NULL,
                &(struct hf_note) { .event = HF_NOTE_PARK_EXPIRED,
                                    .server = hf_span_of(park->server),
                                    .generation = park->generation });
    give_up(park, "holdfast: no answer came within parkMs");
}

/* ---- what becomes of the call ---- */

void hf_park_stop_asking(struct hf_park *park)
{
    park->is_gathering = false;
    hf_timer_clear(&park->session->engine->timers, &park->timer);
    hf_park_refuse_asks(park, true, "the call has ended");
}

static void ended(struct hf_call *call, const struct hf_answer *answer)
{
    struct hf_park *park = hf_call_park(call);
    struct hf_answer relayed = *answer;
    struct hf_buf rest = hf_draft();
    hf_answer_add_rest(&rest, answer);
    (void)let_go(park);
    hf_park_stop_asking(park);
    park->was_heard = !hf_list_empty(&park->waiters);
    relayed.outcome = HF_OUTCOME_RELAYED;
    answer_waiters(park, relayed);
    park->end = (struct hf_saying) { NULL, 0, answer->code };
    if (hf_park_may_charge(park->session->engine, park->party, hf_buf_len(&rest))) {
        park->end.rest = hf_span_dup(hf_buf_span(&rest));
        park->end.length = hf_buf_len(&rest);
        hf_park_charge(park, hf_buf_len(&rest));
    }
    hf_buf_done(&rest);
    hf_park_rearm(park);
}

void hf_park_leave_server(struct hf_park *park)
{
    struct hf_call *waiter;
    park->call->slot = NULL;
    HF_LIST_EACH (waiter, &park->waiters, struct hf_call, link) {
        waiter->slot = NULL;
    }
}

/* The call goes back to where it was before the last retry: not sent, and waiting for a retry. */
static void lay_aside(struct hf_park *park)
{
    hf_park_newest(park)->is_answered = false;
    hf_call_pause(park->call);
    hf_park_leave_server(park);
    hf_park_rearm(park);
}

static bool laid_aside(struct hf_call *call, enum hf_error error, const struct hf_answer *answer)
{
    struct hf_park *park = hf_call_park(call);
    if (!park->is_anew || hf_error_dispatched(error))
        return false;
    answer_waiters(park, *answer);
    lay_aside(park);
    return true;
}

static void left(struct hf_call *call)
{
    struct hf_park *park = hf_call_park(call);
    if (call->stage != HF_CALL_JOINED) { /* the call ended before its client was asked */
        assert(call == park->call && hf_linked(&call->in_session));
        (void)let_go(park);
        forget(park, "the call has ended");
        return;
    }
    hf_unlink(&call->link);
    call->eras->park = NULL;
    if (!hf_list_empty(&park->waiters))
        return;
    assert(park->call);
    const enum hf_call_stage stage = park->call->stage;
    if (park->is_anew && (stage == HF_CALL_WAITING || stage == HF_CALL_QUEUED))
        lay_aside(park);
    else
        hf_park_rearm(park);
}

static void resent(struct hf_call *call)
{
    struct hf_park *park = hf_call_park(call);
    if (!hf_call_is_parked(call)) {
        left(call);
        return;
    }
    park->is_gathering = false;
    hf_park_refuse_asks(park, true, "the call was lost");
    hf_park_rearm(park);
}

void hf_park_progress(struct hf_call *call, const struct hf_msg *msg, struct hf_span token)
{
    struct hf_call *waiter;
    HF_LIST_EACH (waiter, &hf_call_park(call)->waiters, struct hf_call, link) {
        if (waiter->token.p)
            hf_session_send_spliced(waiter->session, waiter->via, msg->text, token, waiter->token);
    }
}

/* ---- sessions ---- */

void hf_parks_drop(struct hf_session *session, const char *why)
{
    struct hf_park *park;
    HF_LIST_EACH_SAFE (park, &session->parks, struct hf_park, link) {
        const bool is_attached = park->call && hf_linked(&park->call->in_session);
        if (!is_attached && hf_list_empty(&park->waiters))
            give_up(park, why);
    }
}

/* holdfast stops: a call that no retry waits for is cancelled, and a retry that still comes before
 * the end is told so. */
void hf_parks_stop(struct hf_session *session)
{
    struct hf_engine *engine = session->engine;
    struct hf_park *park;
    HF_LIST_EACH (park, &session->parks, struct hf_park, link) {
        struct hf_call *call = park->call;
        if (!call || call->stage == HF_CALL_ASKING || hf_linked(&call->in_session) ||
            !hf_list_empty(&park->waiters))
            continue;
        const struct hf_error_facts facts = {
            .sentence = HF_SPAN("holdfast is shutting down and the call was cancelled at its "
                                "server, which had asked something in the middle of it. It may "
                                "have run in part: check its effect."),
            .reason = HF_SPAN("shutting_down"),
            .server = hf_span_of(park->server),
            .generation = park->generation,
            .evidence = HF_EVIDENCE_DISPATCHED,
            .retry_after_ms = -1,
        };
        park->is_anew = false;
        hf_park_refuse_asks(park, false, "holdfast is shutting down");
        hf_call_take_back(call, HF_SPAN("\"holdfast is shutting down\""));
        hf_call_answer(call, hf_answer_failure(engine, HF_ERROR_OUTCOME_UNKNOWN, &facts,
                                               hf_call_failure_form(call)));
    }
}

/* ---- the callbacks of a call that has a park ---- */

static void keeping(struct hf_call *call)
{
    hf_park_stop_asking(hf_call_park(call));
    if (hf_call_is_parked(call))
        hf_park_rearm(hf_call_park(call));
}

static void left_server(struct hf_call *call)
{
    hf_park_leave_server(hf_call_park(call));
}

static bool is_bound(const struct hf_call *call)
{
    return !hf_call_park(call)->is_anew;
}

static uint64_t generation(const struct hf_call *call)
{
    const struct hf_call *parked = hf_call_park(call)->call;
    return parked && parked->runtime ? parked->runtime->generation : hf_call_park(call)->generation;
}

static uint64_t via(const struct hf_call *call)
{
    const struct hf_link *waiters = &hf_call_park(call)->waiters;
    return hf_list_empty(waiters) ? 0 : HF_ITEM(waiters->prev, struct hf_call, link)->via;
}

static struct hf_call *sent(const struct hf_call *waiter)
{
    return hf_call_park(waiter)->call;
}

static void each_waiter(const struct hf_call *call,
                        void (*tell)(const struct hf_call *call, const struct hf_call *waiter))
{
    const struct hf_call *waiter;
    HF_LIST_EACH (waiter, &hf_call_park(call)->waiters, struct hf_call, link)
        tell(call, waiter);
}

const struct hf_bridge_ops hf_bridge_ops = {
    .ended = ended,
    .laid_aside = laid_aside,
    .left = left,
    .resent = resent,
    .keeping = keeping,
    .left_server = left_server,
    .is_bound = is_bound,
    .generation = generation,
    .via = via,
    .sent = sent,
    .each_waiter = each_waiter,
    .input_dropped = hf_input_drop,
    .input_timed_out = hf_input_timed_out,
    .input_free = hf_input_free,
};
