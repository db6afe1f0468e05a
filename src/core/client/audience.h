/* audience.h - clients of the same endpoint under the same policy. */
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
enum { HF_LEVEL_COUNT = 8 }; /* log levels, from debug to emergency */

/* Sessions that see the same servers under the same names; see audience.c. */
struct hf_audience {
    struct hf_link link;
    struct hf_engine *engine;
    struct hf_server *only;
    struct hf_policy *policy;
    struct hf_view *views[HF_PART_COUNT][HF_VIEWS_KEPT]; /* newest first */
    struct hf_link old_views;         /* of which only the names are kept, the oldest first */
    uint64_t view_bytes;              /* of all its views */
    uint64_t built_at[HF_PART_COUNT]; /* list_serial when views[part][0] was last current */
    struct hf_link members, greeted;  /* all sessions; those whose initialize was answered */
    unsigned levels[HF_LEVEL_COUNT];  /* how many members set each log level */
    uint64_t news[HF_NEWS_COUNT][HF_PART_COUNT]; /* serial number of the newest change */
    bool hides;                   /* a change may be in what rules hide from the members */
    struct hf_link mark;          /* in engine->audiences_to_tell */
    struct hf_link *next_to_tell; /* in members; &members: all have been told */
};

void hf_audience_join(struct hf_session *session);
void hf_audience_leave(struct hf_session *session);
void hf_audience_greeted(struct hf_session *session);
/* Drops the views of the audiences of one server's endpoint (NULL: of all); frees empty ones. */
void hf_audiences_forget(struct hf_engine *engine, const struct hf_server *only);
/* The only greeted client that may use this server; NULL: there is none, or several. */
struct hf_session *hf_audiences_sole_client(const struct hf_server *server);
/* Whether some greeted client may use this server. */
bool hf_audiences_have_client(const struct hf_server *server);
bool hf_audience_sees(const struct hf_audience *audience, const struct hf_server *server);

#endif
