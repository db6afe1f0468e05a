/* pipe.h - a server that is our child. */
#ifndef HF_CORE_SERVER_PIPE_H
#define HF_CORE_SERVER_PIPE_H

#include "core/state/runtime.h"

extern const struct hf_transport_ops hf_pipe_transport; /* pipe.c */

#endif
