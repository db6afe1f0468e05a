/*
 * http.h - the hands of one runtime whose server is reached over HTTP.
 *
 * Performs the exchanges that the engine asks for and feeds back what happened to each. Which
 * headers a message travels with is known here; what an answer means is not.
 */
#ifndef HF_BACKEND_HTTP_H
#define HF_BACKEND_HTTP_H

#include "backend/backend.h"
#include "io/http_client.h"
#include "ops/config.h"

/* Never fails: what goes wrong is told to the engine. `config` is needed only during the call. */
void hf_distant_start(struct hf_shell *shell, struct hf_http_client *client,
                      struct hf_runtime *runtime, const struct hf_server_config *config,
                      size_t message_max);
void hf_distant_abort(struct hf_remote_exchange *post);

#endif
