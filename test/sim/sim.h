/*
 * sim.h - the real core on a fake world and a fake clock: what the simulator's files share.
 *
 *   main.c      seeds, workers, TAP                  run.c        one seed: chaos, calm, the end
 *   shell.c     performs effects, feeds events, moves the clock (the engine's other shell)
 *   world.c     children: pipes, deaths              talk.c       what children say
 *   hosts.c     exchanges with remote servers        serve.c      what those answer
 *   posts.c     what is sent to them                 updates.c    who hears of their resources
 *   meddle.c    how those forget and restart         faults.c     which faults happened
 *   modern_servers.c, modern_servers_http.c  what modern ones say, and on what terms
 *   asking.c    what clients ask                     clients.c    how they come, go and get
 *   vias.c      clients over HTTP                    operators.c  settings and switches
 *   requests.c  who was sent, read and ran each      judge.c      what a client is told of it
 *   checks.c    the promises, after every event      books.c      whether the books balance
 *   cells.c     which state × event happened         policies.c   what clients may use
 *   modern_clients.c  clients of 2026-07-28          retries.c    how they come back, or not
 *   inquire.c   legacy servers that ask in calls     listens.c    subscriptions/listen
 *   exam.c      a parked call and a listener, in calm, from end to end
 *
 * 1. One seed is one run: every choice comes from `struct sim`'s generator, and there is no real
 *    clock, no thread, no address in any decision.
 * 2. The world never asks the engine what is true. It knows from its own pipes who read which byte,
 *    and judges what clients are told by that.
 * 3. Looking inside the engine (core/state/) is for checks, never for choosing what happens next.
 */
#ifndef HF_TEST_SIM_H
#define HF_TEST_SIM_H

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include "inside.h"
#include "wire/line.h"
#include "faults.h"
#include "modern_clients.h"

#define PROMISES(X)                                                                                \
    X(P1, "p1_every_request_is_answered_exactly_once_and_in_time")                                 \
    X(P2, "p2_no_call_is_run_twice")                                                               \
    X(P3, "p3_every_error_tells_the_truth_about_how_far_its_call_got")                             \
    X(P4, "p4_an_answer_written_before_a_death_is_delivered")                                      \
    X(P5, "p5_an_old_generation_moves_nothing_of_the_current_one")                                 \
    X(P6, "p6_names_once_given_keep_resolving")                                                    \
    X(P7, "p7_lists_never_shrink_by_failure_and_news_means_change")                                \
    X(P8, "p8_a_hanging_server_delays_nobody_else")                                                \
    X(P9, "p9_disable_and_remove_commit_within_their_bounds")                                      \
    X(P10, "p10_calls_wait_exactly_when_an_attempt_can_serve_them")                                \
    X(P12, "p12_every_queue_and_count_stays_within_its_limit")                                     \
    X(INNER, "the_engines_books_balance_after_every_event")                                        \
    X(CALM, "when_faults_stop_everything_converges")
#define PROMISE_ENUM(id, name) PROMISE_##id,
enum promise { PROMISES(PROMISE_ENUM) PROMISE_COUNT };

enum {
    SERVERS = 3,
    CLIENTS = 3,
    LEAVES = 64,
    INSTANCES = 24, /* servers added in one run, removed ones included */
    CHILDREN = 64,
    REQUESTS = 1024,
    OPEN_MAX = 96,
    PENDING_MAX = 48,
    SEGMENTS = 256,
    ASKS_MAX = 32,
    CODES = 32,
    EXCHANGES = 512,
    STEPS = 12,
    SESSIONS_KNOWN = 128, /* by one host */
    STREAMS_KEPT = 16,    /* by one host, to be resumed */
    VIAS = 2048,
    LISTENS_MAX = 4, /* of one child, before it says no to another */
};

/* ---- what is counted over all seeds ---- */

struct stats {
    uint64_t leaves_asked, leaves_refused, leaves_forgotten, leaves_died;
    uint64_t seeds, events, spawns, deaths, calls, effects, unknowns, answers_after_death;
    uint64_t resends[HF_EVIDENCE_COUNT];
    uint64_t exchanges, renewals, vias, vias_gone;
    uint64_t modern_clients, modern_requests, modern_cancels;
    uint64_t modern[MODERN_COUNT];
    uint64_t exams, passed, anew, parked, rounds, given, never, expired, after_death, kept;
    uint64_t retries[RETRY_COUNT], listens[LISTENS_COUNT];
    uint64_t faults[FAULT_COUNT];
    uint64_t fates[VERB_COUNT][FATE_COUNT];
    int32_t code[CODES];
    uint64_t code_count[CODES];
    uint64_t slot_cells[HF_SLOT_STATE_COUNT][HF_SLOT_EVENT_COUNT];
    uint64_t runtime_cells[HF_RUNTIME_STATE_COUNT][HF_RUNTIME_EVENT_COUNT];
    uint64_t current_seed; /* which one was running when a worker died */
    uint64_t failed_seeds, least_events, inexact;
    struct {
        uint64_t count, seed;
        char text[240];
    } broken[PROMISE_COUNT];
};

/* ---- requests of clients ---- */

enum request_kind {
    ASK_PUT, /* a tool with an effect */
    ASK_IDEM,
    ASK_GIVEN, /* the tool whose name changes, as it was last given */
    ASK_PROMPT,
    ASK_READ,
    ASK_COMPLETE,
    ASK_SUBSCRIBE,
    ASK_UNSUBSCRIBE,
    ASK_LEVEL,
    ASK_TASK, /* what became of one that it was told of */
    ASK_UNKNOWN,
    ASK_LIST,
    ASK_INITIALIZE,
    ASK_DISCOVER,
    ASK_LISTEN,
    ASK_PING,
};
enum request_state { OPEN, ANSWERED, CANCELLED, DROPPED, PARKED };

struct child;

struct request {
    enum request_kind kind;
    enum request_state state;
    int client, number; /* `number` is its key: what its server counts effects by */
    struct instance *target;
    enum hf_part_id part;
    char id[24];  /* raw */
    uint64_t via; /* of the message it came in; 0: its client has one stream for everything */
    uint64_t sent_ms;
    uint32_t wait_ms, call_timeout_ms, call_timeout_max_ms; /* as its server had them then */
    double progress;
    bool repeatable, shares_its_id, knew_its_name, was_asked, may_be_extended;
    bool is_forbidden; /* its client may not use what it names */
    bool is_modern;    /* it introduces itself */
    unsigned able;     /* bits: what its client can be asked */
    uint32_t pad;      /* bytes in its arguments */
    int variant, task; /* of its target: the call that made it */
    bool by_template;
    /* what was asked in the middle of it */
    bool brings_answers; /* to what nobody has asked yet */
    int root;            /* the call that it goes on with; its own number: it is no retry */
    enum retry retry;
    unsigned question; /* that it comes back to */
    uint16_t marks;    /* bits: answers of its that some server heard */
    bool is_anew; /* its server ran nothing of it yet: it is sent again once its client came back */
    bool was_parked, was_taken_back; /* its server heard a cancel of it */
    int code;                        /* of its answer, if that was an error */
    uint64_t touched_ms;             /* parked: when its client was last there for it */
    unsigned visit;
    struct listener listen;
    unsigned person; /* of those who share their client's session */
    bool said_undispatched;
    bool clocks_changed; /* its server got other settings meanwhile: its deadlines are not known */
    /* what the world knows */
    unsigned sends, whole_reads, effects;
    bool byte_taken;
    bool is_written;          /* whole, newline and all, where it was last sent */
    uint64_t generation;      /* of the runtime it was last sent to */
    bool steal_failed;        /* or foreign bytes came back: nothing is proven there */
    struct child *holder;     /* the last child that was sent a byte of it */
    unsigned holder_serial;   /* children are used again */
    unsigned answered_by;     /* serial of the child that wrote a whole, good answer */
    struct instance *sent_to; /* of the last send */
    /* at remote servers */
    unsigned posts;        /* exchanges begun for it */
    unsigned exchange;     /* serial of the last one */
    unsigned session;      /* in which that was */
    uint64_t rpc_id;       /* its id there */
    unsigned nothings;     /* sends of which not one byte left us, as it turned out */
    bool may_have_arrived; /* its last byte left us, or nobody can tell */
    int late_status;       /* a 4xx that followed its effect; 0: none */
    /* at modern servers */
    unsigned rounds;     /* of input that it was answered with */
    unsigned round;      /* that its last send answered; 0: none */
    unsigned asked;      /* keys of the newest round */
    unsigned comes_with; /* the round that another request of its client was asked in; 0: none */
    uint64_t asked_id;   /* its id there, which its retry must not have */
    unsigned refusals;   /* before it ran, by the revision: -32020 and -32022 */
};

/* Whoever has it: another server than its target may be asked, and then the next. */
static inline bool request_goes_by_uri(const struct request *r)
{
    return r->kind == ASK_READ || r->kind == ASK_SUBSCRIBE || r->kind == ASK_UNSUBSCRIBE;
}

/* ---- servers ---- */

struct known { /* a session that a host knows */
    unsigned number;
    bool is_of_calm, was_told, has_parted;
};

enum speaks { SPEAKS_LEGACY, SPEAKS_MODERN, SPEAKS_BOTH };
/* What a legacy server does when it is asked which era it speaks. */
enum on_probe { PROBE_FAILS, PROBE_ODD, PROBE_SILENT, PROBE_KILLS };

enum what { SAY_HELLO, SAY_DISCOVER, SAY_LIST, SAY_RESULT, SAY_INPUT, SAY_NO_HELLO, SAY_DONE };
struct pending {     /* an answer it still owes */
    uint64_t due_ms; /* UINT64_MAX: never, unless it comes to its senses */
    uint64_t id;
    enum what what;
    enum hf_part_id part;
    int request;
    unsigned exchange; /* in which a remote server was asked */
    bool is_second_page, is_modern;
    unsigned asks;      /* bits: what a modern server wants to know first */
    uint64_t waits;     /* bits: its own questions that are to be answered first */
    uint8_t asks_again; /* so many times */
};

struct kept { /* a stream of a host that can be resumed */
    unsigned number, incarnation;
    struct pending asked;
};

struct host { /* a remote server, whoever is connected to it */
    unsigned incarnation;
    bool is_older;       /* speaks HTTP+SSE */
    bool gives_sessions; /* else it is stateless */
    bool has_stream;     /* answers GET */
    bool is_strict;      /* about Last-Event-ID of another life */
    bool resumes, marks;
    bool wants_auth;
    int unknown_status;     /* how it says that it does not know a session */
    int era_status;         /* how it says that a request should have had one */
    uint8_t words;          /* in which words it says either */
    uint8_t net, streaming; /* percent of exchanges lost on the way, of answers given as streams */
    uint64_t down_until_ms;
    unsigned session_count, stream_count; /* ever made */
    struct known known[SESSIONS_KNOWN];
    unsigned known_count;
    struct kept kept[STREAMS_KEPT];
};

struct instance {             /* one configured server, from add to forget */
    struct hf_server *server; /* NULL: forgotten */
    int seat;
    struct hf_settings settings;
    bool wanted, removed, clients_own, had_problem, was_changed;
    bool lists_prompts, lists_resources, lists_tools, has_logging;
    bool is_remote;
    struct host host;
    enum speaks speaks; /* the program as it is installed now */
    enum on_probe on_probe;
    bool may_be_upgraded; /* to the other era, or back */
    bool has_tasks;
    uint8_t wants_input; /* percent of calls that it answers with a question first */
    unsigned variant;    /* of its tools */
    uint64_t close_ms;   /* the longest it may take to go, by any settings it had */
    uint64_t off_by_ms;  /* disabled: when it must be off; 0: it is not going */
    bool forgotten;
    struct { /* what the last event left */
        const struct hf_part *parts[HF_PART_COUNT];
        uint64_t content[HF_PART_COUNT]; /* 0: nothing is offered */
        bool is_published;
        uint64_t generation;
    } seen;
};

/* ---- children ---- */

struct segment { /* one message in a child's stdin */
    uint64_t start, brace, newline;
    int request;
    bool is_received, leader_began;
};

enum reading { BY_LINE, BY_CHUNK, BY_BYTE };

struct personality {
    uint8_t evil;  /* percent of client calls that meet a bad fate */
    uint8_t noise; /* percent of wakes at which it says something nobody asked for */
    uint8_t asks;  /* percent of calls in the middle of which it asks something */
    bool no_exec, no_exec_later, dies_in_start, hangs_in_start, guard_is_lost;
    bool deaf_to_eof, deaf_to_term, stops_reading, exits_clean, steal_fails, writes_own_stdin;
    bool leaves_descendant, descendant_reads;
    bool fails_lists, loops_pages, answers_at_end_of_pipe, closes_stdout, lists_too_much;
    enum reading reads;
    uint32_t read_max, delay_ms, start_ms, unkillable_ms, descendant_ms;
    uint64_t dies_at_byte, dies_at_ms;
};

enum news { NEWS_STARTED, NEWS_NO_EXEC, NEWS_EXITED, NEWS_TREE_GONE };

/* What is at the other end of a runtime: a process, or the wire to a remote server. */
struct child {
    bool in_use, is_remote;
    unsigned serial;
    struct hf_runtime *runtime; /* NULL: released; whatever it left behind lives on */
    struct instance *instance;
    struct personality is;
    enum { SPAWNING, ALIVE, DEAD, ELSEWHERE } life;
    uint64_t wake_ms, kill_at_ms, eof_asked_ms, noise_ms;
    int wait_status;
    /* its stdin */
    struct hf_buf in;
    uint64_t in_base, read_total, written, readable_end;
    size_t capacity;
    bool stdin_closed, frozen, is_dirty, is_blocked, steal_failed;
    unsigned segment_head, segment_count;
    /* its stdout */
    struct hf_buf out;
    struct hf_lines lines;
    bool stdout_held, stdout_closed, said_silent;
    /* its control socket, in order */
    enum news news[4];
    unsigned news_head, news_count;
    struct pending pending[PENDING_MAX];
    unsigned pending_count;
    uint64_t listed; /* bit n: it gave all pages of variant n % 64 */
    unsigned listing_variant;
    unsigned announced; /* the newest variant it sent list_changed for */
    bool listed_badly;  /* some list of its was lost: it may not be asked again for long */
    bool is_sane;
    uint64_t next_ask, answered_asks; /* bit n: question n % 64 is answered */
    uint8_t ask_kinds[64];
    unsigned subscribed; /* bits: to the resource of which server */
    enum speaks speaks;  /* as installed when it was started */
    struct {
        bool is_modern, was_greeted, has_said_hello; /* said it is; was sent, answered initialize */
        bool died_of_probe, refused_listen;
        bool was_unsubscribed;         /* a subscription ended that was not replaced yet */
        uint64_t listens[LISTENS_MAX]; /* the newest last */
        unsigned listen_count;
    } era;
    struct {              /* of a wire */
        unsigned session; /* the newest that it was given; 0: none */
        unsigned hellos, older_hellos;
        unsigned refused, last_refused; /* sessions that it was told are not known */
        bool is_greeting;               /* from initialize until `initialized` has arrived */
        bool has_version, has_listened, is_probed;
    } wire;
    struct segment segments[SEGMENTS]; /* last: not cleared */
};

/* ---- exchanges with remote servers ---- */

enum saying {
    SAYING_PROGRESS,
    SAYING_ASK,
    SAYING_LOG,
    SAYING_STRANGER,
    SAYING_NOISE,
    SAYING_NEWS,
    SAYING_UPDATE
};

struct step { /* what happens next in an exchange that has reached its server */
    enum {
        STEP_RUN,
        STEP_HEAD,      /* value: status */
        STEP_MARK,      /* value: retry_ms or -1 */
        STEP_ANSWER,    /* value: 0, or the code of an error */
        STEP_SAY,       /* value: enum saying */
        STEP_OVERSIZE,  /* an answer over the limit */
        STEP_MALFORMED, /* value: which of several kinds */
        STEP_LISTENING, /* a subscription is acknowledged */
        STEP_ENDPOINT,
        STEP_OVER, /* value: is it whole? */
    } kind;
    int value;
    uint32_t delay_ms;
};

struct exchange {
    bool in_use, is_sane;
    unsigned serial;
    struct hf_remote_exchange *post; /* NULL: given up by us; what was sent may still run */
    struct child *wire;              /* while there is a post */
    struct instance *instance;
    enum hf_remote_exchange_kind verb;
    enum { TO_CONNECT, TO_SEND, AT_SERVER, OPEN_STREAM } phase;
    uint64_t wake_ms;
    bool is_request, is_at_endpoint, is_stranger, is_introduction, has_answered;
    bool is_modern, has_param; /* by its headers */
    bool is_acknowledged;      /* a subscription */
    unsigned round, oddity;    /* of input that it answers, 0: none; of WORDS_ODD */
    enum hf_method_id method;
    struct pending asked;          /* if it is a request, or resumes the stream of one */
    bool inquires;                 /* its server waits for what it asks, and then answers */
    uint64_t cancels;              /* the id it takes back; 0: none */
    unsigned session;              /* that it carries, in a header or in the URL; 0: none */
    unsigned gives;                /* the session that its answer gives; 0: none */
    unsigned incarnation;          /* of the host that it reached; 0: none */
    unsigned last_life;            /* the incarnation in its Last-Event-ID; 0: there is none */
    unsigned stream, stream_event; /* in its Last-Event-ID, then in the ids it gives */
    enum hf_sent sent;
    int status;
    enum words words;
    bool is_stream;
    int64_t retry_ms, retry_after_ms;
    struct step steps[STEPS];
    unsigned step_head, step_count;
};

/* ---- clients ---- */

struct via { /* one message of a client over HTTP */
    int client;
    bool is_open, is_gone;
    uint64_t gone_ms;                    /* when it last went; 0: never */
    unsigned owed, got, nulls, nothings; /* answers; of which under id null; of which empty */
};

struct client {
    struct hf_session *session; /* NULL: not there */
    unsigned visit;
    struct instance *only;
    unsigned policy; /* which; 0: none */
    bool is_finished, can_be_asked, is_http, is_modern;
    int passed; /* a request that a modern server wants to know more about, plus 1; 0: none */
    int next_id;
    int persons_next_id[PERSONS]; /* modern clients of one token share a session */
    int open[OPEN_MAX];
    unsigned open_count;
    unsigned null_answers; /* malformed messages it sent, answered under id null */
    uint64_t asks[ASKS_MAX];
    unsigned ask_count;
    uint64_t given[HF_PART_COUNT]; /* a hash of the first page it was last given; 0: none */
    bool told[HF_PART_COUNT];      /* of a change since */
    unsigned news[HF_PART_COUNT];  /* in this event */
    bool had_list[HF_PART_COUNT];  /* before this event */
    bool had_given[HF_PART_COUNT]; /* the same, greeted or not */
    int task;                      /* the last that it was told of */
    struct instance *task_of;      /* NULL: it was told of none */
    bool knows[INSTANCES];         /* was given names of that server */
    int variant[INSTANCES];        /* of its tools, as last given; -1: not on the first page */
};

enum { PARTIES = 2 };

struct sim {
    uint64_t seed, random;
    uint64_t now_ms, events, chaos_ends;
    struct hf_engine *engine;
    struct hf_client_party *parties[PARTIES]; /* tokens: each has several clients */
    struct hf_limits limits;
    struct stats *stats;
    bool trace, is_calm, was_mad, is_stopping, has_failed, in_event;
    bool has_given_up; /* in calm: no client comes back for anything */
    bool in_exam;
    bool lost_a_client, failed_at_once; /* in this event: it may hold several changes */
    unsigned client_weight, operator_weight, killer_weight, host_weight, evil;
    bool is_run;         /* as `holdfast run`: the first client has the first server for itself */
    bool is_inquisitive; /* servers ask much, and most clients are modern */
    struct instance instances[INSTANCES];
    unsigned instance_count;
    struct instance *seats[SERVERS];
    struct child children[CHILDREN];
    unsigned child_serial, child_top; /* no child in use from child_top on */
    struct exchange exchanges[EXCHANGES];
    unsigned exchange_serial, exchange_top;
    struct via vias[VIAS]; /* by number; 0 is none */
    unsigned via_count;
    struct client clients[CLIENTS];
    struct question questions[QUESTIONS];
    unsigned question_count, visit_count;
    struct request requests[REQUESTS];
    int request_count;
    struct hf_buf scratch, message, got, posted; /* one may be cited while another is filled */
    struct {                                     /* before the event */
        struct hf_runtime *runtime; /* whose event it is, if it is neither current nor attempt */
        struct hf_backoff backoff;
        enum hf_slot_state state;
        bool needs_auth;
    } stale;
    struct {                              /* of a resource, in this event; bits: clients */
        const struct hf_runtime *runtime; /* NULL: none */
        unsigned may, due, heard;
    } update;
    bool is_seamed; /* in madness: calls wait for leave at the seams */
    struct leave {
        enum hf_seam seam;
        uint64_t ticket, wake_ms;
    } leaves[LEAVES];
    unsigned leave_count;
    struct { /* before a server's exit on the question which era it speaks */
        struct hf_server *server;
        struct hf_backoff backoff;
    } probe_death;
};

/* ---- chance ---- */

static inline uint64_t sim_random(struct sim *sim) /* splitmix64 */
{
    uint64_t z = (sim->random += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}
static inline uint32_t below(struct sim *sim, uint32_t n) /* [0, n) */
{
    return (uint32_t)(((sim_random(sim) >> 32) * n) >> 32);
}
static inline bool chance(struct sim *sim, uint32_t percent)
{
    return below(sim, 100) < percent;
}
#define PICK(sim, ...)                                                                             \
    ((const uint32_t[]) {                                                                          \
        __VA_ARGS__ }[below(sim, sizeof((const uint32_t[]) { __VA_ARGS__ }) / sizeof(uint32_t))])

#define TRACE(sim, ...)                                                                            \
    do {                                                                                           \
        if ((sim)->trace)                                                                          \
            sim_trace(sim, __VA_ARGS__);                                                           \
    } while (0)
void sim_trace(const struct sim *sim, const char *format, ...) HF_PRINTF(2, 3);
/* The first thing that goes wrong ends the seed. */
void sim_broken(struct sim *sim, enum promise promise, const char *format, ...) HF_PRINTF(3, 4);

/* run.c */
bool run_until_answered(struct sim *sim); /* every client is; false: the seed is over */
bool run_to_rest(struct sim *sim);
bool run_to_rest_with_parked(struct sim *sim); /* calls that wait for their client may stay */
void sim_run(struct sim *sim, uint64_t seed);  /* returns with has_failed set, or all is well */

/* shell.c */
void shell_begin(struct sim *sim, struct hf_runtime *runtime); /* before an event is fed */
void shell_end(struct sim *sim);                               /* its effects, and the checks */
void shell_flush(struct sim *sim); /* the end of a turn: what is to be written is written */
void shell_step(struct sim *sim);  /* the world goes on: one delivery, one deed, or time passes */
bool shell_is_quiet(const struct sim *sim); /* nothing to deliver or to do at this time */

/* requests.c */
void request_leaves(struct sim *sim, struct child *child, int number); /* its first byte does */
void request_is_read(struct sim *sim, struct request *r); /* whole, by somebody who may run it */
void request_runs(struct sim *sim, int number);           /* -1: one that has no effect */

/* asking.c */
void client_ask_some(struct sim *sim, struct client *client);
void client_greet(struct sim *sim, struct client *client); /* initialize */
/* One that shares its id with no other; NULL: a table is full. Its message is begun, and ended
 * with its introduction. */
struct request *client_plain_request(struct sim *sim, struct client *client,
                                     enum request_kind kind);
void client_begin_message(struct sim *sim, const struct request *r, const char *method);
void client_end_message(struct sim *sim, struct client *client, const struct request *r);
void client_cancel(struct sim *sim, struct client *client, struct request *request);
struct request *client_call(struct sim *sim, struct client *client, enum request_kind kind,
                            struct instance *target);
void client_take_out(struct sim *sim, struct client *client, const struct request *r);
/* To a modern server that answered with a question of its own. */
void client_come_again(struct sim *sim, struct client *client);
struct request *client_retry(struct sim *sim, struct client *client, unsigned question,
                             enum retry retry); /* NULL: a table is full */

/* modern_clients.c */
bool modern_knows(enum request_kind kind); /* else the revision has no such method any more */

/* policies.c */
void policy_give(struct sim *sim, struct client *client); /* perhaps none */
/* By the globs as we meant them; `own` NULL: the server as a whole. */
bool policy_allows(const struct client *client, const struct instance *instance, const char *own);

/* clients.c */
void client_open(struct sim *sim, struct client *client);
void client_act(struct sim *sim, struct client *client);
void client_got(struct sim *sim, struct client *client, const struct hf_effect *effect);
void client_close(struct sim *sim, struct client *client);

/* vias.c */
/* Sends sim->message; it is owed that many answers, some of them under id null. */
void client_say(struct sim *sim, struct client *client, unsigned owed, unsigned nulls);
bool via_is_left(const struct sim *sim, const struct client *client);  /* one can still be had */
uint64_t via_next(const struct sim *sim, const struct client *client); /* of what is said next */
void via_vanish(struct sim *sim, struct client *client); /* nobody waits for some answer any more */
void vias_close(struct sim *sim, const struct client *client);
/* `msg` NULL: an answer that will not come */
void via_check(struct sim *sim, struct client *client, const struct hf_effect *effect,
               const struct hf_msg *msg);
void vias_check_end(struct sim *sim);

/* judge.c: what a client is told, held against what the world knows */
void judge_answer(struct sim *sim, struct request *request, const struct hf_msg *msg);
void judge_call(struct sim *sim, struct request *request, const struct hf_msg *msg); /* its end */
struct hf_span outcome_in(const struct hf_msg *msg);
uint64_t hash_of(struct hf_span text); /* never 0 */

/* checks.c */
void check_before(struct sim *sim, struct hf_runtime *runtime);
void check_after(struct sim *sim);
void check_time(struct sim *sim); /* deadlines; after a tick */

/* books.c */
void check_books(struct sim *sim);

/* faults.c */
bool faults_report(const struct stats *stats, bool is_full_run); /* false: something is missing */

#include "cells.h"
#include "leaves.h"
#include "servers.h"

#endif
