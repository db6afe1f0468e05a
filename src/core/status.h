/*
 * status.h - what is worth knowing of an engine at one moment, as one struct: for whoever shows it
 * to people or programs.
 *
 * Texts and counters are the engine's own: they are good until it is given the next event.
 */
#ifndef HF_CORE_STATUS_H
#define HF_CORE_STATUS_H

#include "core/engine.h"

struct hf_engine_status {
    struct hf_server_entry {
        struct hf_server_status now;
        const struct hf_stats *calls; /* what became of its calls so far */
    } * servers;                      /* in the order in which the servers were added */
    size_t server_count;
    const struct hf_stats *unaddressed; /* failures of requests that were for no server */
    uint64_t held_bytes;                /* of requests held at this moment */
    uint64_t remembered_bytes;          /* of what clients made us remember */
};

void hf_engine_status(struct hf_engine *engine, struct hf_engine_status *ret_status);
void hf_engine_status_done(struct hf_engine_status *status);

#endif
