/* ready.c - see ready.h. */
#include "front/ready.h"
#include "core/machine/slot.h"

static bool is_missing(const struct hf_server_status *server)
{
    const bool is_at_rest = server->wanted && server->state == HF_SLOT_DISCONNECTED;
    return server->is_required && server->state != HF_SLOT_CONNECTED && !is_at_rest;
}

static bool is_awaited(const struct hf_server_status *server)
{
    return server->wanted && !server->is_lazy && !server->last_connected_ms;
}

static bool was_connected(const struct hf_server_status *server)
{
    return server->wanted && !server->is_lazy && server->last_connected_ms;
}

static size_t count(const struct hf_engine_status *engine,
                    bool (*is)(const struct hf_server_status *server))
{
    size_t n = 0;
    for (size_t i = 0; i < engine->server_count; i++)
        n += is(&engine->servers[i].now);
    return n;
}

/* A reason may quote the server: control characters become spaces. */
static void add_server(struct hf_buf *out, const struct hf_server_status *server)
{
    const char *reason = server->last_reason ? server->last_reason : "";
    hf_buf_printf(out, "%s: %s", server->name, hf_slot_state_name(server->state));
    if (*reason)
        hf_buf_add_str(out, " (");
    for (const char *c = reason; *c; c++)
        hf_buf_add_char(out, (unsigned char)*c < ' ' || *c == 0x7f ? ' ' : *c);
    hf_buf_add_str(out, *reason ? ")\n" : "\n");
}

bool hf_ready_write(struct hf_buf *out, const struct hf_engine_status *engine, bool is_stopping,
                    bool (*shown)(const void *context, const char *server), const void *context)
{
    const bool is_missed = count(engine, is_missing) > 0;
    const bool is_starting = count(engine, is_awaited) > 0 && count(engine, was_connected) == 0;
    if (is_stopping || !(is_missed || is_starting)) {
        hf_buf_add_str(out, is_stopping ? "stopping\n" : "ready\n");
        return !is_stopping;
    }
    hf_buf_add_str(out, is_missed ? "not ready: a required server is not connected\n"
                                  : "not ready: no server was connected yet\n");
    for (size_t i = 0; shown && i < engine->server_count; i++) {
        const struct hf_server_status *server = &engine->servers[i].now;
        const bool is_meant = is_missed ? is_missing(server) : is_awaited(server);
        if (!is_meant || !shown(context, server->name))
            continue;
        add_server(out, server);
    }
    return false;
}
