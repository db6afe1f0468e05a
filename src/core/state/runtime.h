/*
 * runtime.h - one live connection to a server: its generation, what it said of itself, the calls it
 * has, and how it is reached.
 *
 * The functions are in server/; what only a runtime behind a URL has is in remote/.
 */
#ifndef HF_CORE_STATE_RUNTIME_H
#define HF_CORE_STATE_RUNTIME_H

#include "base/list.h"
#include "base/timers.h"
#include "core/engine.h"
#include "core/machine/method.h"
#include "core/machine/tail.h"

struct hf_call;
struct hf_msg;
struct hf_part;
struct hf_remote;
struct hf_slot;

/* How bytes reach a server: through a pipe (server/pipe.c) or by HTTP exchanges (remote/). A
 * callback table, because the code for every runtime must not depend on how a server is reached. A
 * member may be NULL: that transport has nothing to do there. */
struct hf_transport_ops {
    void (*init)(struct hf_runtime *runtime);
    void (*forget)(struct hf_runtime *runtime); /* frees memory only; `done` came before */
    void (*done)(struct hf_runtime *runtime);   /* nothing of the runtime is under way after this */
    /* messages */
    void (*send)(struct hf_call *call); /* the call's frame is built */
    void (*tell)(struct hf_runtime *runtime, const struct hf_call *about, struct hf_span message);
    void (*call_left)(struct hf_call *call);
    /* True: the transport has to find out more before the call is judged, or judged it itself. */
    bool (*call_lost)(struct hf_call *call);
    void (*call_due)(struct hf_call *call); /* the call's `settle_by_ms` has come */
    /* True: the answer says that the call never ran, and the transport has dealt with it. */
    bool (*takes_answer)(struct hf_call *call, const struct hf_msg *msg);
    void (*answer_passed)(struct hf_runtime *runtime, const struct hf_msg *msg);
    /* the start */
    void (*greet)(struct hf_runtime *runtime);
    void (*forget_session)(struct hf_runtime *runtime); /* the session of a failed initialize */
    void (*agree)(struct hf_runtime *runtime, struct hf_span version);
    void (*introduce)(struct hf_runtime *runtime); /* sends our `initialized` */
    void (*renewed)(struct hf_runtime *runtime);   /* a session was made anew in place */
    void (*installed)(struct hf_runtime *runtime);
    void (*tools_listed)(struct hf_runtime *runtime); /* tools/list is done, or failed */
    void (*listen_refused)(struct hf_runtime *runtime);
    /* the end */
    /* The attempt failed; hf_server_reason was called before. */
    void (*give_up)(struct hf_runtime *runtime);
    /* Of a live runtime: its session is being made anew, and that took startTimeoutMs. */
    void (*start_timed_out)(struct hf_runtime *runtime);
    void (*switched_off)(struct hf_runtime *runtime);
    /* The runtime was too long in its state. False: HF_RUNTIME_EV_TIMEOUT follows. */
    bool (*outstayed)(struct hf_runtime *runtime);
    void (*freeze)(struct hf_runtime *runtime);
    void (*close)(struct hf_runtime *runtime);
    void (*term)(struct hf_runtime *runtime);
    void (*kill)(struct hf_runtime *runtime);
};

/* Why no client's call is sent to a live runtime at this moment: bits. */
enum hf_hold {
    HF_HOLD_RENEWAL = 1 << 0,    /* the server forgot the session: another is being made */
    HF_HOLD_REFUSAL = 1 << 1,    /* a refusal is being examined: was the session forgotten? */
    HF_HOLD_UNCLEAR = 1 << 2,    /* a call was refused: is this session served at all? */
    HF_HOLD_CORRECTION = 1 << 3, /* tools are listed again: our headers for one were wrong */
    HF_HOLD_CHECK = 1 << 4,      /* one call was lost: is the server still there? */
};

struct hf_listing { /* one part being fetched by one runtime */
    struct hf_part *building;
    struct hf_part *ready; /* fetched before the runtime was installed */
    bool is_dirty;         /* the list changed while it was fetched: fetch it once more */
    bool is_announced;     /* the server said that the list changed */
};

/* The upstream subscription: what a runtime was asked to tell us of. A modern server is asked with
 * one request that stays open; a new one replaces it as soon as the new one is acknowledged. */
struct hf_upstream {
    char **uris; /* sorted, as last asked for; NULL: none */
    size_t uri_count, uri_cap;
    char **changed; /* URIs that are to be looked at again: are they still wanted? */
    size_t changed_count;
    bool is_in_step; /* legacy server: `uris` is what clients want, except for `changed` */
    struct hf_call *call, *next; /* `call` is acknowledged, `next` is not yet */
    bool is_stale;               /* `uris` is not what clients want, or not what `call` asked for */
    bool has_changed; /* clients want something else since `next` was sent or the timer was set */
    bool was_unsubscribed; /* no subscription has been open since the last acknowledged one ended */
    bool is_refused;       /* the server knows no such request */
    unsigned failures;
    struct hf_timer timer; /* `next` is not acknowledged; without `next`: when to try again */
};

struct hf_runtime {
    struct hf_link link; /* in slot->runtimes */
    struct hf_link mark; /* its upstream subscription, or what it is to restore, may have changed */
    struct hf_slot *slot;
    struct hf_server *server;
    uint64_t generation;
    struct hf_runtime_machine machine;
    unsigned holds; /* enum hf_hold */
    struct hf_backend *backend;
    long pid;
    const struct hf_transport_ops *transport;
    struct hf_remote *remote; /* what only a runtime behind a URL has; NULL: it has a pipe */
    /* its start */
    bool is_started : 1;
    bool is_older_transport : 1; /* HTTP+SSE, which no modern server speaks */
    bool is_modern : 1;          /* the server speaks the modern era */
    bool was_probed : 1, is_probing : 1, has_shown_life : 1;
    bool may_die_of_probe : 1; /* server/discover was its first message, and is not answered */
    bool is_introducing : 1;   /* our `initialized` is on its way to the server */
    bool awaits_client : 1;    /* our `initialized` waits for the client's */
    bool is_to_restore : 1;    /* the server is to be told log level and subscriptions again */
    /* its life */
    bool write_wanted : 1; /* HF_DO_WRITE was emitted */
    bool completed_a_call : 1;
    bool check_is_due : 1; /* a liveness check waits for the calls in flight */
    bool is_suspect : 1;   /* one call was lost: the server is being checked, or will be */
    /* its end */
    bool is_frozen : 1, has_exited : 1, is_silent : 1, is_tree_gone : 1, is_over : 1;
    bool is_settled : 1;
    bool is_loss_pending : 1; /* its stdout is closed, and the exit that explains it has not come */
    /* what the server can do */
    bool has_logging : 1, has_subscribe : 1, has_tasks : 1;
    bool has_capability[HF_PART_COUNT], announces[HF_PART_COUNT];
    uint32_t checks_failed;
    int wait_status;
    uint32_t in_flight;   /* how many of `calls` are clients' */
    struct hf_link calls; /* in stage QUEUED, WRITING or SENT; ours included */
    struct hf_link out;   /* frames to be written */
    uint64_t written;
    struct hf_tail tail; /* the last bytes that were written */
    int64_t taken_back;
    size_t unsent_bytes;   /* memory for messages that the server has not taken yet */
    uint32_t unsent_count; /* how many exchanges carry them, behind a URL */
    uint32_t server_request_count;
    struct hf_link server_requests;
    uint64_t last_byte_ms, last_write_ms;
    char *greeting;
    struct hf_listing listing[HF_PART_COUNT];
    struct hf_upstream *upstream; /* NULL: the server was never asked to tell us of anything */
    uint64_t roots_of; /* number of the client whose roots the server knows; 0: nobody's */
    struct hf_call *check_call;
    uint64_t suspected_ms; /* when the last check of a suspect began; 0: never */
    struct hf_timer stay, start, eof, check, stall, probe;
    struct hf_timer client; /* when the client's `initialized` is not waited for any longer */
    struct hf_timer hold;   /* when HF_HOLD_CHECK ends */
};

static inline bool hf_runtime_is_renewing(const struct hf_runtime *runtime)
{
    return runtime->holds & HF_HOLD_RENEWAL;
}
static inline void hf_runtime_hold(struct hf_runtime *runtime, enum hf_hold why, bool is_held)
{
    runtime->holds = is_held ? runtime->holds | why : runtime->holds & ~(unsigned)why;
}

#endif
