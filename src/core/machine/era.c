/* era.c - see era.h. */
#include "core/machine/era.h"
#include "wire/json.h"

void hf_era_add_meta(struct hf_buf *out, struct hf_span client_info, struct hf_span capabilities,
                     struct hf_span level)
{
    hf_buf_add_str(out, "\"" HF_META_VERSION "\":\"" HF_MODERN_VERSION "\"");
    if (client_info.n) {
        hf_buf_add_str(out, ",\"" HF_META_CLIENT "\":");
        hf_buf_add(out, client_info);
    }
    hf_buf_add_str(out, ",\"" HF_META_CAPABLE "\":");
    hf_buf_add(out, capabilities.n ? capabilities : HF_SPAN("{}"));
    if (level.p) {
        hf_buf_add_str(out, ",\"" HF_META_LEVEL "\":");
        hf_buf_add(out, level);
    }
}

static bool is_empty(struct hf_span object)
{
    struct hf_json_iter it = hf_json_iter(object);
    return !hf_json_next(&it);
}

static struct hf_insert insert(struct hf_span text, const char *at, struct hf_buf *bytes)
{
    const size_t length = hf_buf_len(bytes);
    struct hf_insert made = { .at = (size_t)(at - text.p), .length = length };
    if (length)
        made.bytes = hf_span_dup(hf_buf_span(bytes));
    hf_buf_done(bytes);
    return made;
}

static struct hf_buf draft(void)
{
    struct hf_buf buf;
    hf_buf_init(&buf, SIZE_MAX / 2);
    return buf;
}

static void add_member_object(struct hf_buf *out, const char *name, struct hf_span members)
{
    hf_json_add_key(out, name);
    hf_buf_add_char(out, '{');
    hf_buf_add(out, members);
    hf_buf_add_char(out, '}');
}

void hf_era_dress(struct hf_span text, struct hf_span meta, struct hf_span extra,
                  struct hf_insert ret[HF_INSERTS_MAX])
{
    const struct hf_span params = hf_json_get(text, HF_SPAN("params"));
    const struct hf_span own = hf_json_get(params, HF_SPAN("_meta"));
    struct hf_buf first = draft(), second = draft();
    ret[0] = ret[1] = (struct hf_insert) { 0 };
    if (hf_json_type(params) != HF_JSON_OBJECT) { /* no params: they go before the closing brace */
        hf_buf_add_str(&first, ",\"params\":{");
        hf_buf_add(&first, extra);
        add_member_object(&first, "_meta", meta);
        hf_buf_add_char(&first, '}');
        const char *end = text.p + text.n;
        while (end > text.p && end[-1] != '}')
            end--;
        ret[0] = insert(text, end - 1, &first);
        hf_buf_done(&second);
        return;
    }
    hf_buf_add(&first, extra);
    if (hf_json_type(own) == HF_JSON_OBJECT) {
        hf_buf_add(&second, meta);
        if (!is_empty(own))
            hf_buf_add_char(&second, ',');
        ret[1] = insert(text, own.p + 1, &second);
    } else {
        add_member_object(&first, "_meta", meta);
        hf_buf_done(&second);
    }
    if (hf_buf_len(&first) && !is_empty(params))
        hf_buf_add_char(&first, ',');
    ret[0] = insert(text, params.p + 1, &first);
}

static bool is_introduction(struct hf_span key)
{
    static const char *const names[] = { HF_META_VERSION, HF_META_CAPABLE, HF_META_CLIENT,
                                         HF_META_LEVEL };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (hf_json_key_is(key, hf_span_of(names[i])))
            return true;
    return false;
}

void hf_era_strip(struct hf_span text, struct hf_span token, struct hf_span by,
                  struct hf_insert ret[HF_INSERTS_MAX])
{
    const struct hf_span meta =
        hf_json_path(text, 2, (struct hf_span[]) { HF_SPAN("params"), HF_SPAN("_meta") });
    struct hf_buf left = draft();
    ret[0] = ret[1] = (struct hf_insert) { 0 };
    hf_buf_add_char(&left, '{');
    for (struct hf_json_iter it = hf_json_iter(meta); hf_json_next(&it);) {
        if (is_introduction(it.key))
            continue;
        hf_buf_add_str(&left, hf_buf_len(&left) > 1 ? ",\"" : "\"");
        hf_buf_add(&left, it.key);
        hf_buf_add_str(&left, "\":");
        hf_buf_add(&left, token.p && it.value.p == token.p ? by : it.value);
    }
    hf_buf_add_char(&left, '}');
    ret[0] = insert(text, meta.p, &left);
    ret[0].replaces = meta.n;
}

size_t hf_era_weight(const struct hf_insert inserts[HF_INSERTS_MAX])
{
    size_t bytes = 0;
    for (size_t i = 0; i < HF_INSERTS_MAX; i++)
        bytes += inserts[i].length;
    return bytes;
}

void hf_era_undress(struct hf_insert inserts[HF_INSERTS_MAX])
{
    for (size_t i = 0; i < HF_INSERTS_MAX; i++) {
        hf_free(inserts[i].bytes);
        inserts[i] = (struct hf_insert) { 0 };
    }
}

void hf_era_complete(struct hf_span result, struct hf_span server_info, bool is_cacheable,
                     struct hf_insert ret[HF_INSERTS_MAX])
{
    const struct hf_span own = hf_json_get(result, HF_SPAN("_meta"));
    struct hf_buf first = draft(), second = draft(), info = draft();
    ret[0] = ret[1] = (struct hf_insert) { 0 };
    if (server_info.n) {
        hf_buf_add_str(&info, "\"" HF_META_SERVER "\":");
        hf_buf_add(&info, server_info);
    }
    if (!hf_json_get(result, HF_SPAN("resultType")).p)
        hf_buf_add_str(&first, "\"resultType\":\"complete\"");
    if (is_cacheable && !hf_json_get(result, HF_SPAN("ttlMs")).p) {
        hf_json_add_comma(&first);
        hf_buf_add_str(&first, "\"ttlMs\":0");
    }
    if (is_cacheable && !hf_json_get(result, HF_SPAN("cacheScope")).p) {
        hf_json_add_comma(&first);
        hf_buf_add_str(&first, "\"cacheScope\":\"private\"");
    }
    if (hf_buf_len(&info) && hf_json_type(own) == HF_JSON_OBJECT) {
        if (!hf_json_get(own, HF_SPAN(HF_META_SERVER)).p) {
            hf_buf_add(&second, hf_buf_span(&info));
            if (!is_empty(own))
                hf_buf_add_char(&second, ',');
            ret[1] = insert(result, own.p + 1, &second);
        }
    } else if (hf_buf_len(&info) && !own.p) {
        add_member_object(&first, "_meta", hf_buf_span(&info));
    }
    if (hf_buf_len(&first) && !is_empty(result))
        hf_buf_add_char(&first, ',');
    ret[0] = insert(result, result.p + 1, &first);
    hf_buf_done(&second);
    hf_buf_done(&info);
}
