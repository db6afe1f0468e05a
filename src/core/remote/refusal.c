/* refusal.c - was a call turned away because its session, or its era, is not known any more?
 *
 * An inquiry is a request of ours that finds it out. In the code a `doubt` is a refusal that is
 * being examined, and the `stranger` is the inquiry under a session id that the server cannot know.
 *
 * 1. The server is asked how it turns away a session that it cannot know: one ping under a made-up
 *    id, before a new session is made. The result counts for all calls of the lost session. A
 *    modern server has no sessions: it is asked server/discover.
 * 2. If the call was turned away in another way than that ping, the refusal is about the call.
 * 3. If it was turned away in the same way, the call waits for the next session (or runtime) and
 *    for a ping under it. If that ping is not turned away in the same way, the call was refused and
 *    is sent again; else nobody can tell why it was turned away, and it is not sent again. */
#include "core/remote/refusal.h"
#include "core/call/answer.h"
#include "core/call/call.h"
#include "core/call/queue.h"
#include "core/call/verdict.h"
#include "core/inbox/from_server.h"
#include "core/machine/evidence.h"
#include "core/machine/http_body.h"
#include "core/outbox.h"
#include "core/remote/exchange.h"
#include "core/remote/remote.h"
#include "core/remote/session.h"
#include "core/settings.h"

/* After a renewal, if the session that is said to be unknown still serves. */
enum { RENEWAL_PAUSE_MS = 60000 };

static void free_doubt(void *p)
{
    struct hf_refusal *doubt = p;
    hf_free(doubt->answer);
    hf_free(doubt);
}

static struct hf_refusal *take_doubt(struct hf_call *call)
{
    struct hf_refusal *doubt = hf_call_refusal(call);
    call->detour->refusal = NULL;
    call->detour->settle_by_ms = 0;
    hf_bury(call->engine, free_doubt, doubt); /* `answer` may be on its way to the client */
    hf_call_arm(call);
    return doubt;
}

/* ---- what becomes of a call whose refusal was examined ---- */

static void settle_unproven(struct hf_call *call)
{
    const struct hf_remote *remote = call->runtime->remote;
    const struct hf_refusal *doubt = take_doubt(call);
    const bool is_anybodys = remote->known.is_over && remote->known.is_read &&
                             remote->known.status == doubt->status &&
                             remote->known.session == doubt->session;
    if (doubt->answer)
        hf_server_message(call->runtime, call, hf_span_of(doubt->answer));
    else if (doubt->status < 400)
        hf_call_judge(call, (struct hf_loss) { HF_EVIDENCE_DISPATCHED, true,
                                               "it answered with an error that names no request" });
    else
        hf_remote_reject(call, doubt->status, hf_http_rejection(doubt->status, is_anybodys));
}

static void settle_refused(struct hf_call *call)
{
    (void)take_doubt(call);
    hf_call_judge(call, (struct hf_loss) { HF_EVIDENCE_REFUSED, false, "" });
}

static struct hf_call *next_doubted(const struct hf_runtime *runtime, bool waits)
{
    struct hf_call *call;
    HF_LIST_EACH (call, &runtime->calls, struct hf_call, link) {
        if (hf_call_refusal(call) && hf_call_refusal(call)->waits == waits)
            return call;
    }
    return NULL;
}

void hf_refusal_unproven(struct hf_call *call)
{
    settle_unproven(call);
}

void hf_refusal_drop(struct hf_call *call)
{
    if (!hf_call_refusal(call))
        return;
    hf_bury(call->engine, free_doubt, hf_call_refusal(call));
    call->detour->refusal = NULL;
    call->detour->settle_by_ms = 0;
}

/* ---- inquiries: what the server is asked to find out ---- */

static void answered(struct hf_call *call, const struct hf_msg *msg);
static void left(struct hf_call *call);

static void timed_out(struct hf_call *call)
{
    hf_inquiry_over(call, 0, false, NULL);
}

static void unreadable(struct hf_call *call, const struct hf_msg *failure)
{
    (void)failure;
    hf_inquiry_over(call, 0, false, NULL);
}

static const struct hf_call_owner owner = {
    .purpose = HF_FOR_INQUIRY,
    .answered = answered,
    .unreadable = unreadable,
    .timed_out = timed_out,
    .left = left,
};

static bool can_ask(const struct hf_runtime *runtime)
{
    return !runtime->is_frozen && !hf_runtime_is_renewing(runtime) &&
           (runtime->machine.state == HF_RUNTIME_LIVE ||
            runtime->machine.state == HF_RUNTIME_DRAINING);
}

static double random_share(void *engine)
{
    return hf_random_share(engine);
}

static char *make_up(const struct hf_runtime *runtime)
{
    const struct hf_remote *remote = runtime->remote;
    const char *name = runtime->is_older_transport ? remote->endpoint : remote->session_id;
    return name ? hf_made_up(hf_span_of(name), random_share, runtime->server->engine) : NULL;
}

static void go_under(struct hf_remote_exchange *exchange, const char *name, bool is_endpoint)
{
    char **place = is_endpoint ? &exchange->endpoint : &exchange->session_id;
    hf_free(*place);
    *place = hf_strdup(name);
}

/* Makes the inquiry, once for each session. If it cannot be sent, it has ended already. */
static void send_inquiry(struct hf_runtime *runtime, struct hf_inquiry *inquiry)
{
    struct hf_remote *remote = runtime->remote;
    const bool is_stranger = inquiry == &remote->stranger;
    if (inquiry->session == remote->session)
        return;
    hf_free(inquiry->name);
    *inquiry = (struct hf_inquiry) { .session = remote->session, .is_over = true };
    inquiry->name = is_stranger ? make_up(runtime) : NULL;
    if (!can_ask(runtime) || (is_stranger && !inquiry->name))
        return;
    struct hf_call *call = hf_call_ours(
        runtime, &owner, hf_method(runtime->is_modern ? HF_METHOD_DISCOVER : HF_METHOD_PING),
        HF_SPAN(""));
    if (!call)
        return;
    if (is_stranger)
        go_under(call->exchange, inquiry->name, runtime->is_older_transport);
    call->end_by_ms =
        runtime->server->engine->now_ms + runtime->server->settings.liveness.timeout_ms;
    hf_call_arm(call);
    inquiry->call = call;
    inquiry->is_over = false;
}

/* A new refusal needs new inquiries. How a made-up session id was turned away is kept only for
 * calls that were turned away in the same way: if a call was turned away differently, there may be
 * another server behind the URL by now. `form` NULL: the refusal is not one of a call. */
static void forget_old(struct hf_runtime *runtime, const struct hf_form *form)
{
    struct hf_remote *remote = runtime->remote;
    if (next_doubted(runtime, false) || remote->refusal)
        return;
    if (remote->known.is_over)
        remote->known.session = 0;
    if (remote->stranger.is_over &&
        (!remote->stranger.form.status || (form && !hf_form_same(&remote->stranger.form, form))))
        remote->stranger.session = 0;
}

/* ---- what the answers to inquiries say ---- */

static bool was_renewed_lately(const struct hf_runtime *runtime)
{
    const struct hf_remote *remote = runtime->remote;
    return remote->renewed_ms &&
           runtime->server->engine->now_ms - remote->renewed_ms < RENEWAL_PAUSE_MS;
}

static bool is_like_stranger(const struct hf_runtime *runtime, const struct hf_refusal *doubt)
{
    const struct hf_remote *remote = runtime->remote;
    if (doubt->is_of_era)
        return hf_form_same(&doubt->form, &remote->known.form);
    if (!doubt->had_session)
        return false;
    if (doubt->session == remote->lost_session)
        return hf_form_same(&doubt->form, &remote->lost_form);
    return doubt->session == remote->stranger.session &&
           hf_form_same(&doubt->form, &remote->stranger.form);
}

static bool wants_to_know(const struct hf_runtime *runtime)
{
    const struct hf_call *call;
    HF_LIST_EACH (call, &runtime->calls, struct hf_call, link) {
        if (hf_call_refusal(call) && !hf_call_refusal(call)->waits &&
            (hf_call_refusal(call)->status == 401 || hf_call_refusal(call)->is_of_era))
            return true;
    }
    return runtime->remote->listen_refusal || was_renewed_lately(runtime);
}

/* The last status with which a call was turned away as a made-up session id is, and in another way;
 * 0: no call was. */
struct turned_away {
    int like_stranger, otherwise;
};

static struct turned_away sort_calls(struct hf_runtime *runtime, bool may_renew)
{
    struct turned_away found = { 0 };
    struct hf_call *call;
    while ((call = next_doubted(runtime, false))) {
        hf_call_refusal(call)->waits =
            may_renew && is_like_stranger(runtime, hf_call_refusal(call));
        if (hf_call_refusal(call)->waits) {
            found.like_stranger = hf_call_refusal(call)->status;
        } else {
            found.otherwise = hf_call_refusal(call)->status;
            settle_unproven(call);
        }
    }
    return found;
}

/* `status` 0: no refusal is being examined. */
static void set_refusal(struct hf_runtime *runtime, int status)
{
    runtime->remote->refusal = status;
    hf_runtime_hold(runtime, HF_HOLD_REFUSAL, status != 0);
}

static bool is_refusal_confirmed(const struct hf_remote *remote)
{
    return remote->refusal && (!remote->refusal_form.status ||
                               hf_form_same(&remote->refusal_form, &remote->stranger.form));
}

static void session_is_gone(struct hf_runtime *runtime, int status)
{
    struct hf_remote *remote = runtime->remote;
    hf_runtime_hold(runtime, HF_HOLD_UNCLEAR, false);
    remote->lost_session = remote->session;
    remote->lost_form = remote->stranger.session == remote->session ? remote->stranger.form
                                                                    : (struct hf_form) { 0 };
    hf_remote_session_gone(runtime, status);
}

static void wait_for_next(const struct hf_runtime *runtime)
{
    struct hf_runtime *current = runtime->slot->current;
    if (current && current != runtime)
        hf_refusals_next(current);
}

static void review(struct hf_runtime *runtime)
{
    struct hf_remote *remote = runtime->remote;
    const bool is_session = !runtime->is_modern && (remote->session_id || remote->endpoint);
    const bool has_doubt = next_doubted(runtime, false) || remote->refusal;
    if (hf_runtime_is_renewing(runtime) || (!has_doubt && !remote->listen_refusal))
        return;
    const bool is_strangers = is_session && has_doubt, is_known = wants_to_know(runtime);
    if (is_strangers)
        send_inquiry(runtime, &remote->stranger);
    if (is_known)
        send_inquiry(runtime, &remote->known);
    if ((is_strangers && !remote->stranger.is_over) || (is_known && !remote->known.is_over))
        return;
    const int met = remote->known.status, heard = remote->listen_refusal;
    remote->listen_refusal = 0;
    if (runtime->holds & HF_HOLD_UNCLEAR)
        hf_slot_mark(runtime->slot);
    hf_runtime_hold(runtime, HF_HOLD_UNCLEAR, false);
    const bool is_sure = met && (met == 404 || met == heard);
    const bool is_hurt = heard && is_session && runtime->machine.state == HF_RUNTIME_LIVE;
    if (is_hurt && !remote->refusal && (is_sure || remote->known.form.status)) {
        hf_remote_refused(runtime, heard, is_sure ? NULL : &remote->known.form);
        return;
    }
    const bool still_serves = is_known && remote->known.is_served && was_renewed_lately(runtime);
    const bool may_renew = runtime->is_modern || !still_serves;
    int status = 0;
    if (is_refusal_confirmed(remote) && may_renew)
        status = remote->refusal;
    else if (runtime->is_modern && heard && met == heard)
        status = met;
    if (remote->refusal)
        hf_slot_mark(runtime->slot); /* waiting calls may go on, or wait for another session */
    set_refusal(runtime, 0);
    const struct turned_away away = sort_calls(runtime, may_renew);
    if (status || away.like_stranger)
        session_is_gone(runtime, status ? status : away.like_stranger);
    else if (away.otherwise && !is_known)
        hf_remote_call_refused(runtime, away.otherwise);
    wait_for_next(runtime);
}

/* ---- refusals come in ---- */

/* A call that was sent under an older session is judged by what was learned of that session. */
void hf_refusal_examine(struct hf_call *call, const struct hf_refusal *doubt)
{
    struct hf_runtime *runtime = call->runtime;
    const struct hf_settings *settings = &runtime->server->settings;
    const uint32_t patience = settings->wait_ms ? settings->wait_ms : settings->start_timeout_ms;
    if (doubt->session == runtime->remote->session)
        forget_old(runtime, &doubt->form);
    struct hf_detour *detour = hf_call_make_detour(call);
    detour->refusal = hf_new(struct hf_refusal);
    *detour->refusal = *doubt;
    detour->settle_by_ms = call->engine->now_ms + patience;
    hf_call_arm(call);
    if (doubt->session == runtime->remote->session) {
        review(runtime);
        return;
    }
    hf_call_refusal(call)->waits = is_like_stranger(runtime, doubt);
    if (!hf_call_refusal(call)->waits)
        settle_unproven(call);
    else if (runtime->slot->current)
        hf_refusals_next(runtime->slot->current);
}

/* `form` NULL: the refusal says in any case that the session is not known. */
void hf_remote_refused(struct hf_runtime *runtime, int status, const struct hf_form *form)
{
    struct hf_remote *remote = runtime->remote;
    if (runtime->machine.state > HF_RUNTIME_LIVE)
        return;
    if (runtime->machine.state < HF_RUNTIME_LIVE ||
        hf_runtime_is_renewing(runtime)) { /* the session's first use */
        if (!form)
            session_is_gone(runtime, status);
        return;
    }
    forget_old(runtime, NULL);
    if (!remote->refusal || !form) {
        set_refusal(runtime, status);
        remote->refusal_form = form ? *form : (struct hf_form) { 0 };
    }
    review(runtime);
}

void hf_remote_stream_refused(struct hf_runtime *runtime, int status)
{
    forget_old(runtime, NULL);
    runtime->remote->listen_refusal = status;
    review(runtime);
}

void hf_remote_call_refused(struct hf_runtime *runtime, int status)
{
    const struct hf_remote *remote = runtime->remote;
    const bool is_session = !runtime->is_modern && (remote->session_id || remote->endpoint);
    if (status < 400 || status >= 500 || status == 429 || !is_session ||
        hf_runtime_is_renewing(runtime) || runtime->machine.state != HF_RUNTIME_LIVE ||
        was_renewed_lately(runtime))
        return;
    hf_runtime_hold(runtime, HF_HOLD_UNCLEAR, true);
    hf_remote_stream_refused(runtime, status);
}

/* ---- the next session or runtime ---- */

static struct hf_call *next_waiting(const struct hf_slot *slot, const struct hf_runtime *on)
{
    const uint64_t session = on ? on->remote->session : 0;
    const struct hf_runtime *runtime;
    HF_LIST_EACH (runtime, &slot->runtimes, struct hf_runtime, link) {
        struct hf_call *call;
        HF_LIST_EACH (call, &runtime->calls, struct hf_call, link) {
            if (hf_call_refusal(call) && hf_call_refusal(call)->waits &&
                (runtime != on || hf_call_refusal(call)->session != session))
                return call;
        }
    }
    return NULL;
}

static void judge_waiting(struct hf_runtime *runtime)
{
    const struct hf_inquiry *known = &runtime->remote->known;
    struct hf_call *call;
    while ((call = next_waiting(runtime->slot, runtime))) {
        const bool is_other =
            known->form.status && !hf_form_same(&known->form, &hf_call_refusal(call)->form);
        if (hf_call_refusal(call)->is_of_era || known->is_served || is_other)
            settle_refused(call);
        else
            settle_unproven(call);
    }
}

void hf_refusals_next(struct hf_runtime *runtime)
{
    const struct hf_call *call = next_waiting(runtime->slot, runtime);
    if (!call || runtime != runtime->slot->current || hf_runtime_is_renewing(runtime))
        return;
    if (!hf_call_refusal(call)->is_of_era)
        send_inquiry(runtime, &runtime->remote->known);
    if (hf_call_refusal(call)->is_of_era || runtime->remote->known.is_over)
        judge_waiting(runtime);
}

void hf_refusals_in_vain(struct hf_slot *slot)
{
    struct hf_call *call;
    while ((call = next_waiting(slot, NULL)))
        settle_unproven(call);
}

/* ---- inquiries are answered ---- */

static struct hf_inquiry *inquiry_of(const struct hf_call *call)
{
    struct hf_remote *remote = call->runtime->remote;
    return remote->known.call == call      ? &remote->known
           : remote->stranger.call == call ? &remote->stranger
                                           : NULL;
}

static void left(struct hf_call *call)
{
    struct hf_inquiry *inquiry = inquiry_of(call);
    if (inquiry) {
        inquiry->call = NULL;
        inquiry->is_over = true;
    }
}

bool hf_inquiry_is_stranger(const struct hf_call *call)
{
    return call && call->owner->purpose == HF_FOR_INQUIRY &&
           call->runtime->remote->stranger.call == call;
}

static void go_on(struct hf_runtime *runtime, const struct hf_inquiry *inquiry)
{
    review(runtime);
    if (inquiry == &runtime->remote->known && runtime == runtime->slot->current &&
        inquiry->session == runtime->remote->session)
        judge_waiting(runtime);
}

void hf_inquiry_over(struct hf_call *call, int status, bool is_read, const struct hf_form *form)
{
    struct hf_runtime *runtime = call->runtime;
    struct hf_inquiry *inquiry = inquiry_of(call);
    hf_call_end_ours(call);
    if (!inquiry)
        return;
    inquiry->is_served = false;
    inquiry->status = status;
    inquiry->is_read = is_read;
    inquiry->form = form ? *form : (struct hf_form) { 0 };
    go_on(runtime, inquiry);
}

/* An error with the inquiry's id is an answer as well: the server has let the inquiry in. With a
 * 4xx it may be a refusal instead: exchange_end.c judges that first. */
static void answered(struct hf_call *call, const struct hf_msg *msg)
{
    struct hf_runtime *runtime = call->runtime;
    struct hf_inquiry *inquiry = inquiry_of(call);
    const bool is_unknown = runtime->is_modern && hf_msg_error_code(msg) == -32601;
    hf_call_end_ours(call);
    if (!inquiry)
        return;
    inquiry->is_served = true;
    inquiry->status = 0;
    inquiry->form = (struct hf_form) { 0 };
    go_on(runtime, inquiry);
    if (is_unknown && runtime->server->settings.era == HF_ERA_UNKNOWN)
        hf_remote_session_gone(runtime, 0);
}
