/* door.h - between the public header and the inside: configs as the engine and the fronts want
 * them. */
#ifndef HF_LIB_DOOR_H
#define HF_LIB_DOOR_H

#include "core/engine.h"
#include "front/http.h"
#include "holdfast/holdfast.h"
#include "io/shell.h"
#include "ops/config.h"

struct hf_spec_room { /* memory that a server's spec points to */
    struct hf_rename *renames, *descriptions;
};

struct hf_server_spec hf_door_spec(struct hf_server_config *config, struct hf_spec_room *room);
void hf_door_spec_done(struct hf_spec_room *room);

struct hf_shell *hf_door_shell(struct hf *hf);
void hf_door_refused(void *hf, struct hf_span text); /* told to the log */
void hf_door_take_front(struct hf *hf, struct hf_http_front *front);

/* Who may come in over HTTP; the caller owns it. Where holdfast listens is still to be set. */
struct hf_access *hf_door_access(const struct hf_config *config);

#endif
