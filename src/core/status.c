/* status.c - see status.h. */
#include "core/status.h"
#include "base/mem.h"

void hf_engine_status(struct hf_engine *engine, struct hf_engine_status *ret_status)
{
    size_t count = 0, at = 0;
    for (struct hf_server *server = NULL; (server = hf_engine_next_server(engine, server));)
        count++;
    *ret_status = (struct hf_engine_status) {
        .servers = hf_new_array(struct hf_server_entry, count),
        .server_count = count,
        .unaddressed = hf_engine_stats(engine),
        .held_bytes = hf_engine_held_bytes(engine),
        .remembered_bytes = hf_engine_remembered_bytes(engine),
    };
    for (struct hf_server *server = NULL; (server = hf_engine_next_server(engine, server));) {
        struct hf_server_entry *entry = &ret_status->servers[at++];
        hf_server_status(server, &entry->now);
        entry->calls = hf_server_stats(server);
    }
}

void hf_engine_status_done(struct hf_engine_status *status)
{
    hf_free(status->servers);
    *status = (struct hf_engine_status) { 0 };
}
