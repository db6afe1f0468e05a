/*
 * stdio.h - the backend of one runtime that is a child process: its three pipes and its guard.
 *
 * Performs what the engine asks for a runtime, and reports to it what happened. Bytes for the
 * server are gathered from the engine and written once a turn.
 */
#ifndef HF_BACKEND_STDIO_H
#define HF_BACKEND_STDIO_H

#include "backend/backend.h"
#include "ops/config.h"

typedef void (*hf_on_stderr)(void *context, struct hf_runtime *runtime, struct hf_span line);

/* Never fails: errors are reported to the engine. `config` is needed only during the call. */
void hf_child_start(struct hf_shell *shell, struct hf_runtime *runtime,
                    const struct hf_server_config *config, size_t line_max, hf_on_stderr on_stderr,
                    void *context);

#endif
