/*
 * engine_fixture.h - the real engine on a fake world: no process, no pipe, no clock.
 *
 * Every effect of the engine is performed at once into records that a test can read: which
 * runtimes were spawned, what was written to each, what each client was sent. Servers play along as
 * far as their manners say: a well-behaved one starts, answers initialize and lists, and exits when
 * it is asked to; calls are left to the test. Nothing here knows how the engine works inside.
 *
 * A world ends with its test. Checked then, in every test: no machine reported a bug, and no
 * request of any client was answered more often than it was sent.
 */
#ifndef HF_ENGINE_FIXTURE_H
#define HF_ENGINE_FIXTURE_H

#include <stdarg.h>
#include "core/engine.h"
#include "core/machine/errors.h"
#include "handles.h"
#include "test.h"
#include "wire/jsonrpc.h"

enum { SERVERS_MAX = 8, CHILDREN_MAX = 128, CLIENTS_MAX = 256, TOOLS_MAX = 4000 };
enum { TAKEN_BACK_MAX = 64, LEAVES_MAX = 64 };
enum { T0 = 1000000 }; /* the clock's first reading; any value but 0 would do */

/* The clock on the wall goes backwards here: nothing may depend on it. */
static inline struct hf_now at(uint64_t mono_ms)
{
    return (struct hf_now) { mono_ms, UINT64_C(1700000000000) - mono_ms };
}

/* A remote server plays along too (engine_http.h). */
struct http_manners {
    bool by_hand;          /* every exchange is left to the test, from the first byte on */
    bool is_down;          /* nobody listens: not a byte of any request gets away */
    bool no_session;       /* gives no session id */
    bool is_sse;           /* speaks only the older HTTP+SSE */
    bool has_stream;       /* answers GET with a stream, and holds it open; else 405 */
    bool holds_calls;      /* a tools/call is still being connected until the test says so */
    bool never_says_bye;   /* does not answer DELETE */
    int unknown_status;    /* to a session id it does not know; 0: 404 */
    int hello_status;      /* to initialize; 0: 200 */
    int ping_status;       /* to ping; 0: 200 */
    int list_status;       /* to every list; 0: 200 */
    int64_t retry_after_s; /* beside hello_status; 0: not said */
    unsigned sessions;     /* made so far; it knows only the newest */
    bool has_forgotten;    /* and not even that one */
};

struct manners {
    bool no_exec;      /* cannot be started */
    int exec_error;    /* errno of that; 0: ENOENT */
    bool never_starts; /* is neither started nor refused */
    bool mute;         /* starts, and answers nothing by itself */
    bool no_init;      /* answers initialize with an error */
    bool no_tools;     /* answers tools/list with an error */
    bool stuck_list;   /* does not answer tools/list */
    bool no_ping;
    bool reads_nothing;       /* what is written stays in the pipe */
    bool keeps_on_eof;        /* does not exit when its stdin is closed */
    bool deaf_to_term;        /* and not at TERM */
    bool survives_kill;       /* its tree cannot be killed */
    bool answers_calls;       /* answers every tools/call with a text of its own */
    size_t pipe_capacity;     /* 0: no limit */
    const char *tools;        /* what tools/list answers with: the array */
    const char *prompts;      /* NULL: no such capability */
    const char *resources;    /* NULL: no such capability */
    const char *templates;    /* NULL: an empty list, if there are resources */
    const char *capabilities; /* NULL: tools, and what else is set above */
    const char *version;      /* NULL: 2025-11-25 */
    bool is_modern;           /* answers server/discover; else with -32601 */
    struct http_manners http; /* of one that is reached over HTTP */
};

struct message { /* one JSON-RPC message, kept */
    char *text;
    uint64_t at_ms;
    struct hf_msg msg;
    uint64_t via; /* of one that a client got */
    bool is_answer;
    int error_code;
};

struct messages {
    struct message *items;
    size_t count, cap;
};

void keep_message(struct messages *list, struct hf_span text, uint64_t now_ms);
/* NULL: it is no message, and the test has failed. */
struct message *keep_pieces(struct messages *list, const struct hf_span *pieces, unsigned count,
                            uint64_t now_ms);
void free_messages(struct messages *list);
char *format_text(const char *format, va_list args) HF_PRINTF(1, 0); /* for free() */

/* For free(). */
char *reply_with(struct hf_span id, const char *member, const char *value);
char *reply_to(const struct manners *m, const struct hf_msg *msg); /* NULL: left to the test */

struct world;

struct child { /* one runtime, seen from outside */
    struct world *world;
    struct hf_runtime *runtime; /* NULL once released */
    struct hf_server *server;
    uint64_t generation, spawned_ms;
    struct manners manners;
    bool is_running, has_exited, is_silent, tree_is_gone, is_stdin_closed;
    bool got_close, got_term, got_kill, was_stolen_from;
    bool wants_write;
    uint64_t closed_ms, termed_ms, killed_ms;
    struct hf_buf pipe; /* written, not read yet */
    struct hf_buf line; /* read, not a whole line yet */
    uint64_t bytes_read;
    struct messages got; /* lines read */
    size_t handled;
    bool is_remote;
    unsigned hang_ups;
};

struct client {
    struct world *world;
    struct hf_session *session; /* NULL once closed */
    struct messages got, sent;
    uint64_t taken_back[TAKEN_BACK_MAX]; /* vias whose answer will not come: it was cancelled */
    size_t taken_back_count;
    enum hf_shared over; /* of what it was last refused more */
};

struct exchange; /* engine_http.h */

HANDLE_IS(hf_server_config, manners)
HANDLE_IS(hf_backend, child)
HANDLE_IS(hf_backend_exchange, exchange)
HANDLE_IS(hf_sink, client)

struct world {
    struct hf_engine *engine;
    uint64_t now_ms;
    struct hf_limits limits;
    struct manners manners[SERVERS_MAX]; /* of the next children, by server */
    struct hf_server *servers[SERVERS_MAX];
    size_t server_count;
    struct child children[CHILDREN_MAX];
    size_t child_count;
    struct client clients[CLIENTS_MAX];
    size_t client_count;
    struct exchange **exchanges; /* in the order of their beginning */
    size_t exchange_count, exchange_cap, exchanges_seen;
    struct hf_buf notes; /* one line each: "server generation EVENT evidence what" */
    unsigned bugs;
    struct leave { /* what was asked for at a seam, oldest first; given by the test */
        enum hf_seam seam;
        uint64_t ticket;
    } leaves[LEAVES_MAX];
    size_t leave_count;
    bool by_hand;                                 /* children do nothing of themselves */
    bool must_hold_nothing;                       /* at its end */
    void (*send)(const struct hf_effect *effect); /* NULL: to the clients of this world */
};

/* ---- settings, limits and manners: the usual ones, with what a test changes ---- */

/* That a later member overrides an earlier one is how a default is changed here. */
#pragma GCC diagnostic ignored "-Woverride-init"

/* DESIGN 12, with minMs 1000 and jitter 0: SETTINGS(.wait_ms = 2000, .reconnect.attempts = 5) */
#define SETTINGS(...)                                                                              \
    ((struct hf_settings) { .wait_ms = 45000,                                                      \
                            .start_timeout_ms = 120000,                                            \
                            .list_wait_ms = 10000,                                                 \
                            .ask_ms = 900000,                                                      \
                            .gone_ms = 30000,                                                      \
                            .relist_ms = 300000,                                                   \
                            .era = HF_ERA_LEGACY,                                                  \
                            .era_probe_ms = 5000,                                                  \
                            .reconnect.min_ms = 1000,                                              \
                            .reconnect.max_ms = 30000,                                             \
                            .reconnect.window_ms = 300000,                                         \
                            .reconnect.attempts = -1,                                              \
                            .reconnect.first_attempts = 10,                                        \
                            .reconnect.probe_ms = 60000,                                           \
                            .liveness.timeout_ms = 5000,                                           \
                            .liveness.gap_ms = 10000,                                              \
                            .liveness.failures = 3,                                                \
                            .close_ms = 2000,                                                      \
                            .term_ms = 3000,                                                       \
                            .kill_ms = 5000,                                                       \
                            .eof_ms = 1000,                                                        \
                            .drain_ms = 10000,                                                     \
                            .stall_ms = 60000,                                                     \
                            .overlap = true,                                                       \
                            .max_runtimes = 16,                                                    \
                            .max_waiting = 1000,                                                   \
                            __VA_ARGS__ })
struct hf_settings default_settings(void);
#define LIMITS(...)                                                                                \
    ((struct hf_limits) { .max_message_bytes = 1 << 26,                                            \
                          .max_buffered_bytes = 1 << 28,                                           \
                          .max_depth = 512,                                                        \
                          .page_bytes = 1000000,                                                   \
                          .park_ms = 900000,                                                       \
                          __VA_ARGS__ })
#define MANNERS(...) ((struct manners) { .tools = "[{\"name\":\"echo\"}]", __VA_ARGS__ })
#define HTTP(...)    ((struct http_manners) { .by_hand = false, __VA_ARGS__ })

/* ---- the world ---- */

struct world *world_new(void);
struct world *world_new_with(struct hf_limits limits);
void world_end(struct world *w); /* before its test does: for loops that make many */
/* Performs all effects and lets the children react, until nothing moves. */
void settle(struct world *w);
bool pump(struct world *w);                 /* only performs what is out; false: nothing was */
void advance(struct world *w, uint64_t ms); /* through every timer on the way */
size_t notes_with(const struct world *w, const char *part);

struct hf_server *add_server(struct world *w, const char *name, struct hf_settings settings);
struct hf_server *add_spec(struct world *w, const struct hf_server_spec *spec);
struct hf_server *add_remote(struct world *w, const char *name, struct hf_settings settings);
struct manners *manners_of(struct world *w, const struct hf_server *server);
bool operate(struct world *w, struct hf_server *server, enum hf_op op);
enum hf_slot_state state_of(const struct hf_server *server);
struct hf_server_status status_of(const struct hf_server *server);
#define IS(server, name) (state_of(server) == HF_SLOT_##name)

/* ---- children ---- */

struct child *newest_child(struct world *w, const struct hf_server *server); /* NULL: none yet */
struct child *child_of(struct world *w, const struct hf_server *server, uint64_t generation);
size_t spawns_of(const struct world *w, const struct hf_server *server);
void child_start(struct child *c);
void child_fails_to_start(struct child *c, const char *why);
void child_reads(struct child *c, size_t bytes); /* from its stdin */
void child_says(struct child *c, const char *format, ...) HF_PRINTF(2, 3);
void child_notifies(struct child *c, const char *method, const char *params);
void child_asks(struct child *c, const char *id, const char *method, const char *params);
void child_answers(struct child *c, const char *method, const char *result); /* the last such one */
void child_answers_error(struct child *c, const char *method, int code, const char *message);
void child_answers_line(struct child *c, size_t line, const char *result);
void child_exits(struct child *c, int wait_status);
void child_falls_silent(struct child *c);
void child_tree_is_gone(struct child *c);
void child_dies(struct child *c); /* killed -9 from outside: exit, EOF, the rest of the tree */
/* Reads nothing from now on, and its pipe takes no more than that; then reads everything again. */
void child_stalls(struct child *c, size_t pipe_capacity);
void child_goes_on(struct child *c);
size_t child_got(const struct child *c, const char *method);
const struct message *child_last(const struct child *c, const char *method); /* NULL: none */
struct hf_span child_last_id(const struct child *c, const char *method);
enum { KILLED = 9, EXIT_0 = 0, EXIT_1 = 256 };

/* ---- clients ---- */

struct client *open_client(struct world *w, struct hf_server *only);
struct client *greeted_client(struct world *w, struct hf_server *only); /* has initialized */
struct client *greeted_client_with(struct world *w, struct hf_server *only,
                                   const char *capabilities);
void client_says(struct client *c, const char *format, ...) HF_PRINTF(2, 3);
/* Returns how many answers are owed. */
unsigned client_says_via(struct client *c, uint64_t via, const char *format, ...) HF_PRINTF(3, 4);
unsigned client_calls_via(struct client *c, uint64_t via, int id, const char *tool);
void client_via_gone(struct client *c, uint64_t via);
void client_via_cancelled(struct client *c, uint64_t via);
void client_calls(struct client *c, int id, const char *tool);
void client_cancels(struct client *c, int id);
void client_asks(struct client *c, int id, const char *method); /* without params */
void client_requests(struct client *c, int id, const char *method, const char *params);
void client_answers(struct client *c, const char *method,
                    const char *result); /* the last such one */
void client_leaves(struct client *c);

size_t answers_to(const struct client *c, int id);
size_t answers_via(const struct client *c, uint64_t via); /* and what was taken back */
size_t taken_back_via(const struct client *c, uint64_t via);
const struct message *answer_via(const struct client *c, uint64_t via); /* the last one */
size_t heard_via(const struct client *c, uint64_t via, const char *method);
const struct message *answer_to(const struct client *c, int id); /* the last one; NULL: none */
/* A failure of ours is an error, or a result that says what became of the call: both are read. */
struct hf_span outcome_in(const struct hf_msg *msg); /* p NULL: it is no such result */
int error_of(const struct client *c, int id);        /* 0: none, or a result */
bool has_result(const struct client *c, int id);
struct hf_span data_of(const struct client *c, int id, const char *key); /* of error.data, raw */
bool data_is(const struct client *c, int id, const char *key, const char *raw);
bool error_says(const struct client *c, int id, const char *part); /* its message */
size_t heard(const struct client *c, const char *method); /* requests or notifications to it */
const struct message *last_heard(const struct client *c, const char *method);
bool span_has(struct hf_span text, const char *part);
/* The names of a list's answer, in order, joined by commas; static memory. */
const char *names_in(const struct client *c, int id, const char *member);

/* ---- a scene: one server, its only client with greeting and list, everything at rest ---- */

struct scene {
    struct world *w;
    struct hf_server *server;
    struct client *client; /* at the endpoint of that server alone, so names are plain */
    struct child *first;
};
struct scene scene(void);
struct scene scene_of(struct hf_settings settings);
struct scene called_scene(void); /* its call 1 is with the server */
struct scene remote_scene(void); /* the same with a remote server */
struct scene remote_scene_of(struct hf_settings settings, struct http_manners http);
/* The server alone, as far as it has come by itself: no client yet. */
struct scene lone_server(struct hf_settings settings, struct manners manners);
struct scene lone_remote(struct hf_settings settings, struct http_manners http);
struct scene lone_remote_with(struct hf_settings settings, struct manners manners);
void take_away(const struct scene *s); /* the server is killed and its binary is gone */

#endif
