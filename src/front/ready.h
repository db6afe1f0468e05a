/*
 * ready.h - whether it makes sense to send us requests: what /readyz answers.
 *
 * Not while we stop; not while a server that is marked `required` is neither connected nor at rest
 * (lazy, or stopped since nobody used it); and not while there are servers that start at once and
 * none of them was ever connected. Whatever else is down is told to the calls that need it. Made of
 * what it is given and of nothing else.
 */
#ifndef HF_FRONT_READY_H
#define HF_FRONT_READY_H

#include "base/buf.h"
#include "core/status.h"

/* Whether it does. `out` gets a line that says so or why not, and a line for each server that it is
 * because of and that `shown` is true for; NULL: for none. */
bool hf_ready_write(struct hf_buf *out, const struct hf_engine_status *engine, bool is_stopping,
                    bool (*shown)(const void *context, const char *server), const void *context);

#endif
