/* door.h - between the public header and the inside: configs as the engine wants them. */
#ifndef HF_LIB_DOOR_H
#define HF_LIB_DOOR_H

#include "core/engine.h"
#include "ops/config.h"

struct hf_spec_room { /* what a spec points to */
    struct hf_rename *renames, *descriptions;
};

struct hf_server_spec hf_door_spec(struct hf_server_config *config, struct hf_spec_room *room);
void hf_door_spec_done(struct hf_spec_room *room);

#endif
