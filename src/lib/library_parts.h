/* library_parts.h - what the files of src/lib share: configs in the form that the engine and the
 * fronts take, and what serve_http.c needs of struct hf. */
#ifndef HF_LIB_LIBRARY_PARTS_H
#define HF_LIB_LIBRARY_PARTS_H

#include "core/engine.h"
#include "front/http.h"
#include "holdfast/holdfast.h"
#include "io/shell.h"
#include "ops/config.h"

struct hf_spec_room { /* memory that a server's spec points to */
    struct hf_rename *renames, *descriptions;
};

struct hf_server_spec hf_library_server_spec(struct hf_server_config *config,
                                             struct hf_spec_room *room);
void hf_library_spec_done(struct hf_spec_room *room);

struct hf_shell *hf_library_shell(struct hf *hf);
void hf_library_log_refusal(void *hf, struct hf_span text); /* of a request by the HTTP front */
void hf_library_take_front(struct hf *hf, struct hf_http_front *front);

/* Which HTTP requests are admitted; the caller owns it, and has to set where holdfast listens. */
struct hf_access *hf_library_access(const struct hf_config *config);

#endif
