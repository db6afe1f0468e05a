/*
 * servers.h - what the files that play servers do for each other and for the shell; sim.h includes
 * it.
 */
#ifndef HF_TEST_SERVERS_H
#define HF_TEST_SERVERS_H

#include "handles.h"
#include "sim.h"

/* what the engine has of this shell */
HANDLE_IS(hf_server_config, instance)
HANDLE_IS(hf_backend, child)
HANDLE_IS(hf_backend_exchange, exchange)
HANDLE_IS(hf_sink, client)

/* operators.c */
extern const char *const seat_names[SERVERS];
struct hf_settings operator_settings(struct sim *sim);
struct personality operator_personality(struct sim *sim); /* of a child */
struct instance *operator_add(struct sim *sim, int seat);
void operator_act(struct sim *sim);
void operator_do(struct sim *sim, struct instance *instance, enum hf_op op);
void operator_change(struct sim *sim, struct instance *instance, struct hf_settings settings,
                     bool restart); /* its problem, if it had one, is solved */

/* world.c */
struct child *child_spawn(struct sim *sim, struct hf_runtime *runtime);
void child_perform(struct sim *sim, struct child *child, enum hf_effect_kind effect);
void child_release(struct sim *sim, struct child *child);
void child_write(struct sim *sim, struct child *child); /* from us into its stdin */
void child_act(struct sim *sim, struct child *child);   /* its wake time has come */
void child_die(struct sim *sim, struct child *child, int wait_status);
void child_become_sane(struct sim *sim, struct child *child);
bool child_has_eof(const struct child *child);
void child_drop(struct sim *sim, struct child *child); /* nothing of it is left in the world */
int key_of(struct hf_span line);                       /* of a message; -1: of no request */

/* talk.c; what is said goes to child->out */
void talk_receive(struct sim *sim, struct child *child, struct hf_span text, int request);
void talk_answer(struct sim *sim, struct child *child, struct pending *pending);
void talk_noise(struct sim *sim, struct child *child);
void talk_error(struct child *child, uint64_t id, int code);
void talk_ask(struct sim *sim, struct child *child, int request); /* -1: of no call in particular */
void talk_progress(struct sim *sim, struct child *child, const struct pending *pending);
void talk_log(struct child *child, int request);
void talk_news(struct child *child);
void talk_update(struct child *child);
void talk_heard_answer(struct sim *sim, struct child *child, struct hf_span id);
bool talk_too_much(struct sim *sim, struct child *child, uint64_t id); /* false: no limit here */
struct pending talk_asked(enum hf_method_id method, uint64_t id, int request);

void talk_owe(struct sim *sim, struct child *child, struct pending pending, uint64_t delay_ms);
void talk_take_request(struct sim *sim, struct child *child, struct pending pending,
                       const struct hf_msg *msg);

/* modern_servers.c */
void modern_init(struct sim *sim, struct instance *instance); /* before its settings are used */
enum hf_era modern_era(struct sim *sim, const struct instance *instance); /* as it may be set */
void modern_upgrade(struct sim *sim, struct instance *instance); /* in place; perhaps back */
/* Whether it may be asked this in these words; else the seed is over. */
bool modern_check_words(struct sim *sim, const struct child *child, const struct hf_msg *msg,
                        int request);
void modern_take_request(struct sim *sim, struct child *child, struct pending pending,
                         const struct hf_msg *msg);
void modern_take_cancel(struct sim *sim, struct child *child, uint64_t id);
void modern_take_probe(struct sim *sim, struct child *child, struct pending pending);
void modern_take_hello(struct sim *sim, struct child *child, struct pending pending);
void modern_add_tag(struct child *child); /* of its newest subscription, into params */
void modern_say_input(struct sim *sim, struct child *child, const struct pending *pending);
enum { ROUND_OLDER = 1 << 20 }; /* it is in the words of the older era, which has none */
unsigned modern_round_of(struct hf_span text);                    /* 0: none */
void modern_leaves(struct sim *sim, int request, unsigned round); /* that its text answers */
bool modern_wants_input(struct sim *sim, const struct child *child, const struct request *r);
unsigned modern_may_ask(struct sim *sim, const struct hf_msg *msg); /* bits */
void modern_check_answers(struct sim *sim, const struct request *r, unsigned round,
                          const struct hf_msg *msg);
void modern_check_listen(struct sim *sim, struct child *child, const struct hf_msg *msg);
bool modern_tells(struct sim *sim, const struct child *child); /* of its resource, at once */
void modern_acknowledge(struct sim *sim, struct child *child, uint64_t id);
void modern_say_listen_over(struct child *child, uint64_t id);
bool modern_listens_as_wanted(const struct sim *sim); /* in calm, each of them once */
/* An exit on the question which era it speaks costs a server nothing. */
void modern_before_exit(struct sim *sim, const struct child *child);
void modern_after_exit(struct sim *sim);

/* modern_servers_http.c */
void modern_read_post(struct sim *sim, struct exchange *x, const struct hf_msg *msg,
                      const struct hf_remote_exchange_request *request);
bool modern_serve(struct sim *sim, struct exchange *x); /* false: in the older way */
bool modern_is_listening(const struct exchange *x);     /* its own stream, open or not yet */

/* updates.c */
void update_before(struct sim *sim, const struct hf_runtime *runtime, struct hf_span text);
void update_heard(struct sim *sim, const struct client *client);
void update_after(struct sim *sim);

/* meddle.c */
void host_init(struct sim *sim, struct host *host);
void host_go_mad(struct sim *sim, struct host *host);
void host_restart(struct sim *sim, struct instance *instance);
void host_meddle(struct sim *sim, struct instance *instance); /* a fault of its own */
void hosts_become_sane(struct sim *sim);
bool host_knows(const struct host *host, unsigned session);
unsigned host_open_session(const struct sim *sim, struct host *host);
void host_part(struct host *host, unsigned session); /* we took leave of it */
void host_end_session(struct host *host, unsigned session);

/* posts.c */
void post_read_head(struct exchange *x, const struct hf_remote_exchange_request *request);
void post_read_body(struct sim *sim, struct exchange *x,
                    const struct hf_remote_exchange_request *request);
void post_check(struct sim *sim, struct exchange *x,
                const struct hf_remote_exchange_request *request);

/* hosts.c */
extern const char *const verb_names[];
void exchange_begin(struct sim *sim, struct hf_remote_exchange *post);
void exchange_abort(struct sim *sim, struct hf_remote_exchange *post);
void exchange_act(struct sim *sim, struct exchange *x); /* its wake time has come */
struct exchange *exchange_stream_of(struct sim *sim, const struct child *wire);
void exchange_drop(struct sim *sim, struct exchange *x);
void exchange_say(struct sim *sim, struct exchange *x, enum saying saying); /* now */
void plan(struct exchange *x, int kind, int value, uint32_t delay_ms);
void fault(struct sim *sim, const struct exchange *x, enum fault fault); /* happens, and counts */
/* A 4xx that followed an effect, and of which we do not know yet what it meant. */
bool host_owes_a_ping(const struct sim *sim, const struct instance *instance);

/* serve.c */
void serve(struct sim *sim, struct exchange *x); /* it has reached its server */
void serve_request(struct sim *sim, struct exchange *x);
uint32_t serve_latency(struct sim *sim, const struct exchange *x);
void serve_accept(struct sim *sim, const struct exchange *x); /* it is read whole, and may run */
void serve_turn_away(struct sim *sim, struct exchange *x, int status);
void serve_badly(struct sim *sim, struct exchange *x, bool by_balancer); /* it never will */

#endif
