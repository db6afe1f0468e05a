/* policy_uri.c - which resources a client may see and use, by its token.
 *
 * A resource has more names than one: the URI, server__URI, and server__name of the resource, or of
 * each template that the URI matches. It is allowed if `allow` matches one of them, and `deny`
 * none: whatever name an operator knows it by, he can forbid it. */
#include "base/glob.h"
#include "base/uri_template.h"
#include "core/catalog/part.h"
#include "core/client/policy.h"
#include "core/outbox.h"
#include "core/state/server.h"

struct look {
    const struct hf_policy *policy;
    const struct hf_server *server;
    bool is_allowed, is_denied;
};

static void look_at(struct look *look, struct hf_span name)
{
    const struct hf_filter *names = &look->policy->names;
    look->is_allowed |= !names->allow || hf_glob_any(names->allow, name);
    look->is_denied |= hf_glob_any(names->deny, name);
}

static void look_at_servers(struct look *look, struct hf_span name)
{
    struct hf_buf full = hf_draft();
    hf_buf_printf(&full, "%s__", look->server->name);
    hf_buf_add(&full, name);
    look_at(look, hf_buf_span(&full));
    hf_buf_done(&full);
}

/* By the URI, or the template, that the item has, and by its name. */
static void look_at_item(struct look *look, const struct hf_item *item)
{
    struct hf_buf plain = hf_draft();
    if (hf_json_unescape(item->name, &plain)) {
        look_at(look, hf_buf_span(&plain));
        look_at_servers(look, hf_buf_span(&plain));
    }
    hf_buf_clear(&plain);
    const struct hf_span name = hf_json_get(item->raw, HF_SPAN("name"));
    if (hf_json_type(name) == HF_JSON_STRING && hf_json_unescape(name, &plain))
        look_at_servers(look, hf_buf_span(&plain));
    hf_buf_done(&plain);
}

static bool matches(const struct hf_item *template, struct hf_span uri)
{
    struct hf_buf plain = hf_draft();
    const bool is_so = hf_json_unescape(template->name, &plain) &&
                       hf_uri_template_matches(hf_buf_span(&plain), uri);
    hf_buf_done(&plain);
    return is_so;
}

static void look_at_templates(struct look *look, struct hf_span uri)
{
    const struct hf_part *templates = look->server->parts[HF_PART_TEMPLATES];
    for (size_t i = 0; templates && uri.n <= HF_TEMPLATE_URI_MAX && i < templates->count; i++)
        if (matches(&templates->items[i], uri))
            look_at_item(look, &templates->items[i]);
}

static bool decide(struct look *look, const struct hf_item *item, struct hf_span raw_uri)
{
    struct hf_buf uri = hf_draft();
    if (item) {
        look_at_item(look, item);
    } else if (hf_json_unescape(raw_uri, &uri)) {
        look_at(look, hf_buf_span(&uri));
        look_at_servers(look, hf_buf_span(&uri));
        look_at_templates(look, hf_buf_span(&uri));
    }
    hf_buf_done(&uri);
    return look->is_allowed && !look->is_denied;
}

bool hf_policy_allows_resource(const struct hf_policy *policy, const struct hf_server *server,
                               const struct hf_item *item)
{
    if (!policy || !hf_filter_is_set(&policy->names))
        return hf_policy_allows_server(policy, server->name);
    struct look look = { policy, server, false, false };
    return hf_policy_allows_server(policy, server->name) &&
           decide(&look, item, (struct hf_span) { NULL, 0 });
}

bool hf_policy_allows_uri(const struct hf_policy *policy, const struct hf_server *server,
                          struct hf_span raw_uri)
{
    if (!policy || !hf_filter_is_set(&policy->names))
        return hf_policy_allows_server(policy, server->name);
    struct look look = { policy, server, false, false };
    const struct hf_item *item = hf_part_find(server->parts[HF_PART_RESOURCES], raw_uri);
    if (!item) /* completion/complete names a template itself */
        item = hf_part_find(server->parts[HF_PART_TEMPLATES], raw_uri);
    return hf_policy_allows_server(policy, server->name) && decide(&look, item, raw_uri);
}
