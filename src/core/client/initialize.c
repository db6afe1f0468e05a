/* initialize.c - how a client's initialize is taken, and answered with what is known of its
 * servers. */
#include "core/client/initialize.h"
#include "core/call/remember.h"
#include "core/call/send.h"
#include "core/client/audience.h"
#include "core/client/session.h"
#include "core/engine.h"
#include "core/outbox.h"
#include "core/server/handshake.h"
#include "core/server/runtime.h"
#include "core/server/server.h"
#include "core/server/server_request.h"
#include "core/server/slot.h"
#include "core/state/runtime.h"
#include "core/state/session.h"

static const char *const known_versions[] = { "2024-11-05", "2025-03-26", "2025-06-18",
                                              "2025-11-25" };
enum { VERSION_COUNT = sizeof known_versions / sizeof *known_versions };

static const char *version_for(const struct hf_session *session)
{
    const struct hf_span asked =
        hf_json_get(hf_span_of(session->initialize_params), HF_SPAN("protocolVersion"));
    for (size_t i = 0; i < VERSION_COUNT; i++)
        if (hf_json_string_is(asked, hf_span_of(known_versions[i])))
            return known_versions[i];
    return known_versions[VERSION_COUNT - 1];
}

bool hf_version_is_known(struct hf_span version)
{
    for (size_t i = 0; i < VERSION_COUNT; i++)
        if (hf_span_is(version, known_versions[i]))
            return true;
    return false;
}

const char *hf_session_version(const struct hf_session *session)
{
    return session->has_greeted ? version_for(session) : NULL;
}

static bool names_a_list(struct hf_span key)
{
    return hf_json_key_is(key, HF_SPAN("tools")) || hf_json_key_is(key, HF_SPAN("prompts")) ||
           hf_json_key_is(key, HF_SPAN("resources"));
}

/* The server's capabilities as they are, except that listChanged is always true: holdfast itself
 * tells clients of changed lists. */
void hf_initialize_add_capabilities(struct hf_buf *out, struct hf_span capabilities)
{
    hf_buf_add_char(out, '{');
    for (struct hf_json_iter it = hf_json_iter(capabilities); hf_json_next(&it);) {
        hf_json_add_comma(out);
        hf_buf_printf(out, "\"%.*s\":", HF_FMT(it.key));
        if (!names_a_list(it.key) || hf_json_type(it.value) != HF_JSON_OBJECT) {
            hf_buf_add(out, it.value);
            continue;
        }
        hf_buf_add_str(out, "{\"listChanged\":true");
        for (struct hf_json_iter in = hf_json_iter(it.value); hf_json_next(&in);)
            if (!hf_json_key_is(in.key, HF_SPAN("listChanged")))
                hf_buf_printf(out, ",\"%.*s\":%.*s", HF_FMT(in.key), HF_FMT(in.value));
        hf_buf_add_char(out, '}');
    }
    hf_buf_add_char(out, '}');
}

static bool is_modern_server(const struct hf_server *server)
{
    const struct hf_slot *slot = hf_server_slot(server);
    const struct hf_runtime *runtime = !slot ? NULL : slot->current ? slot->current : slot->attempt;
    return runtime && runtime->is_modern;
}

/* A runtime of the client's own waits for the client's `initialized` before it is listed and
 * installed, so its initialize result is taken from the attempt that is under way. */
struct hf_span hf_initialize_server_result(const struct hf_session *session)
{
    const struct hf_server *server = session->only;
    const struct hf_slot *slot = server ? hf_slot_of(server, session) : NULL;
    if (!server || server->greeting || !slot || slot->owner != session || !slot->attempt)
        return hf_span_of(server ? server->greeting : NULL);
    return hf_span_of(slot->attempt->greeting);
}

/* The server's initialize result. A shared server agreed on its protocol version with holdfast: the
 * client is told the version that fits its own initialize. */
static void add_server_greeting(struct hf_buf *out, const struct hf_session *session,
                                struct hf_span greeting)
{
    const struct hf_server *server = session->only;
    hf_buf_add_char(out, '{');
    for (struct hf_json_iter it = hf_json_iter(greeting); hf_json_next(&it);) {
        hf_json_add_comma(out);
        hf_buf_printf(out, "\"%.*s\":", HF_FMT(it.key));
        if (hf_json_key_is(it.key, HF_SPAN("capabilities")))
            hf_initialize_add_capabilities(out, it.value);
        else if (hf_json_key_is(it.key, HF_SPAN("protocolVersion")) &&
                 (!server->is_clients_own || is_modern_server(server)))
            hf_buf_printf(out, "\"%s\"", version_for(session));
        else
            hf_buf_add(out, it.value);
    }
    hf_buf_add_char(out, '}');
}

static struct hf_span instructions_of(const struct hf_server *server)
{
    return server->greeting ? hf_json_get(hf_span_of(server->greeting), HF_SPAN("instructions"))
                            : (struct hf_span) { NULL, 0 };
}

/* The instructions of an only server as they are; of several servers, those that are known by now,
 * each under its server's name. */
void hf_initialize_add_instructions(struct hf_buf *out, const struct hf_session *session)
{
    if (session->only) {
        const struct hf_span text = instructions_of(session->only);
        if (text.p)
            hf_buf_printf(out, ",\"instructions\":%.*s", HF_FMT(text));
        return;
    }
    struct hf_buf words = hf_draft();
    const struct hf_server *server;
    HF_LIST_EACH (server, &session->engine->servers, struct hf_server, link) {
        const struct hf_span text = server->is_published && hf_session_uses(session, server)
                                        ? instructions_of(server)
                                        : (struct hf_span) { NULL, 0 };
        if (hf_json_type(text) != HF_JSON_STRING)
            continue;
        hf_buf_printf(&words, "%s# %s\n", hf_buf_len(&words) ? "\n\n" : "", server->name);
        if (!hf_json_unescape(text, &words))
            break;
    }
    if (hf_buf_len(&words)) {
        hf_buf_add_str(out, ",\"instructions\":");
        hf_json_add_string(out, hf_buf_span(&words));
    }
    hf_buf_done(&words);
}

struct hf_span hf_initialize_result(struct hf_session *session)
{
    struct hf_buf result = hf_draft();
    const struct hf_span greeting = hf_initialize_server_result(session);
    if (greeting.p) {
        add_server_greeting(&result, session, greeting);
    } else {
        hf_buf_printf(
            &result,
            "{\"protocolVersion\":\"%s\",\"capabilities\":{\"tools\":{\"listChanged\":true},"
            "\"prompts\":{\"listChanged\":true},\"resources\":{\"subscribe\":true,"
            "\"listChanged\":true},\"logging\":{},\"completions\":{}},"
            "\"serverInfo\":{\"name\":\"holdfast\",\"version\":\"%s\"}",
            version_for(session), HF_VERSION);
        session->was_greeted_blind = session->only != NULL;
        if (!session->only)
            hf_initialize_add_instructions(&result, session);
        hf_buf_add_char(&result, '}');
    }
    hf_audience_greeted(session);
    if (session->has_initialized) /* the client did not wait for this result */
        hf_initialize_review_roots(session->engine);
    return hf_draft_end(session->engine, &result);
}

void hf_initialize_params(struct hf_session *session, struct hf_span params)
{
    if (session->initialize_params)
        hf_session_forget_bytes(session, strlen(session->initialize_params));
    hf_free(session->initialize_params);
    session->initialize_params = hf_span_dup(params);
    hf_session_remember(session, params.n);
    hf_msg_to_one_line(session->initialize_params, params.n);
    session->capabilities =
        hf_json_get(hf_span_of(session->initialize_params), HF_SPAN("capabilities"));
    session->has_initialized = false;
    struct hf_server *server = session->only;
    if (!server || !server->is_clients_own)
        return;
    struct hf_slot *slot = hf_server_slot(server);
    if (!slot) /* the server was removed */
        return;
    hf_slot_set_owner(slot, session);
    if (slot->attempt)
        hf_runtime_maybe_greet(slot->attempt);
}

static bool offers_roots(const struct hf_session *session)
{
    return session && session->has_initialized &&
           hf_client_can_be_asked(session->capabilities, HF_METHOD_ROOTS,
                                  (struct hf_span) { NULL, 0 });
}

/* A server asks for the roots once and then waits to be told that they changed. If it asked while
 * no client could answer, or was answered by another client, it must be told. */
static void tell_of_roots(struct hf_runtime *runtime, const struct hf_session *client)
{
    if (!runtime || runtime->machine.state < HF_RUNTIME_LISTING || runtime->is_modern ||
        runtime->is_introducing || runtime->roots_of == client->number)
        return;
    runtime->roots_of = client->number;
    struct hf_buf draft = hf_draft();
    hf_msg_add_notification(&draft, "notifications/roots/list_changed");
    hf_runtime_notify(runtime, hf_draft_end(runtime->server->engine, &draft));
}

void hf_initialize_review_roots(struct hf_engine *engine)
{
    const struct hf_server *server;
    HF_LIST_EACH (server, &engine->servers, struct hf_server, link) {
        const struct hf_slot *slot = hf_server_slot(server);
        if (!slot || slot->owner || server->is_clients_own ||
            server->settings.isolation != HF_ISOLATION_SHARED)
            continue;
        const struct hf_session *client = hf_audiences_sole_client(server);
        if (!offers_roots(client))
            continue;
        tell_of_roots(slot->current, client);
        tell_of_roots(slot->attempt, client);
    }
}

void hf_initialize_confirmed(struct hf_session *session)
{
    if (session->has_initialized)
        return;
    session->has_initialized = true;
    session->initialized_ms = session->engine->now_ms;
    struct hf_slot *slot;
    HF_LIST_EACH (slot, &session->slots, struct hf_slot, in_owner) {
        if (slot->attempt)
            hf_handshake_client_ready(slot->attempt);
    }
    hf_server_requests_send_early(session);
    if (offers_roots(session))
        hf_initialize_review_roots(session->engine);
}

void hf_initialize_stranger(struct hf_session *session)
{
    if (session->initialize_params)
        return;
    hf_initialize_params(session,
                         HF_SPAN("{\"protocolVersion\":\"2025-03-26\",\"capabilities\":{},"
                                 "\"clientInfo\":{\"name\":\"unknown\",\"version\":\"0\"}}"));
    hf_audience_greeted(session);
}

/* The server of `holdfast run` gets the initialize params of its one client. A modern client sends
 * no initialize, but the same facts with every request. */
void hf_initialize_modern(struct hf_session *session, const struct hf_msg *msg)
{
    if (session->initialize_params || !session->only || !session->only->is_clients_own)
        return;
    const struct hf_span meta = msg->meta;
    const struct hf_span info = hf_json_get(meta, HF_SPAN(HF_META_CLIENT));
    struct hf_buf params = hf_draft();
    hf_buf_printf(&params, "{\"protocolVersion\":\"%s\",\"capabilities\":%.*s,\"clientInfo\":",
                  known_versions[VERSION_COUNT - 1],
                  HF_FMT(hf_json_get(meta, HF_SPAN(HF_META_CAPABLE))));
    hf_buf_add(&params, info.p ? info : HF_SPAN("{\"name\":\"unknown\",\"version\":\"0\"}"));
    hf_buf_add_char(&params, '}');
    hf_initialize_params(session, hf_buf_span(&params));
    hf_buf_done(&params);
}
