/*
 * backend.h - what does the I/O of one runtime, whichever way its server is reached.
 *
 * A backend makes itself known to its runtime when it is started (stdio.h, http.h), and is asked
 * for everything else through its runtime.
 */
#ifndef HF_BACKEND_BACKEND_H
#define HF_BACKEND_BACKEND_H

#include "io/shell.h"

struct hf_backend {        /* the first member of every backend */
    struct hf_flush flush; /* first: the shell frees the whole backend */
    void (*perform)(struct hf_backend *backend, const struct hf_effect *effect);
    void (*release)(struct hf_backend *backend);
};

static inline void hf_backend_perform(struct hf_backend *backend, const struct hf_effect *effect)
{
    backend->perform(backend, effect);
}
static inline void hf_backend_release(struct hf_backend *backend) /* NULL accepted */
{
    if (backend)
        backend->release(backend);
}

#endif
