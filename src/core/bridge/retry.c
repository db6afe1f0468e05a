/* retry.c - a modern client comes back with a requestState: the parked call is found, its server
 * gets the answers, and the client waits for what becomes of the call (park.c).
 *
 * A retry is never a new call. A retry that fits no parked call is refused, or goes to a modern
 * server, which may have given the requestState; a legacy server never gets a requestState. */
#include "core/bridge/retry.h"
#include <assert.h>
#include <stdio.h>
#include "core/bridge/park.h"
#include "core/bridge/park_question.h"
#include "core/call/answer.h"
#include "core/call/call.h"
#include "core/call/queue.h"
#include "core/call/send.h"
#include "core/call/settle.h"
#include "core/engine.h"
#include "core/machine/seal.h"
#include "core/server/server.h"
#include "core/server/server_request.h"
#include "core/state/incoming.h"
#include "core/state/runtime.h"
#include "core/state/session.h"

enum { STATE_MAX = 512 }; /* bytes; a requestState of ours is shorter */

/* ---- what a requestState is bound to ---- */

static void feed(struct hf_sha256 *hash, struct hf_span part)
{
    char length[32];
    char *line = hf_span_dup(part); /* on one line, as the text of the parked call is kept */
    (void)snprintf(length, sizeof length, "%zu:", part.n);
    hf_msg_to_one_line(line, part.n);
    hf_sha256_feed(hash, hf_span_of(length));
    hf_sha256_feed(hash, (struct hf_span) { line, part.n });
    hf_free(line);
}

void hf_park_bind(const struct hf_session *session, const struct hf_method *method,
                  struct hf_span params, uint8_t ret_bound[HF_SHA256_SIZE])
{
    const bool is_read = method->id == HF_METHOD_RESOURCES_READ;
    char caller[32];
    struct hf_sha256 hash;
    (void)snprintf(caller, sizeof caller, "%llu", (unsigned long long)session->number);
    hf_sha256_init(&hash);
    feed(&hash, hf_span_of(caller));
    feed(&hash, hf_span_of(method->name));
    feed(&hash, hf_json_get(params, is_read ? HF_SPAN("uri") : HF_SPAN("name")));
    feed(&hash, hf_json_get(params, HF_SPAN("arguments")));
    hf_sha256_end(&hash, ret_bound);
}

/* False: the request carries no requestState. */
static bool read_state(const struct hf_incoming *in, enum hf_seal_verdict *ret_verdict,
                       struct hf_seal *ret_seal)
{
    const struct hf_session *session = in->session;
    const struct hf_span raw = in->is_modern && hf_park_is_for(in->method)
                                   ? hf_json_get(in->msg->params, HF_SPAN("requestState"))
                                   : (struct hf_span) { NULL, 0 };
    uint8_t bound[HF_SHA256_SIZE];
    struct hf_buf text;
    if (!raw.p)
        return false;
    hf_buf_init(&text, STATE_MAX);
    *ret_verdict = HF_SEAL_NONE;
    if (hf_json_unescape(raw, &text)) {
        hf_park_bind(session, in->method, in->msg->params, bound);
        *ret_verdict = hf_seal_read(hf_buf_span(&text), session->engine->secret, bound, ret_seal);
    }
    hf_buf_done(&text);
    return true;
}

/* ---- a requestState that continues no parked call ---- */

enum hf_retry_state hf_retry_state(const struct hf_incoming *in, const struct hf_server *server)
{
    enum hf_seal_verdict verdict;
    struct hf_seal seal;
    if (!read_state(in, &verdict, &seal))
        return HF_RETRY_STATELESS;
    if (server->era == HF_ERA_MODERN || (server->era == HF_ERA_UNKNOWN && verdict == HF_SEAL_NONE))
        return HF_RETRY_STATE_OF_SERVER;
    return verdict == HF_SEAL_OTHER ? HF_RETRY_STATE_LOST : HF_RETRY_STATE_BAD;
}

void hf_retry_refuse(const struct hf_incoming *in, struct hf_server *server,
                     enum hf_retry_state state)
{
    if (state == HF_RETRY_STATE_LOST)
        hf_reply_failure(
            in, server, HF_ERROR_OUTCOME_UNKNOWN, "holdfast_restarted",
            "This requestState continues a call of another holdfast, or of this one before "
            "it was restarted. The call was sent and what became of it is not known: check "
            "its effect before calling again.");
    else
        hf_reply_error(in, -32602,
                       "Invalid requestState: it was changed, or given to another client, or for "
                       "another tool or other arguments. Nothing was sent; send it exactly as it "
                       "came, with the same request, or call again without it.");
}

bool hf_retry_is_misplaced(const struct hf_call *call)
{
    return call->eras && call->eras->carries_state && !call->slot->current->is_modern;
}

void hf_retry_refuse_misplaced(struct hf_call *call)
{
    hf_call_answer(call, hf_answer_error(call->engine, -32602,
                                         "Invalid requestState: this server gives none. Nothing "
                                         "was sent; call again without it.",
                                         HF_SPAN("")));
}

/* ---- a requestState that continues a parked call ---- */

static struct hf_park *park_of(const struct hf_session *session, uint64_t number)
{
    struct hf_park *park;
    HF_LIST_EACH (park, &session->parks, struct hf_park, link) {
        if (park->number == number)
            return park;
    }
    return NULL;
}

static struct hf_round *round_of(const struct hf_park *park, uint32_t number)
{
    struct hf_round *round;
    HF_LIST_EACH (round, &park->rounds, struct hf_round, link) {
        if (round->number == number)
            return round;
    }
    return NULL;
}

enum answers { ALL_THERE, SOME_MISSING, SOME_WRONG };

static enum answers look_at_answers(const struct hf_park *park, const struct hf_round *round,
                                    struct hf_span responses)
{
    enum answers found = ALL_THERE;
    const struct hf_server_request *request;
    HF_LIST_EACH (request, &park->server_requests, struct hf_server_request, in_park) {
        if (request->round != round->number || request->is_refused)
            continue;
        const struct hf_span response = hf_park_response(responses, request);
        if (response.p && hf_json_type(response) != HF_JSON_OBJECT)
            return SOME_WRONG;
        if (!response.p)
            found = SOME_MISSING;
    }
    return found;
}

/* A retry is never sent to a server: it is answered with what becomes of the parked call. */
static const struct hf_call_owner waiter_owner = { .purpose = HF_FOR_CLIENT };

/* Lets the retry wait for the parked call; false: it cannot, and the client was told. */
static bool join(struct hf_park *park, const struct hf_incoming *in)
{
    const struct hf_msg *msg = in->msg;
    struct hf_call *waiter = hf_call_new(in, &waiter_owner);
    if (!waiter)
        return false;
    const struct hf_span token = hf_json_get(msg->meta, HF_SPAN("progressToken"));
    if (token.p)
        waiter->token = (struct hf_span) { waiter->text + (token.p - msg->text.p), token.n };
    hf_call_set_stage(waiter, HF_CALL_JOINED);
    waiter->slot = park->call->slot;
    hf_call_eras(waiter)->park = park;
    hf_list_push(&park->waiters, &waiter->link);
    if (waiter->slot)
        hf_session_dispatched(park->session, waiter->slot->server);
    hf_park_set_capabilities(park, waiter->eras->capabilities);
    return true;
}

/* The server wanted something done before it runs the call. That is done, and the call needs a slot
 * to be sent to. False: there is none, and the client was told. */
static bool find_place(struct hf_park *park, const struct hf_incoming *in)
{
    struct hf_session *session = park->session;
    struct hf_server *server = hf_server_find(session->engine, hf_span_of(park->server));
    struct hf_slot *slot = server ? hf_slot_for(server, session) : NULL;
    if (slot)
        park->call->slot = slot;
    else if (server)
        hf_reply_failure(in, server, HF_ERROR_OVERLOADED, "max_runtimes",
                         "This server already runs once for each of as many clients as maxRuntimes "
                         "allows; the call was not sent.");
    else
        hf_reply_error(in, -32602, "The server \"%s\" was removed from the config", park->server);
    return slot;
}

static void go_on(struct hf_park *park, struct hf_round *round, const struct hf_incoming *in,
                  struct hf_span responses, bool is_first)
{
    const bool is_aside = park->call->stage == HF_CALL_ASKING;
    if (is_aside && !find_place(park, in))
        return;
    if (!join(park, in)) {
        if (is_aside)
            hf_park_leave_server(park);
        return;
    }
    if (is_first) {
        round->is_answered = true;
        hf_park_tell(park, round->number, responses);
        if (is_aside) {
            hf_park_rearm(park);
            hf_call_continue(park->call); /* may answer the retry and lay the call aside again */
            return;
        }
        hf_call_stop_clock(park->call, false);
        hf_park_gather(park);
    }
    hf_park_rearm(park);
}

static void take_retry(struct hf_park *park, struct hf_round *round, const struct hf_incoming *in)
{
    struct hf_engine *engine = park->session->engine;
    const struct hf_span responses = hf_json_get(in->msg->params, HF_SPAN("inputResponses"));
    const bool is_first = !round->is_answered;
    struct hf_round *next = round_of(park, round->number + 1);
    uint8_t digest[HF_SHA256_SIZE];
    hf_sha256(responses.p ? responses : HF_SPAN(""), digest);
    const enum answers answers = look_at_answers(park, round, responses);
    if ((responses.p && hf_json_type(responses) != HF_JSON_OBJECT) || answers == SOME_WRONG) {
        hf_reply_error(in, -32602,
                       "Invalid inputResponses: an object is needed, with an object for each key "
                       "of inputRequests. The call still waits for it.");
        return;
    }
    if (is_first && answers == SOME_MISSING) { /* the revision: ask again rather than refuse */
        hf_reply(in, hf_park_saying(park, &round->question));
        return;
    }
    if (!is_first && !hf_digest_same(digest, round->digest)) {
        hf_reply_failure(
            in, hf_server_find(engine, hf_span_of(park->server)), HF_ERROR_KEY_CONFLICT,
            "answered_before",
            "This requestState was answered before, with other inputResponses; these did "
            "not reach the server. Send the first ones again to hear what became of it.");
        return;
    }
    memcpy(round->digest, digest, sizeof digest);
    if (!next && park->call) {
        go_on(park, round, in, responses, is_first);
        return;
    }
    round->is_answered = true;
    hf_park_tell(park, round->number, responses);
    bool *was_heard = next ? &next->was_heard : &park->was_heard;
    if (is_first || !*was_heard) /* keep this answer parkMs for further retries */
        hf_park_rearm(park);
    *was_heard = true;
    hf_reply(in, hf_park_saying(park, next ? &next->question : &park->end));
}

bool hf_retry_is_ours(const struct hf_incoming *in)
{
    enum hf_seal_verdict verdict;
    struct hf_seal seal;
    return read_state(in, &verdict, &seal) && verdict == HF_SEAL_GOOD;
}

void hf_retry_take(const struct hf_incoming *in)
{
    enum hf_seal_verdict verdict;
    struct hf_seal seal = { 0 };
    struct hf_park *park = read_state(in, &verdict, &seal) ? park_of(in->session, seal.call) : NULL;
    struct hf_round *round = park ? round_of(park, seal.round) : NULL;
    if (round)
        take_retry(park, round, in);
    else
        hf_reply_error(
            in, -32602,
            "This requestState has expired: nobody came for it within parkMs. If the call "
            "had not ended by then, it was cancelled at its server; it may have run: "
            "check its effect before calling again without it.");
}
