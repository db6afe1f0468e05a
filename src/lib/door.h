/* door.h - between the public header and the inside: configs as the engine wants them. */
#ifndef HF_LIB_DOOR_H
#define HF_LIB_DOOR_H

#include "core/engine.h"
#include "front/access.h"
#include "ops/config.h"

struct hf_spec_room { /* what a spec points to */
    struct hf_rename *renames, *descriptions;
};

struct hf_server_spec hf_door_spec(struct hf_server_config *config, struct hf_spec_room *room);
void hf_door_spec_done(struct hf_spec_room *room);

/* Who may come in by HTTP; the caller's. Where we listen is still to be said. */
struct hf_access *hf_door_access(const struct hf_config *config);

#endif
