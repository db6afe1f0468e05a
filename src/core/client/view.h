/* view.h - the lists as the clients of one audience are shown them. */
#ifndef HF_CORE_CLIENT_VIEW_H
#define HF_CORE_CLIENT_VIEW_H

#include <stdbool.h>
#include "base/span.h"
#include "core/machine/method.h"

struct hf_audience;
struct hf_err;
struct hf_server;
struct hf_session;
struct hf_view;

struct hf_view;
struct hf_target { /* what a name that a client uses stands for */
    struct hf_server *server;
    struct hf_span own_name; /* raw JSON string; p NULL: the name as the client wrote it */
    bool is_idempotent, is_denied, is_guess;
};

/* One page as a list result; p NULL: the cursor is bad, and `err` says so. */
struct hf_span hf_view_page(struct hf_session *session, enum hf_part_id part, struct hf_span cursor,
                            struct hf_err *err);
/* False: no server is known for this name, or `ret_target->is_denied`: it may not be used. */
bool hf_view_resolve(struct hf_session *session, enum hf_part_id part, struct hf_span raw_name,
                     struct hf_target *ret_target);
/* The server that lists a template which matches this URI, or NULL. */
struct hf_server *hf_view_template_server(struct hf_session *session, struct hf_span raw_uri);
void hf_view_unref(struct hf_view *view); /* NULL accepted */
/* Whether the list that the session was last given is still the newest. */
bool hf_view_is_newest(struct hf_session *session, enum hf_part_id part);
void hf_audience_forget_names(struct hf_audience *audience);
void hf_audience_drop_views(struct hf_audience *audience);

#endif
