/*
 * inner.h - what the files of src/core do for each other, file by file; state.h includes it.
 */
#ifndef HF_CORE_INNER_H
#define HF_CORE_INNER_H

#include "core/state.h"

/* outbox.c: what an event leaves behind */
struct hf_effect *hf_emit(struct hf_engine *engine, enum hf_effect_kind kind);
void hf_note(struct hf_engine *engine, enum hf_note_level level, const struct hf_server *server,
             uint64_t generation, const char *format, ...) HF_PRINTF(5, 6);
void hf_bury(struct hf_engine *engine, void (*bury)(void *), void *p);
double hf_random_share(struct hf_engine *engine); /* [0, 1) */
static inline void hf_set_now(struct hf_engine *engine, struct hf_now now)
{
    engine->now_ms = now.mono_ms;
    engine->wall_ms = now.wall_ms;
}

void hf_mark(struct hf_engine *engine, enum hf_mark_kind kind, struct hf_link *mark);
static inline void hf_server_mark(struct hf_server *server)
{
    hf_mark(server->engine, HF_MARK_SERVER, &server->mark);
}
static inline void hf_slot_mark(struct hf_slot *slot)
{
    hf_mark(slot->server->engine, HF_MARK_SLOT, &slot->mark);
}

struct hf_buf hf_draft(void); /* a buffer for one message */
struct hf_span hf_draft_end(struct hf_engine *engine,
                            struct hf_buf *draft); /* until collect; frees the draft */

/* reviews.c: what is marked is looked at again when the event is handled */
void hf_reviews_drain(struct hf_engine *engine);

/* say.c: messages of our own making */
/* `via` 0: belongs to no request. */
void hf_session_send(struct hf_session *session, uint64_t via, struct hf_span message);
/* What a client was asked (`id`) is of no use any more. */
void hf_session_send_cancelled(struct hf_session *session, uint64_t via, uint64_t id);
/* `text` with `by` in the place of `cut` */
void hf_session_send_spliced(struct hf_session *session, uint64_t via, struct hf_span text,
                             struct hf_span cut, struct hf_span by);
/* A stream that a client listened on ends without an answer. */
void hf_session_end_stream(struct hf_session *session, uint64_t via);
/* Answers to a request that has not become a call. */
void hf_reply_result(const struct hf_incoming *in, struct hf_span result);
void hf_reply_error_data(const struct hf_incoming *in, int code, const char *text,
                         struct hf_span data); /* raw; n 0: none */
void hf_reply_error(const struct hf_incoming *in, int code, const char *format, ...)
    HF_PRINTF(3, 4);
void hf_reply_failure(const struct hf_incoming *in, struct hf_server *server, enum hf_error error,
                      const char *reason, const char *sentence); /* `server` may be NULL */
/* A notification: dropped where no more is taken, and then false. */
bool hf_runtime_notify(struct hf_runtime *runtime, struct hf_span message);
void hf_call_notify_server(const struct hf_call *call,
                           struct hf_span message); /* to its own session */

/* tell.c: responses to servers; one that takes no more of them is lost */
void hf_runtime_respond(struct hf_runtime *runtime, struct hf_span message);
void hf_runtime_respond_error(struct hf_runtime *runtime, struct hf_span id, int code,
                              const char *text);

/* moves.c: what a move of a slot does */
void hf_slot_begin_attempt(struct hf_slot *slot, bool is_extra);
void hf_slot_probe_later(struct hf_slot *slot);
void hf_slot_attempt_anew(
    struct hf_slot *slot); /* the running one taught us something: uncharged */
/* server.c: slots */
unsigned hf_slot_event(struct hf_slot *slot, enum hf_slot_event event); /* the effects */
struct hf_slot *hf_slot_of(const struct hf_server *server, const struct hf_session *session);
/* Makes one of its own where it needs one; NULL: there are as many as maxRuntimes allows. */
struct hf_slot *hf_slot_for(struct hf_server *server, struct hf_session *session);
void hf_slot_set_owner(struct hf_slot *slot, struct hf_session *owner); /* NULL: nobody */
void hf_slot_attempt_failed(struct hf_slot *slot, bool is_charged);
void hf_slot_touch(struct hf_slot *slot);        /* used just now: the idle clock starts anew */
void hf_slot_runtime_gone(struct hf_slot *slot); /* one of its runtimes is */
void hf_slot_review_waiting(struct hf_slot *slot);
void hf_slot_waited_for(struct hf_slot *slot);   /* and tried again for that */
void hf_slot_tell_waiting(struct hf_slot *slot); /* progress: an attempt begins */
void hf_slot_due(struct hf_slot *slot);
void hf_slot_idle(struct hf_slot *slot);
void hf_slot_relist(struct hf_slot *slot);
void hf_slots_drop_owner(struct hf_session *session); /* it is gone, and so are its own slots */
static inline bool hf_slot_has_attempt(const struct hf_slot *slot)
{
    return slot->attempt || slot->attempt_waits;
}
/* Until its next attempt; -1: none is due. */
static inline int64_t hf_slot_retry_after_ms(const struct hf_slot *slot)
{
    const uint64_t now = slot->server->engine->now_ms;
    if (!slot->due.at_ms)
        return -1;
    return slot->due.at_ms > now ? (int64_t)(slot->due.at_ms - now) : 0;
}
void hf_server_reason(struct hf_server *server, const char *format, ...) HF_PRINTF(2, 3);
void hf_server_not_before(struct hf_server *server, int64_t retry_after_ms); /* -1: no such wish */
static inline struct hf_slot *hf_server_slot(const struct hf_server *server)
{
    return HF_LIST_FIRST(&server->slots, struct hf_slot, link); /* the shared or first one */
}
void hf_server_review(struct hf_server *server);  /* are its names still to be published? */
void hf_server_destroy(struct hf_server *server); /* at the end of the engine */
void hf_server_unref(struct hf_server *server);
/* reviews.c: it was removed and nothing of it is left. */
void hf_server_forget(struct hf_server *server);
/* What clients are shown of it is not what it was. */
void hf_server_list_changed(struct hf_server *server, enum hf_part_id part);
void hf_server_news(struct hf_server *server, enum hf_part_id part, enum hf_news news);

/* life.c: runtimes */
struct hf_runtime *hf_runtime_new(struct hf_slot *slot);
void hf_runtime_event(struct hf_runtime *runtime, enum hf_runtime_event event);
void hf_runtime_discard(struct hf_runtime *runtime); /* at the end of the engine */
void hf_runtime_maybe_greet(struct hf_runtime *runtime);
void hf_runtime_maybe_drained(struct hf_runtime *runtime);
void hf_runtime_timer(struct hf_runtime *runtime, enum hf_timer_kind kind);
extern const struct hf_transport_ops hf_pipe_transport; /* pipe.c */
/* No answer can come any more, and what was taken back is known: its calls are judged. */
void hf_runtime_maybe_settle(struct hf_runtime *runtime);
void hf_runtime_lose(struct hf_runtime *runtime, enum hf_runtime_event how); /* it must go: lost */

/* hello.c: handshake and lists */
void hf_handshake_begin(struct hf_runtime *runtime);
void hf_listing_install(
    struct hf_runtime *runtime); /* what it said and lists becomes the server's */
void hf_listing_answered(struct hf_call *call, const struct hf_msg *msg);
void hf_listing_again(struct hf_runtime *runtime, enum hf_part_id part);
void hf_listing_announced(struct hf_runtime *runtime,
                          enum hf_part_id part); /* by the server itself */
void hf_listing_drop(struct hf_runtime *runtime);
extern const struct hf_call_owner hf_restore_owner;
void hf_runtime_restore(struct hf_runtime *runtime); /* log level and subscriptions */
void hf_log_level_restore(struct hf_runtime *runtime);

void hf_handshake_introduced(struct hf_runtime *runtime);   /* it heard our `initialized` */
void hf_handshake_client_ready(struct hf_runtime *runtime); /* so it may hear it now */
void hf_handshake_discovered(struct hf_runtime *runtime, struct hf_span result); /* modern, too */
/* An attempt that cannot be used is closed politely; its slot is told first. */
void hf_handshake_give_up(struct hf_runtime *runtime, const char *what, const struct hf_msg *msg);

/* probe.c */
void hf_era_probe_begin(struct hf_runtime *runtime);
/* Its initialize failed, and it was not asked yet whether it has moved on. */
bool hf_era_probe_may_help(const struct hf_runtime *runtime);
void hf_era_probe_is_legacy(struct hf_runtime *runtime);
void hf_era_probe_sign_of_life(struct hf_runtime *runtime);
void hf_era_probe_timer(struct hf_runtime *runtime);

/* call.c */
void hf_call_set_stage(struct hf_call *call, enum hf_call_stage to); /* its only writer */
/* NULL: too much is under way already, and the client was told. */
struct hf_call *hf_call_new(const struct hf_incoming *in, const struct hf_call_owner *owner);
struct hf_call *hf_call_ours(struct hf_runtime *runtime, const struct hf_call_owner *owner,
                             const struct hf_method *method, struct hf_span params);
struct hf_call *hf_call_at(const struct hf_engine *engine, uint64_t id); /* NULL: none any more */
/* Only one whose server can have read it. */
struct hf_call *hf_call_by_id(struct hf_runtime *runtime, uint64_t id);
void hf_call_cut(struct hf_call *call, struct hf_span span, struct hf_span by);
/* Out of whatever it waits in or was sent to; the runtime it leaves, or NULL. hf_call_left is to
 * follow. */
struct hf_runtime *hf_call_step_aside(struct hf_call *call);
/* Takes it out of its runtime; true if its half-written line must still be finished. */
bool hf_call_leave_runtime(struct hf_call *call);
/* A call has gone: there may be room for another, or it was the last that was waited for. */
void hf_call_left(struct hf_runtime *before);
/* For answer.c: out of all lists, and buried. */
void hf_call_release(struct hf_call *call);

/* answer.c: the one exit of a client's call */
void hf_call_answer(struct hf_call *call, struct hf_answer answer);
void hf_call_fail(struct hf_call *call, enum hf_error error, const char *reason, const char *format,
                  ...) HF_PRINTF(4, 5);
void hf_call_cancel(struct hf_call *call, struct hf_span reason);
void hf_call_end_ours(struct hf_call *call); /* one of our own: nobody is told */
void hf_answer_leave(struct hf_call *call, const struct hf_answer *answer); /* for seam.c */
/* `rest`: from behind the id on. */
struct hf_answer hf_answer_rest(enum hf_outcome outcome, int code, struct hf_span rest);
struct hf_answer hf_answer_result(struct hf_span result);
struct hf_answer hf_answer_as_it_came(const struct hf_msg *msg); /* from the server */
/* A holdfast behind us answered for a server that did not: that outcome counts here too. */
void hf_answer_take_over_outcome(struct hf_answer *answer, const struct hf_msg *msg);
struct hf_answer hf_answer_error(struct hf_engine *engine, int code, const char *text,
                                 struct hf_span data);
struct hf_answer hf_answer_failure(struct hf_engine *engine, enum hf_error error,
                                   const struct hf_error_facts *facts, enum hf_failure_form form);
/* `server` NULL: none is known. */
enum hf_failure_form hf_failure_form_of(const struct hf_session *session,
                                        const struct hf_server *server,
                                        const struct hf_method *method, struct hf_span params,
                                        bool is_modern);
enum hf_failure_form hf_call_failure_form(const struct hf_call *call);
/* " (why)" for a sentence, or ""; good until collect. */
const char *hf_because(struct hf_engine *engine, const char *why);
void hf_answer_add_rest(struct hf_buf *out, const struct hf_answer *answer);
void hf_reply(const struct hf_incoming *in, struct hf_answer answer);

/* verdict.c: calls that were lost */
void hf_call_lost(struct hf_call *call, struct hf_stream_facts facts);
/* The only function that sends bytes of a call again. */
void hf_call_judge(struct hf_call *call, struct hf_loss loss);

/* seam.c: calls that wait for somebody else */
bool hf_seam_must_clear(const struct hf_call *call);
void hf_seam_clear(struct hf_call *call);   /* asks for leave to send it */
void hf_seam_cleared(struct hf_call *call); /* it waits for that no more */
void hf_seam_too_late(struct hf_call *call);
bool hf_seam_must_keep(const struct hf_call *call, const struct hf_answer *answer);
void hf_seam_keep(struct hf_call *call, const struct hf_answer *answer);
void hf_seam_let_go(struct hf_call *call);             /* the answer that was kept leaves */
void hf_seam_free_answer(struct hf_kept_answer *kept); /* NULL accepted */

/* wait.c */
void hf_call_arm(struct hf_call *call);                   /* for the nearest of its deadlines */
bool hf_slot_is_full(const struct hf_slot *slot);         /* connected, and at its maxInFlight */
void hf_call_stop_clock(struct hf_call *call, bool stop); /* of callTimeoutMs, or let it go on */
void hf_call_arrive(struct hf_call *call, struct hf_slot *slot);
void hf_call_wait(struct hf_call *call);                    /* joins its client's turn, by age */
void hf_call_unwait(struct hf_call *call);                  /* leaves it */
void hf_call_rested(struct hf_call *call);                  /* it may be sent again */
int64_t hf_call_retry_after_ms(const struct hf_call *call); /* -1: nobody knows */
void hf_call_refuse_by_state(struct hf_call *call); /* switched off, given up, shutting down */

void hf_call_dispatch(struct hf_call *call, struct hf_runtime *runtime);
void hf_call_written(struct hf_call *call);   /* its whole line is out */
void hf_call_abandoned(struct hf_call *call); /* and will never be */
/* Its server is told, if it got it; the call is ended next. `reason` raw, n 0: none. */
void hf_call_take_back(struct hf_call *call, struct hf_span reason);
void hf_call_withdraw(struct hf_call *call); /* one of ours that nobody needs any more */
void hf_call_timer(struct hf_call *call);
void hf_call_move(struct hf_call *call,
                  struct hf_slot *slot); /* answered "not mine": ask another */
/* Answered, but not at its end: it leaves its server until its client has answered too. */
void hf_call_pause(struct hf_call *call);
void hf_call_continue(struct hf_call *call);
/* frame.c */
/* What it keeps of `before` bytes is `now` as many. */
void hf_call_weigh(struct hf_call *call, size_t before, size_t now);
void hf_frame_build(struct hf_call *call);
/* Its call was answered before the newline of its line went out: that follows on its own. */
void hf_frame_leave_newline(struct hf_call *call);
void hf_slot_flush(struct hf_slot *slot); /* dispatches what waits, as far as there is room */
void hf_slot_fail_waiting(struct hf_slot *slot);
void hf_frame_free(void *frame);

/* welcome.c */
void hf_initialize_confirmed(struct hf_session *session); /* it said so, or went on without */
/* What its only server said of itself, also just now; p NULL: nothing yet. */
struct hf_span hf_initialize_server_result(const struct hf_session *session);
/* The one client that can be asked for its roots may be another: servers hear of it. */
void hf_initialize_review_roots(struct hf_engine *engine);
void hf_initialize_params(struct hf_session *session,
                          struct hf_span params); /* of its initialize */
/* One that does not introduce itself is served as one that can do nothing special. */
void hf_initialize_stranger(struct hf_session *session);
struct hf_span hf_initialize_result(struct hf_session *session); /* of its initialize */
void hf_initialize_modern(struct hf_session *session, const struct hf_msg *msg);
void hf_initialize_add_capabilities(struct hf_buf *out, struct hf_span capabilities);
void hf_initialize_add_instructions(struct hf_buf *out, const struct hf_session *session);

/* modern.c */
/* Refuses what is wrong with its introduction, and says whether it did. */
bool hf_modern_refuse_wrong(const struct hf_incoming *in);
struct hf_span hf_modern_discover_result(struct hf_session *session);
/* A result of ours as a modern client expects it; good until collect. */
struct hf_span hf_modern_dressed(struct hf_session *session, struct hf_span result,
                                 bool is_cacheable);
/* Who answers, for the `_meta` of a result; no comma. */
void hf_modern_add_info(struct hf_buf *out, const struct hf_session *session);
/* A legacy server's answer as a modern client gets it, from behind the id on. */
void hf_modern_add_rest(struct hf_buf *out, const struct hf_call *call, const struct hf_msg *msg,
                        int *ret_code);
/* A legacy server asked what the client of a modern request cannot answer: if it fails for that,
 * the client is told what it would need. */
void hf_modern_lacks(struct hf_runtime *runtime, struct hf_call *origin,
                     const struct hf_session *session, const struct hf_method *method,
                     struct hf_span params);
/* Whether a legacy server's answer cannot go to a modern client as it is. */
bool hf_modern_changes(const struct hf_call *call, const struct hf_msg *msg);

/* inbox/client_call.c */
extern const struct hf_call_owner hf_client_call_owner;
/* inbox/route.c */
void hf_request_route(const struct hf_incoming *in);
/* The next server, in config order, that may have a resource nobody lists. */
struct hf_server *hf_request_next_with_resources(struct hf_session *session,
                                                 struct hf_server *after);
/* Refuses what would make us remember too much of its client, and says whether it did. */
bool hf_request_refuses_to_keep(const struct hf_incoming *in, size_t bytes);
/* held.c: lists and initializes that wait for knowledge */
void hf_held_take(const struct hf_incoming *in, enum hf_part_id part);
void hf_held_review(struct hf_server *server); /* whoever waits for that server */
struct hf_answer hf_list_answer(struct hf_session *session, bool is_modern, enum hf_part_id part,
                                struct hf_span cursor);
/* settle.c: calls of a client that has finished, or leaves */
void hf_session_settle(struct hf_session *session); /* it has finished */
void hf_session_maybe_settle(struct hf_session *session);
/* Some call of its was, just now. */
void hf_session_dispatched(struct hf_session *session, const struct hf_server *server);
void hf_session_timer(struct hf_session *session);
/* When a dispatched call has had its drainMs, counted from the last dispatch of its client. */
uint64_t hf_session_drain_end(const struct hf_session *session, const struct hf_server *server);
/* The timer may come too early, and is set again then: so no call that ends or is dispatched has to
 * look at all the others. */
void hf_session_settle_by(struct hf_session *session, uint64_t at_ms);
/* use.c: which servers a client has used */
void hf_uses_forget(struct hf_server *server); /* it is removed: nothing may point to it */
void hf_uses_drop(struct hf_session *session);
/* What a client makes us remember is bounded: for each, and for all of them together. */
bool hf_session_may_remember(const struct hf_session *session, size_t bytes);
void hf_session_remember(struct hf_session *session, size_t bytes);
void hf_session_forget_bytes(struct hf_session *session, size_t bytes);
bool hf_session_uses(const struct hf_session *session,
                     const struct hf_server *server); /* its door */
struct hf_use *hf_session_use(struct hf_session *session, struct hf_server *server);
struct hf_use *hf_session_find_use(const struct hf_session *session,
                                   const struct hf_server *server); /* NULL: never used */

/* park_ask.c: modern clients that are asked by legacy servers */
/* False: not for a modern client. `origin` NULL: not known. */
bool hf_park_asked(struct hf_runtime *runtime, struct hf_call *origin, struct hf_session *session,
                   const struct hf_method *method, const struct hf_msg *msg);
/* The server's -32042, and its client can be asked that: the call is to wait for the retry. */
bool hf_park_wants_url(const struct hf_call *call, const struct hf_msg *msg);
void hf_park_ask_url(struct hf_call *call, const struct hf_msg *msg);
bool hf_park_is_for(const struct hf_method *method);
/* given.c: answers the server's question from what the request brought along; false: cannot. */
bool hf_early_answer(struct hf_call *call, enum hf_method_id method, const struct hf_msg *question);

/* park.c */
extern const struct hf_bridge_ops hf_bridge_ops;
void hf_park_stop_asking(struct hf_park *park); /* its call is about to end */
void hf_park_progress(struct hf_call *call, const struct hf_msg *msg, struct hf_span token);
void hf_park_timer(struct hf_park *park);
void hf_parks_drop(struct hf_session *session, const char *why); /* nobody can come for them */
void hf_parks_stop(struct hf_session *session);
/* It has no client side: only its waiters are told of it. */
static inline bool hf_call_is_parked(const struct hf_call *call)
{
    return call->park && call->stage != HF_CALL_JOINED && !hf_linked(&call->in_session);
}
/* Where its client hears of it; 0: nobody waits for it. */
static inline uint64_t hf_call_via(const struct hf_call *call)
{
    return hf_call_is_parked(call) ? call->engine->bridge->via(call) : call->via;
}
/* park.c, for park_ask.c and retry.c */
struct hf_park *hf_park_new(struct hf_call *call);
struct hf_round *hf_park_newest(const struct hf_park *park); /* NULL: none yet */
bool hf_park_is_asked(const struct hf_park *park);           /* and not answered yet */
/* Its call is with no server from here on; it may outlive the one it was with, and so may those
 * that wait for it. */
void hf_park_leave_server(struct hf_park *park);
bool hf_park_may_charge(const struct hf_engine *engine, size_t bytes);
void hf_park_charge(struct hf_park *park, size_t bytes);
void hf_park_set_capabilities(struct hf_park *park, struct hf_span capabilities);
void hf_park_gather(struct hf_park *park); /* if there is something to be asked */
/* One of its asks has ended because nobody came: with the last of them its clock runs on. */
void hf_park_unanswered(struct hf_park *park);
void hf_park_rearm(struct hf_park *park);
/* Asks: `requests` are the members of inputRequests. */
void hf_park_put(struct hf_park *park, struct hf_span requests, const struct hf_server *server);
struct hf_answer hf_park_saying(const struct hf_park *park, const struct hf_saying *saying);
struct hf_span hf_park_response(struct hf_span responses, const struct hf_server_request *ask);
/* Tells the server what its client answered in that round. */
void hf_park_tell(struct hf_park *park, uint32_t round, struct hf_span responses);
void hf_park_refuse_asks(struct hf_park *park, bool only_unasked, const char *why);

/* retry.c */
void hf_park_bind(const struct hf_session *session, const struct hf_method *method,
                  struct hf_span params, uint8_t ret_bound[HF_SHA256_SIZE]);
/* It continues a parked call, or did. */
bool hf_retry_is_ours(const struct hf_incoming *in);
void hf_retry_take(const struct hf_incoming *in);
/* What its requestState is worth at that server. */
enum hf_retry_state {
    HF_RETRY_STATELESS,
    HF_RETRY_STATE_OF_SERVER, /* or so it may be: the server will tell */
    HF_RETRY_STATE_LOST,      /* of another holdfast, or of an earlier life of this one */
    HF_RETRY_STATE_BAD,
};
enum hf_retry_state hf_retry_state(const struct hf_incoming *in, const struct hf_server *server);
void hf_retry_refuse(const struct hf_incoming *in, struct hf_server *server,
                     enum hf_retry_state state);
/* It carries a state, and its server turned out to give none. */
bool hf_retry_is_misplaced(const struct hf_call *call);
void hf_retry_refuse_misplaced(struct hf_call *call);

/* tasks.c */
void hf_task_made(const struct hf_call *call, struct hf_span result); /* if it says so */
/* The server that made it, as far as this client may use it; NULL: not known. */
struct hf_server *hf_task_server(struct hf_session *session, struct hf_span raw_id);
bool hf_task_news(struct hf_runtime *runtime, const struct hf_msg *msg); /* false: not of a task */
void hf_tasks_leave(struct hf_session *session);
void hf_tasks_forget(struct hf_engine *engine, const struct hf_server *server); /* NULL: all */

/* input.c */
bool hf_input_is_required(const struct hf_msg *msg);
void hf_input_ask(struct hf_call *call, const struct hf_msg *msg); /* its client, for its server */
bool hf_input_answered(struct hf_session *session, const struct hf_msg *msg); /* false: not ours */
bool hf_input_answer_oversized(struct hf_session *session,
                               struct hf_span id);  /* it was too large */
void hf_input_timed_out(struct hf_call *call);      /* askMs is over */
void hf_input_drop(struct hf_call *call);           /* its questions; the call is about to end */
void hf_input_free(struct hf_input *input);         /* NULL accepted */
void hf_input_finished(struct hf_session *session); /* it can answer nothing any more */
/* The server went back to the older era since it asked. */
bool hf_input_is_misplaced(const struct hf_call *call);
void hf_input_refuse_misplaced(struct hf_call *call);

/* ask.c: requests of servers to clients */
bool hf_client_can_be_asked(struct hf_span capabilities, enum hf_method_id method,
                            struct hf_span params);
/* Whom a message of that server is for; NULL: nobody can tell. */
struct hf_session *hf_choose_client_of(const struct hf_runtime *runtime,
                                       const struct hf_call *origin);
bool hf_call_is_forsaken(const struct hf_call *call); /* its client has been gone for goneMs */
void hf_choose_client(struct hf_runtime *runtime, struct hf_call *origin, const struct hf_msg *msg);
void hf_choose_client_timer(struct hf_server_request *ask);
void hf_server_request_new(struct hf_runtime *runtime, struct hf_session *session, uint64_t via,
                           const struct hf_method *method, const struct hf_msg *msg);
void hf_server_request_cancelled(struct hf_runtime *runtime, const struct hf_msg *msg);
void hf_server_requests_send_early(struct hf_session *session); /* it has said `initialized` */
void hf_server_request_timer(struct hf_server_request *ask);
void hf_server_request_arm(struct hf_server_request *ask); /* its time runs from since_ms on */
void hf_server_requests_drop(struct hf_runtime *runtime);
bool hf_server_request_answered(struct hf_session *session,
                                const struct hf_msg *msg); /* false: not ours */
void hf_server_request_end(struct hf_server_request *ask);
extern const char hf_not_declared[]; /* said of what a client cannot be asked */
bool hf_server_request_answer_oversized(struct hf_session *session,
                                        struct hf_span id); /* it was too large */

/* upward.c: what servers send */
/* `origin`: the call on whose own stream it came; NULL: not known. */
void hf_server_message(struct hf_runtime *runtime, struct hf_call *origin, struct hf_span text);
void hf_server_message_oversized(struct hf_runtime *runtime, const struct hf_json_skim *skim);

/* liveness.c */
void hf_check_maybe(struct hf_runtime *runtime);
void hf_check_timer(struct hf_runtime *runtime);
void hf_check_answered(struct hf_runtime *runtime);
void hf_check_suspect(struct hf_runtime *runtime);     /* one call was lost to it */
void hf_check_answer_came(struct hf_runtime *runtime); /* to any other call */
void hf_check_waited(struct hf_runtime *runtime);      /* calls wait no longer for a check */
void hf_stall_timer(struct hf_runtime *runtime);
extern const struct hf_call_host hf_call_host;

/* view.c: lists under the names of a door */
struct hf_view;
struct hf_target { /* what a name stands for */
    struct hf_server *server;
    struct hf_span own_name; /* raw JSON string; p NULL: as the client wrote it */
    bool is_idempotent, is_denied, is_guess;
};
struct hf_span hf_view_page(struct hf_session *session, enum hf_part_id part, struct hf_span cursor,
                            struct hf_err *err); /* p NULL: a bad cursor */
bool hf_view_resolve(struct hf_session *session, enum hf_part_id part, struct hf_span raw_name,
                     struct hf_target *ret_target);
struct hf_server *hf_view_template_server(struct hf_session *session, struct hf_span raw_uri);
void hf_view_unref(struct hf_view *view);                                 /* NULL accepted */
bool hf_view_is_newest(struct hf_session *session, enum hf_part_id part); /* that it was given */
void hf_audience_drop_views(struct hf_audience *door);

/* door.c: clients that have their servers and their policy in common */
void hf_audience_join(struct hf_session *session);
void hf_audience_leave(struct hf_session *session);
void hf_audience_greeted(struct hf_session *session);
void hf_audiences_forget(struct hf_engine *engine, const struct hf_server *only); /* NULL: all */
/* The only client that has been greeted and may use that server; NULL: none, or several. */
struct hf_session *hf_audiences_sole_client(const struct hf_server *server);
bool hf_audiences_have_client(const struct hf_server *server);
void hf_session_set_level(struct hf_session *session, int level); /* -1: none */
int hf_audiences_lowest_level(const struct hf_server *server);    /* that a client set; -1: none */
bool hf_audience_sees(const struct hf_audience *door, const struct hf_server *server);
/* list_changes.c */
void hf_audiences_hear(
    struct hf_server *server); /* what of it changed, of which nobody was told yet */
void hf_audiences_tell(struct hf_engine *engine); /* in portions of a turn */

/* policy.c */
bool hf_policy_allows(const struct hf_policy *policy, const struct hf_server *server,
                      struct hf_span own_name); /* plain */

/* rules.c */
void hf_rules_set(struct hf_rule_set *rules, const struct hf_server_spec *spec);
void hf_rules_done(struct hf_rule_set *rules);
bool hf_rules_same(const struct hf_rule_set *a, const struct hf_rule_set *b);
bool hf_rules_allow(const struct hf_rule_set *rules, struct hf_span name);
const struct hf_rename *hf_rules_find(const struct hf_rename *list, size_t count,
                                      struct hf_span from);

#endif
