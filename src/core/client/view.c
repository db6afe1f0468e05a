/* view.c - the lists as the clients of one audience are shown them: merged, named, filtered, paged.
 *
 * A view is built when a client first asks for it after a change, and never changed after that. A
 * few older views of more than one page are kept, so that a cursor stays good while its client
 * fetches further pages, and each client keeps the view it was last given, so that names in it go
 * on resolving (P6). Of a view that is only kept for that, only the names are kept, and
 * all views together are bounded (view_keep.c). */
#include "core/client/view.h"
#include <assert.h>
#include <stdio.h>
#include "core/catalog/part.h"
#include "core/catalog/rules.h"
#include "core/client/audience.h"
#include "core/client/policy.h"
#include "core/client/session.h"
#include "core/client/view_parts.h"
#include "core/outbox.h"
#include "core/server/server.h"
#include "core/state/session.h"
#include "base/uri_template.h"

enum { NAME_MAX_LENGTH = 64, CURSOR_GOOD_MS = 300000, VIEW_BYTES_MAX = 256 << 20 };

/* ---- names ---- */

/* NULL: the server was removed. It may still stand in lists that clients were given. */
static struct hf_server *server_of(const struct hf_view_entry *entry)
{
    return entry && !entry->server->is_forgotten ? entry->server : NULL;
}

static const struct hf_view_entry *find_entry(const struct hf_view *view, struct hf_span name)
{
    if (!view || !view->audience)
        return NULL;
    const struct hf_view_entry *entry;
    HF_MAP_EACH(entry, &view->by_name, hf_map_hash(&view->by_name, 0, name), struct hf_view_entry,
                in_map)
    {
        if (hf_span_eq(entry->name, name))
            return entry;
    }
    return NULL;
}

static bool has_names(enum hf_part_id part)
{
    return part == HF_PART_TOOLS || part == HF_PART_PROMPTS;
}

static bool is_prefixed(const struct hf_session *session, const struct hf_server *server)
{
    return !session->only && server->settings.prefix == HF_PREFIX_ALWAYS;
}

/* The digest makes an over-long name differ from others with the same beginning. It is FNV-1a,
 * without a key: people note these names down, and they must be the same after a restart. */
static uint32_t digest_of(struct hf_span name)
{
    uint32_t digest = 2166136261u;
    for (size_t i = 0; i < name.n; i++)
        digest = (digest ^ (unsigned char)name.p[i]) * 16777619u;
    return digest;
}

/* Adds the published form of a name: renamed, prefixed, and if it is over-long, cut and ended with
 * a digest of the whole. */
static void add_published_name(struct hf_buf *out, const struct hf_session *session,
                               const struct hf_server *server, struct hf_span own)
{
    const struct hf_rename *rename =
        hf_rules_find(server->rules.renames, server->rules.rename_count, own);
    const struct hf_span name = rename ? rename->to : own;
    const size_t at = hf_buf_len(out);
    if (is_prefixed(session, server))
        hf_buf_printf(out, "%s__", server->prefix);
    hf_buf_add(out, name);
    if (session->only || hf_buf_len(out) - at <= NAME_MAX_LENGTH)
        return;
    const uint32_t digest = digest_of(hf_span_from(hf_buf_span(out), at));
    size_t keep = at + NAME_MAX_LENGTH - 9;
    while (keep > at && (hf_buf_span(out).p[keep] & 0xc0) == 0x80) /* no half of a character */
        keep--;
    out->end = out->start + keep;
    hf_buf_printf(out, "_%08x", digest);
}

/* ---- building ---- */

/* Another value for one member of an item, or a member to be inserted. */
struct change {
    struct hf_span value; /* the old value, in the item's text; n == 0: the place to insert at */
    struct hf_span by;
};

static void add_changed(struct hf_buf *out, struct hf_span raw, struct change *changes,
                        size_t count)
{
    if (count == 2 && changes[0].value.p > changes[1].value.p) {
        const struct change swap = changes[0];
        changes[0] = changes[1];
        changes[1] = swap;
    }
    const char *from = raw.p;
    for (size_t i = 0; i < count; i++) {
        hf_buf_add(out, (struct hf_span) { from, (size_t)(changes[i].value.p - from) });
        hf_buf_add(out, changes[i].by);
        from = changes[i].value.p + changes[i].value.n;
    }
    hf_buf_add(out, (struct hf_span) { from, (size_t)(raw.p + raw.n - from) });
}

static void add_item(struct hf_view *view, const struct hf_server *server,
                     const struct hf_item *item, struct hf_span own, struct hf_span name)
{
    struct change changes[2];
    size_t count = 0;
    struct hf_buf by_name = hf_draft(), by_description = hf_draft();
    if (!hf_span_eq(own, name)) {
        hf_json_add_string(&by_name, name);
        changes[count++] = (struct change) { item->name, hf_buf_span(&by_name) };
    }
    const struct hf_rename *describe =
        hf_rules_find(server->rules.descriptions, server->rules.description_count, own);
    if (describe) {
        struct hf_span old = hf_json_get(item->raw, HF_SPAN("description"));
        if (!old.p) {
            old = (struct hf_span) { item->raw.p + 1, 0 };
            hf_buf_add_str(&by_description, "\"description\":");
        }
        hf_json_add_string(&by_description, describe->to);
        if (old.n == 0)
            hf_buf_add_char(&by_description, ',');
        changes[count++] = (struct change) { old, hf_buf_span(&by_description) };
    }
    add_changed(&view->bytes, item->raw, changes, count);
    hf_buf_done(&by_name);
    hf_buf_done(&by_description);
}

static void end_page(struct hf_view *view)
{
    view->page_ends = hf_realloc(view->page_ends, (view->page_count + 1) * sizeof(size_t));
    view->page_ends[view->page_count++] = hf_buf_len(&view->bytes);
}

static bool is_allowed(const struct hf_session *session, const struct hf_server *server,
                       struct hf_span own)
{
    return hf_filter_allows(&server->rules.names, own) &&
           hf_policy_allows(session->policy, server, own);
}

static bool add_entry(struct hf_view *view, struct hf_session *session, struct hf_server *server,
                      const struct hf_item *item, enum hf_part_id part)
{
    struct hf_buf own = hf_draft();
    bool is_new = false;
    if (!hf_json_unescape(item->name, &own))
        hf_buf_clear(&own);
    const struct hf_span plain = hf_buf_span(&own);
    if (has_names(part) ? !is_allowed(session, server, plain)
                        : !hf_policy_allows_resource(session->policy, server, item))
        goto out;
    const size_t at = hf_buf_len(&view->names);
    if (has_names(part))
        add_published_name(&view->names, session, server, plain);
    else
        hf_buf_add(&view->names, plain);
    const struct hf_span name = hf_span_from(hf_buf_span(&view->names), at);
    if (find_entry(view, name)) { /* the first server in config order has the name */
        if (has_names(part))
            hf_note(session->engine, server,
                    &(struct hf_note) { .event = HF_NOTE_NAME_CLASH,
                                        .generation = server->generation,
                                        .what = name });
        goto out;
    }
    const size_t page_start = view->page_count ? view->page_ends[view->page_count - 1] : 0;
    const size_t page_length = hf_buf_len(&view->bytes) - page_start;
    if (page_length && page_length + item->raw.n > session->engine->limits.page_bytes)
        end_page(view);
    else if (page_length)
        hf_buf_add_char(&view->bytes, ',');
    add_item(view, server, item, plain, has_names(part) ? name : plain);
    struct hf_view_entry *entry = &view->entries[view->count++];
    *entry = (struct hf_view_entry) {
        .name = name, .server = server, .own_name = item->name, .is_idempotent = item->is_idempotent
    };
    hf_map_add(&view->by_name, &entry->in_map, hf_map_hash(&view->by_name, 0, name));
    is_new = true;
out:
    hf_buf_done(&own);
    return is_new;
}

/* How many bytes add_published_name may write beyond the length of a server's own name. */
static size_t name_overhead(const struct hf_server *server)
{
    size_t longest = 0;
    for (size_t i = 0; i < server->rules.rename_count; i++)
        if (server->rules.renames[i].to.n > longest)
            longest = server->rules.renames[i].to.n;
    return strlen(server->prefix) + longest + NAME_MAX_LENGTH;
}

/* Whether a server's part goes into the view that is being built; `total` counts the bytes so far.
 * A part that would make the view larger than VIEW_BYTES_MAX stays out, as if its server had not
 * listed it. */
static bool is_shown(const struct hf_session *session, const struct hf_server *server,
                     enum hf_part_id part, uint64_t *total)
{
    if (!hf_session_uses(session, server) || !server->is_published || !server->parts[part])
        return false;
    const uint64_t bytes = hf_buf_len(&server->parts[part]->bytes);
    if (*total + bytes > VIEW_BYTES_MAX)
        return false;
    *total += bytes;
    return true;
}

static size_t count_items(const struct hf_session *session, enum hf_part_id part,
                          size_t *ret_name_bytes)
{
    size_t count = 0;
    uint64_t total = 0;
    const struct hf_server *server;
    *ret_name_bytes = 0;
    HF_LIST_EACH (server, &session->engine->servers, struct hf_server, link) {
        if (!is_shown(session, server, part, &total))
            continue;
        const struct hf_part *source = server->parts[part];
        count += source->count;
        *ret_name_bytes += source->count * name_overhead(server);
        for (size_t i = 0; i < source->count; i++)
            *ret_name_bytes += source->items[i].name.n;
    }
    return count;
}

static struct hf_view *build(struct hf_session *session, enum hf_part_id part)
{
    struct hf_engine *engine = session->engine;
    struct hf_view *view = hf_new(struct hf_view);
    size_t bytes;
    const size_t count = count_items(session, part, &bytes);
    view->refs = 1;
    view->audience = session->audience;
    hf_link_init(&view->in_old);
    view->version = ++engine->view_serial;
    view->born_ms = engine->now_ms;
    view->names = hf_draft();
    view->bytes = hf_draft();
    /* names must not move while entries point into them */
    if (!hf_buf_reserve(&view->names, bytes + 1))
        assert(0 && "the parts are bounded");
    view->entries = hf_new_array(struct hf_view_entry, count + 1);
    hf_map_init(&view->by_name, &engine->map_key);
    uint64_t total = 0;
    struct hf_server *server;
    HF_LIST_EACH (server, &engine->servers, struct hf_server, link) {
        if (!is_shown(session, server, part, &total))
            continue;
        struct hf_part *source = server->parts[part];
        view->sources = hf_realloc(view->sources, (view->source_count + 1) * sizeof *view->sources);
        view->sources[view->source_count++] =
            (struct hf_view_source) { hf_part_ref(source), server };
        server->refs++;
        for (size_t i = 0; i < source->count; i++)
            (void)add_entry(view, session, server, &source->items[i], part);
    }
    end_page(view);
    view->digest = hf_map_hash(&view->by_name, view->page_count, hf_buf_span(&view->bytes));
    for (size_t i = 0; i < view->count; i++)
        view->digest = hf_map_hash(&view->by_name, view->digest,
                                   (struct hf_span) { (const char *)&view->entries[i].server,
                                                      sizeof view->entries[i].server });
    hf_view_count(view);
    return view;
}

/* ---- the views that an audience keeps ---- */

static void drop_old_cursors(struct hf_audience *audience, struct hf_view **views)
{
    for (size_t i = 1; i < HF_VIEWS_KEPT; i++)
        if (views[i] && audience->engine->now_ms - views[i]->born_ms >= CURSOR_GOOD_MS)
            hf_view_let_go(&views[i]);
}

/* A change may be in what rules hide from this audience: then the newest view stays what it was. */
static struct hf_view *newest(struct hf_session *session, enum hf_part_id part)
{
    struct hf_audience *audience = session->audience;
    struct hf_view **views = audience->views[part];
    const uint64_t serial =
        audience->only ? audience->only->list_serial[part] : audience->engine->list_serial[part];
    if (audience->built_at[part] == serial && views[0])
        return views[0];
    struct hf_view *fresh = build(session, part);
    audience->built_at[part] = serial;
    if (views[0] && views[0]->digest == fresh->digest) {
        hf_view_unref(fresh);
        return views[0];
    }
    if (views[0] && views[0]->page_count > 1) { /* clients may have cursors of it */
        hf_view_let_go(&views[HF_VIEWS_KEPT - 1]);
        memmove(views + 1, views, (HF_VIEWS_KEPT - 1) * sizeof *views);
        views[0] = NULL;
    }
    hf_view_let_go(&views[0]);
    views[0] = fresh;
    drop_old_cursors(audience, views);
    hf_views_make_room(audience);
    return fresh;
}

bool hf_view_is_newest(struct hf_session *session, enum hf_part_id part)
{
    return newest(session, part)->digest == session->given[part]->digest;
}

/* ---- pages ---- */

static bool parse_cursor(struct hf_span cursor, uint64_t *ret_version, size_t *ret_page)
{
    char text[48];
    unsigned long long version, page;
    if (hf_json_type(cursor) != HF_JSON_STRING || cursor.n >= sizeof text)
        return false;
    (void)snprintf(text, sizeof text, "%.*s", HF_FMT(cursor));
    int end = 0; /* set only if the closing quote was there too */
    if (sscanf(text, "\"v%llu-%llu\"%n", &version, &page, &end) != 2 || (size_t)end != cursor.n)
        return false;
    *ret_version = version;
    *ret_page = (size_t)page;
    return true;
}

static struct hf_view *view_of_version(struct hf_session *session, enum hf_part_id part,
                                       uint64_t version)
{
    struct hf_audience *audience = session->audience;
    for (size_t i = 0; i < HF_VIEWS_KEPT; i++) {
        struct hf_view *view = audience->views[part][i];
        if (view && view->version == version &&
            (i == 0 || session->engine->now_ms - view->born_ms < CURSOR_GOOD_MS))
            return view;
    }
    return NULL;
}

struct hf_span hf_view_page(struct hf_session *session, enum hf_part_id part, struct hf_span cursor,
                            struct hf_err *err)
{
    struct hf_view *view = NULL;
    uint64_t version = 0;
    size_t page = 0;
    if (!cursor.p) {
        view = newest(session, part);
        view->refs++;
        hf_view_unref(session->given[part]);
        session->given[part] = view;
        session->told[part] = session->engine->news_serial; /* the list is the newest */
    } else if (parse_cursor(cursor, &version, &page)) {
        view = view_of_version(session, part, version);
    }
    if (!view || page >= view->page_count) {
        hf_fail(err, "the cursor is not one of ours, or too old: list from the start again");
        return (struct hf_span) { NULL, 0 };
    }
    const size_t from = page ? view->page_ends[page - 1] : 0;
    struct hf_buf draft = hf_draft();
    hf_buf_printf(&draft, "{\"%.*s\":[", HF_FMT(hf_part_traits(part)->member));
    hf_buf_add(&draft, (struct hf_span) { hf_buf_span(&view->bytes).p + from,
                                          view->page_ends[page] - from });
    hf_buf_add_char(&draft, ']');
    if (page + 1 < view->page_count)
        hf_buf_printf(&draft, ",\"nextCursor\":\"v%llu-%zu\"", (unsigned long long)view->version,
                      page + 1);
    hf_buf_add_char(&draft, '}');
    return hf_draft_end(session->engine, &draft);
}

/* ---- resolving ---- */

static bool has_plain_names(const struct hf_server *server)
{
    const struct hf_rule_set *rules = &server->rules;
    return !hf_filter_is_set(&rules->names) && rules->rename_count == 0;
}

/* A name that stands in no list may be of a server that was never listed, or may be denied.
 * `prefixed`: whether the servers to be looked at publish their names with a prefix. */
static bool resolve_unlisted_as(struct hf_session *session, enum hf_part_id part,
                                struct hf_span name, bool prefixed, struct hf_target *ret_target)
{
    struct hf_server *server;
    HF_LIST_EACH (server, &session->engine->servers, struct hf_server, link) {
        if (!hf_session_uses(session, server) || server->is_removed ||
            is_prefixed(session, server) != prefixed)
            continue;
        struct hf_span own = name;
        if (prefixed) {
            const size_t n = strlen(server->prefix);
            if (name.n <= n + 2 || memcmp(name.p, server->prefix, n) != 0 ||
                memcmp(name.p + n, "__", 2) != 0)
                continue;
            own = hf_span_from(name, n + 2);
        }
        if (!is_allowed(session, server, own)) {
            *ret_target = (struct hf_target) { .server = server, .is_denied = true };
            continue;
        }
        /* The names of a server that is switched off or given up are not listed, but still resolve:
         * the client is then told why the server cannot be used. */
        const bool is_hidden =
            !server->is_published && hf_part_find_plain(server->parts[part], own);
        if (server->parts[part] && !is_hidden && !session->only)
            continue;
        struct hf_buf json = hf_draft();
        hf_json_add_string(&json, own);
        *ret_target = (struct hf_target) { .server = server,
                                           .own_name = hf_draft_end(session->engine, &json) };
        return true;
    }
    return false;
}

/* A prefix names the server. Only a name that has no server's prefix is tried without. */
static bool resolve_unlisted(struct hf_session *session, enum hf_part_id part, struct hf_span name,
                             struct hf_target *ret_target)
{
    return resolve_unlisted_as(session, part, name, true, ret_target) ||
           (!ret_target->is_denied && resolve_unlisted_as(session, part, name, false, ret_target));
}

bool hf_view_resolve(struct hf_session *session, enum hf_part_id part, struct hf_span raw_name,
                     struct hf_target *ret_target)
{
    struct hf_server *only = session->only;
    if (only && has_plain_names(only) && !session->policy) {
        *ret_target = (struct hf_target) { .server = only };
        if (only->settings.retry == HF_RETRY_IDEMPOTENT && part == HF_PART_TOOLS) {
            const struct hf_item *item = hf_part_find(only->parts[part], raw_name);
            ret_target->is_idempotent = item && item->is_idempotent;
        }
        return true;
    }
    struct hf_buf plain = hf_draft();
    bool found = false;
    if (hf_json_unescape(raw_name, &plain)) {
        const struct hf_span name = hf_buf_span(&plain);
        const struct hf_view_entry *entry = find_entry(session->given[part], name);
        if (!server_of(entry))
            entry = find_entry(newest(session, part), name);
        found = server_of(entry);
        if (found)
            *ret_target = (struct hf_target) { .server = entry->server,
                                               .own_name = entry->own_name,
                                               .is_idempotent = entry->is_idempotent };
        else if (has_names(part))
            found = resolve_unlisted(session, part, name, ret_target);
    }
    hf_buf_done(&plain);
    return found;
}

struct hf_server *hf_view_template_server(struct hf_session *session, struct hf_span raw_uri)
{
    const struct hf_view *view = newest(session, HF_PART_TEMPLATES);
    struct hf_buf uri = hf_draft();
    struct hf_server *server = NULL;
    if (raw_uri.n <= HF_TEMPLATE_URI_MAX && hf_json_unescape(raw_uri, &uri))
        for (size_t i = 0; !server && i < view->count; i++)
            if (hf_uri_template_matches(view->entries[i].name, hf_buf_span(&uri)))
                server = server_of(&view->entries[i]);
    hf_buf_done(&uri);
    return server;
}
