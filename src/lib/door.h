/* door.h - between the public header and the inside: configs as engine and fronts want
 * them. */
#ifndef HF_LIB_DOOR_H
#define HF_LIB_DOOR_H

#include "core/engine.h"
#include "front/http.h"
#include "holdfast/holdfast.h"
#include "io/shell.h"
#include "ops/config.h"

struct hf_spec_room { /* what a spec points to */
    struct hf_rename *renames, *descriptions;
};

struct hf_server_spec hf_door_spec(struct hf_server_config *config, struct hf_spec_room *room);
void hf_door_spec_done(struct hf_spec_room *room);

struct hf_shell *hf_door_shell(struct hf *hf);
void hf_door_take_front(struct hf *hf, struct hf_http_front *front);

/* Who may come in by HTTP; the caller's. Where we listen is still to be said. */
struct hf_access *hf_door_access(const struct hf_config *config);

#endif
