/* audience.h - clients that come in through the same door. */
#ifndef HF_CORE_CLIENT_AUDIENCE_H
#define HF_CORE_CLIENT_AUDIENCE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/list.h"
#include "core/machine/method.h"
#include "core/state/server.h"

struct hf_engine;
struct hf_link;
struct hf_policy;
struct hf_server;
struct hf_session;
struct hf_view;

enum { HF_VIEWS_KEPT = 4 };
enum { HF_LEVEL_COUNT = 8 }; /* of logging, from debug to emergency */

struct hf_audience { /* sessions that see the same servers under the same names; see audience.c */
    struct hf_link link;
    struct hf_engine *engine;
    struct hf_server *only;
    struct hf_policy *policy;
    struct hf_view *views[HF_PART_COUNT][HF_VIEWS_KEPT]; /* newest first */
    uint64_t built_at[HF_PART_COUNT];                    /* list_serial by then */
    struct hf_link members, greeted;             /* sessions; those that have been greeted */
    unsigned levels[HF_LEVEL_COUNT];             /* how many of them set that log level */
    uint64_t news[HF_NEWS_COUNT][HF_PART_COUNT]; /* number of the newest */
    bool hides;                                  /* what changed may be hidden from its clients */
    struct hf_link mark;                         /* in engine->audiences_to_tell */
    struct hf_link *next_to_tell; /* in members; the list itself: all have been told */
};

void hf_audience_join(struct hf_session *session);
void hf_audience_leave(struct hf_session *session);
void hf_audience_greeted(struct hf_session *session);
void hf_audiences_forget(struct hf_engine *engine, const struct hf_server *only); /* NULL: all */
/* The only client that has been greeted and may use that server; NULL: none, or several. */
struct hf_session *hf_audiences_sole_client(const struct hf_server *server);
bool hf_audiences_have_client(const struct hf_server *server);
bool hf_audience_sees(const struct hf_audience *door, const struct hf_server *server);

#endif
