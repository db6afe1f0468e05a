/* modern.c - requests that carry their own introduction (2026-07-28): checked, and answered where
 * holdfast itself is the server. */
#include "core/client/modern.h"
#include "core/call/answer.h"
#include "core/call/send.h"
#include "core/catalog/part.h"
#include "core/client/initialize.h"
#include "core/client/session.h"
#include "core/client/view.h"
#include "core/engine.h"
#include "core/outbox.h"
#include "core/state/call.h"
#include "core/state/incoming.h"
#include "core/state/session.h"

/* The ttlMs of our lists. A client that listens is told of a change at once by list_changed. */
enum { LIST_TTL_MS = 5000 };

static const char our_info[] = "{\"name\":\"holdfast\",\"version\":\"" HF_VERSION "\"}";

void hf_session_set_modern(struct hf_session *session)
{
    session->is_modern = true;
}

struct hf_span hf_session_tool_schema(struct hf_session *session, struct hf_span raw_name)
{
    struct hf_target target = { 0 };
    if (hf_json_type(raw_name) != HF_JSON_STRING ||
        !hf_view_resolve(session, HF_PART_TOOLS, raw_name, &target))
        return (struct hf_span) { NULL, 0 };
    const struct hf_item *tool = hf_part_find(target.server->parts[HF_PART_TOOLS],
                                              target.own_name.p ? target.own_name : raw_name);
    return tool ? hf_json_get(tool->raw, HF_SPAN("inputSchema")) : (struct hf_span) { NULL, 0 };
}

static void refuse_version(const struct hf_incoming *in, struct hf_span version)
{
    struct hf_buf data = hf_draft();
    hf_buf_printf(&data, "{\"supported\":[\"" HF_MODERN_VERSION "\"],\"requested\":%.*s}",
                  HF_FMT(version));
    hf_reply_error_data(in, HF_CODE_UNSUPPORTED_VERSION, "Unsupported protocol version",
                        hf_buf_span(&data));
    hf_buf_done(&data);
}

/* Methods of the older revisions that the modern one has removed. */
static bool is_removed(enum hf_method_id method)
{
    return method == HF_METHOD_INITIALIZE || method == HF_METHOD_PING ||
           method == HF_METHOD_SET_LEVEL || method == HF_METHOD_SUBSCRIBE ||
           method == HF_METHOD_UNSUBSCRIBE;
}

bool hf_modern_refuse_wrong(const struct hf_incoming *in)
{
    const struct hf_span meta = in->msg->meta;
    const struct hf_span version = hf_json_get(meta, HF_SPAN(HF_META_VERSION));
    const struct hf_span capable = hf_json_get(meta, HF_SPAN(HF_META_CAPABLE));
    if (hf_json_type(version) != HF_JSON_STRING) {
        hf_reply_error(in, -32602, "Invalid params: _meta needs a string \"" HF_META_VERSION "\"");
        return true;
    }
    if (!hf_json_string_is(version, HF_SPAN(HF_MODERN_VERSION))) {
        refuse_version(in, version);
        return true;
    }
    if (hf_json_type(capable) != HF_JSON_OBJECT) {
        hf_reply_error(in, -32602, "Invalid params: _meta needs an object \"" HF_META_CAPABLE "\"");
        return true;
    }
    if (is_removed(in->method->id)) {
        hf_reply_error(in, -32601, "Method not found: %s is not part of " HF_MODERN_VERSION,
                       in->method->name);
        return true;
    }
    return false;
}

/* ---- our own results ---- */

static struct hf_span info_of(const struct hf_session *session)
{
    const struct hf_server *server = session->only;
    const struct hf_span info =
        server && server->greeting
            ? hf_json_get(hf_span_of(server->greeting), HF_SPAN("serverInfo"))
            : (struct hf_span) { NULL, 0 };
    return info.p ? info : hf_span_of(our_info);
}

void hf_modern_add_info(struct hf_buf *out, const struct hf_session *session)
{
    hf_buf_add_str(out, "\"" HF_META_SERVER "\":");
    hf_buf_add(out, info_of(session));
}

/* The members that each result of holdfast's own has for a modern client; no brace, no comma
 * behind. */
static void add_dress(struct hf_buf *out, const struct hf_session *session, bool is_cacheable)
{
    hf_buf_add_str(out, "\"resultType\":\"complete\"");
    if (is_cacheable) /* a list that a policy has filtered is not for other clients */
        hf_buf_printf(out, ",\"ttlMs\":%d,\"cacheScope\":\"%s\"", LIST_TTL_MS,
                      session->policy ? "private" : "public");
    hf_buf_add_str(out, ",\"_meta\":{");
    hf_modern_add_info(out, session);
    hf_buf_add_char(out, '}');
}

struct hf_span hf_modern_dressed(struct hf_session *session, struct hf_span result,
                                 bool is_cacheable)
{
    struct hf_buf draft = hf_draft();
    hf_buf_add_char(&draft, '{');
    add_dress(&draft, session, is_cacheable);
    if (result.n > 2)
        hf_buf_add_char(&draft, ',');
    hf_buf_add(&draft, hf_span_from(result, 1));
    return hf_draft_end(session->engine, &draft);
}

/* The extensions of all servers that the session may use; if several have the same one, it is
 * shown as the first of them has it. */
static void add_extensions(struct hf_buf *out, const struct hf_session *session)
{
    struct hf_buf all = hf_draft();
    const struct hf_server *server;
    hf_buf_add_char(&all, '{');
    HF_LIST_EACH (server, &session->engine->servers, struct hf_server, link) {
        if (!server->greeting || !hf_session_uses(session, server))
            continue;
        const struct hf_span extensions =
            hf_json_path(hf_span_of(server->greeting), 2,
                         (struct hf_span[]) { HF_SPAN("capabilities"), HF_SPAN("extensions") });
        for (struct hf_json_iter it = hf_json_iter(extensions); hf_json_next(&it);) {
            struct hf_buf closed = hf_draft();
            hf_buf_add(&closed, hf_buf_span(&all));
            hf_buf_add_char(&closed, '}');
            bool is_new = true;
            for (struct hf_json_iter in = hf_json_iter(hf_buf_span(&closed)); hf_json_next(&in);)
                is_new &= !hf_span_eq(in.key, it.key);
            hf_buf_done(&closed);
            if (!is_new)
                continue;
            hf_json_add_comma(&all);
            hf_buf_printf(&all, "\"%.*s\":%.*s", HF_FMT(it.key), HF_FMT(it.value));
        }
    }
    if (hf_buf_len(&all) > 1)
        hf_buf_printf(out, ",\"extensions\":%.*s}", HF_FMT(hf_buf_span(&all)));
    hf_buf_done(&all);
}

struct hf_span hf_modern_discover_result(struct hf_session *session)
{
    struct hf_buf result = hf_draft();
    hf_buf_add_char(&result, '{');
    add_dress(&result, session, true);
    hf_buf_add_str(&result, ",\"supportedVersions\":[\"" HF_MODERN_VERSION "\"],\"capabilities\":");
    if (session->only && session->only->greeting) {
        hf_initialize_add_capabilities(
            &result, hf_json_get(hf_span_of(session->only->greeting), HF_SPAN("capabilities")));
    } else {
        hf_buf_add_str(&result, "{\"tools\":{\"listChanged\":true},\"prompts\":{\"listChanged\":"
                                "true},\"resources\":{\"subscribe\":true,\"listChanged\":true},"
                                "\"completions\":{},\"logging\":{}");
        add_extensions(&result, session);
        hf_buf_add_char(&result, '}');
    }
    hf_initialize_add_instructions(&result, session);
    hf_buf_add_char(&result, '}');
    return hf_draft_end(session->engine, &result);
}

void hf_reply_result(const struct hf_incoming *in, struct hf_span result)
{
    hf_reply(in, hf_answer_result(in->is_modern ? hf_modern_dressed(in->session, result, false)
                                                : result));
}
