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
 * callback table, because what is true of every runtime must not know how it is reached. A member
 * that is NULL: nothing to do there. */
struct hf_transport_ops {
    void (*init)(struct hf_runtime *runtime);
    void (*forget)(struct hf_runtime *runtime); /* memory alone; `done` came before */
    void (*done)(struct hf_runtime *runtime);   /* nothing of it is under way from here on */
    /* messages */
    void (*send)(struct hf_call *call); /* its frame is built */
    void (*tell)(struct hf_runtime *runtime, const struct hf_call *about, struct hf_span message);
    void (*call_left)(struct hf_call *call);
    /* True: the transport has to find out more before the call is judged, or judged it itself. */
    bool (*call_lost)(struct hf_call *call);
    void (*call_due)(struct hf_call *call); /* its `settle_by_ms` has come */
    /* True: the answer says that the call never ran, and the transport has dealt with it. */
    bool (*takes_answer)(struct hf_call *call, const struct hf_msg *msg);
    void (*answer_passed)(struct hf_runtime *runtime, const struct hf_msg *msg);
    /* the start */
    void (*greet)(struct hf_runtime *runtime);
    void (*forget_session)(struct hf_runtime *runtime); /* of an initialize that was in vain */
    void (*agree)(struct hf_runtime *runtime, struct hf_span version);
    void (*introduce)(struct hf_runtime *runtime); /* our `initialized` */
    void (*renewed)(struct hf_runtime *runtime);   /* introduced once more, in place */
    void (*installed)(struct hf_runtime *runtime);
    void (*tools_listed)(struct hf_runtime *runtime); /* or could not be */
    void (*listen_refused)(struct hf_runtime *runtime);
    /* the end */
    void (*give_up)(struct hf_runtime *runtime);         /* it cannot be used; reason said before */
    void (*start_timed_out)(struct hf_runtime *runtime); /* it is live, and was greeted again */
    void (*switched_off)(struct hf_runtime *runtime);
    bool (*outstayed)(struct hf_runtime *runtime); /* false: as any other that drains too long */
    void (*freeze)(struct hf_runtime *runtime);
    void (*close)(struct hf_runtime *runtime);
    void (*term)(struct hf_runtime *runtime);
    void (*kill)(struct hf_runtime *runtime);
};

/* Why no client's call is sent to a live runtime at this moment: bits. */
enum hf_hold {
    HF_HOLD_RENEWAL = 1 << 0,    /* its session was forgotten: another is being made */
    HF_HOLD_REFUSAL = 1 << 1,    /* something may say that its session is forgotten */
    HF_HOLD_UNCLEAR = 1 << 2,    /* a call was refused: is this session served at all? */
    HF_HOLD_CORRECTION = 1 << 3, /* its tools are listed again: what we said of one was wrong */
    HF_HOLD_CHECK = 1 << 4,      /* one call was lost to it: is it still there? */
};

struct hf_listing { /* one part being fetched by one runtime */
    struct hf_part *building;
    struct hf_part *ready; /* fetched before the runtime was installed */
    bool is_dirty;         /* changed again meanwhile: fetch once more */
    bool is_announced;     /* its server said that it changed */
};

/* What a runtime was asked to tell us. Modern servers: with one request that stays open, and that a
 * new one replaces as soon as it is acknowledged. */
struct hf_upstream {
    char **uris; /* sorted, as last asked for; NULL: none */
    size_t uri_count, uri_cap;
    char **changed; /* of these alone it is to be seen again whether they are wanted */
    size_t changed_count;
    bool is_in_step; /* `uris` is what is wanted, but for `changed`; of a legacy server */
    struct hf_call *call, *next; /* acknowledged; sent, and not acknowledged yet */
    bool is_stale;               /* `uris` is not what is wanted, or not what `call` asked for */
    bool has_changed;            /* what is wanted, since `next` was sent or while the timer runs */
    bool was_deaf;               /* since the last acknowledged one ended */
    bool is_refused;             /* its server knows no such request */
    unsigned failures;
    struct hf_timer timer; /* `next`: it is not acknowledged; else: when to look again */
};

struct hf_runtime {
    struct hf_link link; /* in slot->runtimes */
    struct hf_link mark; /* what clients want to hear of it may have changed */
    struct hf_slot *slot;
    struct hf_server *server;
    uint64_t generation;
    struct hf_runtime_machine machine;
    void *shell;
    long pid;
    const struct hf_transport_ops *transport;
    struct hf_remote *remote; /* what only one behind a URL has; NULL: it has a pipe */
    unsigned holds;           /* enum hf_hold */
    bool is_started;
    bool is_older_transport; /* HTTP+SSE, which no modern server speaks */
    bool is_introducing;     /* our `initialized` is on its way to it */
    bool is_to_restore;      /* it is to be told what clients had set: log level, subscriptions */
    bool is_modern;          /* its server speaks the modern era */
    struct hf_link out;      /* frames */
    uint64_t written;
    struct hf_tail tail; /* of what was written */
    int64_t taken_back;
    bool is_frozen, has_exited, is_silent, is_tree_gone, is_over, is_settled;
    bool is_loss_pending; /* silent, and its exit is still to explain it */
    bool write_wanted;    /* an effect asking for it is out */
    int wait_status;
    struct hf_link calls; /* queued, writing or sent; ours included */
    uint32_t in_flight;   /* those of clients */
    bool completed_a_call;
    bool has_capability[HF_PART_COUNT], announces[HF_PART_COUNT], has_logging, has_subscribe,
        has_tasks;
    struct hf_upstream upstream;
    char *greeting;
    struct hf_listing listing[HF_PART_COUNT];
    bool was_probed, is_probing, has_shown_life;
    bool may_die_of_probe; /* it was asked first of all, and has not answered */
    struct hf_timer stay, start, eof, check, stall, probe;
    uint64_t last_byte_ms, last_write_ms;
    uint32_t checks_failed;
    bool awaits_client;     /* greeted, and told `initialized` when its client has said that */
    struct hf_timer client; /* but no later */
    uint64_t roots_of;      /* number of the client whose roots it knows of; 0: nobody's */
    bool check_is_due;      /* but calls are in flight: it waits for them */
    struct hf_call *check_call;
    bool is_suspect;       /* one call was lost to it: it is checked, or will be */
    uint64_t suspected_ms; /* when the last such check began; 0: never */
    struct hf_timer hold;  /* of HF_HOLD_CHECK */
    struct hf_link server_requests;
    uint32_t server_request_count;
    size_t unsent_bytes;   /* memory for what it was told and has not taken yet */
    uint32_t unsent_count; /* of one behind a URL: exchanges for it */
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
