/*
 * modern_clients.h - modern clients of the simulator, and legacy servers that ask them something.
 *
 * A call that was asked about is parked: its request is answered with a question, and whoever comes
 * back to that is a retry. The call stays the one that it was, which is the `root` of its retries.
 */
#ifndef HF_TEST_SIM_MODERN_CLIENTS_H
#define HF_TEST_SIM_MODERN_CLIENTS_H

#include "core/engine.h"

struct child;
struct client;
struct exchange;
struct pending;
struct request;
struct sim;

enum {
    PERSONS = 2,    /* that share a session */
    QUESTIONS = 64, /* of one run, the newest */
    INQUIRIES_MAX = 16,
};

enum inquiry {
    INQUIRE_SAMPLING,
    INQUIRE_ROOTS,
    INQUIRE_ELICITATION,
    INQUIRE_URL, /* an elicitation too, and asked before the call is run */
    INQUIRE_PING,
    INQUIRE_ODD,
};

/* How a modern client comes back to a question. */
enum retry {
    NO_RETRY,
    RETRY_ANSWER,
    RETRY_SAME,  /* as somebody did before */
    RETRY_OTHER, /* with other answers than before */
    RETRY_PART,  /* some are missing */
    RETRY_WRONG, /* some make no sense */
    RETRY_TAMPERED,
    RETRY_FOREIGN, /* the state of another client, or of an earlier session */
    RETRY_COUNT,
};

struct question { /* what a modern client was asked, and can come back to */
    int root;     /* the call that it is about */
    int client;
    unsigned visit;
    char state[160];
    unsigned count;
    bool is_too_much; /* there are more of them: they are never all answered */
    struct {
        char key[24];
        unsigned kind, number;
    } asked[INQUIRIES_MAX];
    int by;         /* the retry whose answers were taken; -1: none yet */
    bool is_unsure; /* perhaps they were in vain: the call was not sent anew */
    uint64_t told;  /* a hash of what that one heard, and so must all; 0: nothing yet */
};

struct listener { /* what a subscriptions/listen asked for and was promised */
    bool asked[HF_PART_COUNT], wants[HF_PART_COUNT];
    unsigned uris;                /* bits: of the resource of which server */
    bool is_open, was_open;       /* acknowledged; before this event */
    unsigned news[HF_PART_COUNT]; /* in this event */
};

#define LISTENS(X)                                                                                 \
    X(OPENED, "opened")                                                                            \
    X(ACKNOWLEDGED, "acknowledged")                                                                \
    X(REFUSED, "refused")                                                                          \
    X(CLOSED, "closed by the client")                                                              \
    X(ENDED, "ended gracefully")                                                                   \
    X(NEWS, "news of lists")                                                                       \
    X(UPDATES, "updates of resources")                                                             \
    X(EXAMINED, "listened to in calm")
#define LISTENS_ENUM(id, name) LISTENS_##id,
enum { LISTENS(LISTENS_ENUM) LISTENS_COUNT };

/* modern_clients.c */
/* The members of `_meta` that introduce a modern request; nothing for another; no comma behind. */
void modern_add_meta(struct sim *sim, const struct request *r);
void modern_cancel(struct sim *sim, struct client *client, struct request *request);
void modern_vanish(struct sim *sim, struct client *client); /* a person does, streams and all */
/* True: that is all there is to judge. */
bool modern_judge(struct sim *sim, struct request *request, const struct hf_msg *msg);

/* retries.c */
bool retry_some(struct sim *sim, struct client *client);  /* false: there is nothing to retry */
void retry_add(struct sim *sim, const struct request *r); /* members of its params */
void retry_add_given(struct sim *sim, const struct request *r);
/* True: that is all there is to judge. */
bool retry_judge(struct sim *sim, struct request *r, const struct hf_msg *msg, int64_t code);
bool retry_is_taken(const struct sim *sim, const struct request *root); /* of its last question */
void retry_left(struct sim *sim, const struct request *r); /* it is not waited for any more */

/* listens.c */
/* `uris`: bits, of the resource of which server; NULL: not now. */
struct request *listen_open(struct sim *sim, struct client *client, unsigned uris);
/* False: it has nothing to do with listening. */
bool listen_heard(struct sim *sim, const struct client *client, uint64_t via,
                  const struct hf_msg *msg);
void listen_judge(struct sim *sim, const struct request *r, const struct hf_msg *msg);
void listens_before(struct sim *sim, struct client *client);
void listens_check(struct sim *sim, const struct client *client, enum hf_part_id part,
                   unsigned changes);
void listen_subscribed(struct child *child, const struct hf_msg *msg); /* a server hears that */
void listens_check_servers(struct sim *sim);

/* exam.c */
void exam(struct sim *sim);

/* inquire.c */
bool inquire(struct sim *sim, struct child *child, struct pending pending); /* false: not now */
/* Wants something done before it runs the call; false: not now. */
bool inquire_first(struct sim *sim, struct child *child, const struct pending *pending);
bool inquire_on_stream(struct sim *sim, struct exchange *x);           /* false: not now */
void inquire_ask(struct child *child, enum inquiry kind, int request); /* -1: of none */
void inquire_heard(struct sim *sim, struct child *child, const struct hf_msg *msg);
void inquire_taken_back(struct sim *sim, int request); /* its server hears a cancel */

#endif
