/*
 * ready.h - the answer of /readyz: whether it makes sense to send us requests.
 *
 * Not ready: while we stop; while a server that is marked `required` is neither connected nor idle
 * (lazy, or stopped for lack of use); and while there are servers that start at once and none of
 * them was ever connected. Calls to any other server that is down are told so. Pure: reads only its
 * arguments.
 */
#ifndef HF_FRONT_READY_H
#define HF_FRONT_READY_H

#include "base/buf.h"
#include "core/status.h"

/* Whether we are ready. `out` gets a line that says so or why not, and a line for each server that
 * is the reason and that `shown` is true for; `shown` NULL: no servers are named. */
bool hf_ready_write(struct hf_buf *out, const struct hf_engine_status *engine, bool is_stopping,
                    bool (*shown)(const void *context, const char *server), const void *context);

#endif
