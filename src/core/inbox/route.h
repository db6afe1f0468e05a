/* route.h - which server a client's request is for, and whether it may go there. */
#ifndef HF_CORE_INBOX_ROUTE_H
#define HF_CORE_INBOX_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include "base/span.h"

struct hf_incoming;
struct hf_server;
struct hf_session;

void hf_request_route(const struct hf_incoming *in);
/* The next server, in config order, that may have a resource that no server lists, and that the
 * client may ask for it. `uri`: raw. */
struct hf_server *hf_request_next_with_resources(struct hf_session *session,
                                                 struct hf_server *after, struct hf_span uri);
/* Refuses a request that would make us remember too much of its client; true: it was refused. */
bool hf_request_refuses_to_keep(const struct hf_incoming *in, size_t bytes);

#endif
