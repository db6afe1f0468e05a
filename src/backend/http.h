/*
 * http.h - the backend of one runtime whose server is reached over HTTP.
 *
 * Performs the exchanges that the engine asks for and reports to it what happened to each. It knows
 * which headers a message needs, but not what an answer means.
 */
#ifndef HF_BACKEND_HTTP_H
#define HF_BACKEND_HTTP_H

#include "backend/backend.h"
#include "io/http_client.h"
#include "ops/config.h"

/* Never fails: errors are reported to the engine. `config` is needed only during the call. */
void hf_http_backend_start(struct hf_shell *shell, struct hf_http_client *client,
                           struct hf_runtime *runtime, const struct hf_server_config *config,
                           size_t message_max);
void hf_http_backend_abort(struct hf_remote_exchange *post);

#endif
