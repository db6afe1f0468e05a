/* session_payload.c - see session_payload.h. */
#include "store/session_payload.h"
#include "wire/json.h"

enum { VERSION = 1, DEPTH_MAX = 512 };

/* ---- writing ---- */

/* Escapes may make a byte six; quotes, commas and names are added. */
static size_t longest(const struct hf_session_payload *payload)
{
    size_t bytes = 256 + 6 * (payload->version.n + payload->log_level.n) + payload->hello.n;
    for (size_t i = 0; i < payload->subscription_count; i++)
        bytes += 6 * payload->subscriptions[i].n + 4;
    for (size_t i = 0; i < payload->name_count; i++) {
        const struct hf_given_name *name = &payload->names[i];
        bytes += 6 * (name->given.n + name->server.n + name->own.n) + 16;
    }
    return bytes;
}

static void add_items(const struct hf_session_payload *payload, struct hf_buf *out)
{
    hf_json_add_key(out, "subscriptions");
    hf_buf_add_char(out, '[');
    for (size_t i = 0; i < payload->subscription_count; i++) {
        hf_json_add_comma(out);
        hf_json_add_string(out, payload->subscriptions[i]);
    }
    hf_buf_add_char(out, ']');
    hf_json_add_key(out, "names");
    hf_buf_add_char(out, '[');
    for (size_t i = 0; i < payload->name_count; i++) {
        const struct hf_given_name *name = &payload->names[i];
        hf_buf_add_str(out, i ? ",[" : "[");
        hf_json_add_string(out, name->given);
        hf_buf_add_char(out, ',');
        hf_json_add_string(out, name->server);
        hf_buf_add_char(out, ',');
        hf_json_add_string(out, name->own);
        hf_buf_add_char(out, ']');
    }
    hf_buf_add_char(out, ']');
}

bool hf_session_payload_write(const struct hf_session_payload *payload, struct hf_buf *out)
{
    if (payload->subscription_count > HF_SESSION_ITEMS_MAX ||
        payload->name_count > HF_SESSION_ITEMS_MAX || longest(payload) > HF_SESSION_PAYLOAD_MAX ||
        !hf_buf_reserve(out, longest(payload)))
        return false;
    hf_buf_printf(out, "{\"v\":%d", VERSION);
    hf_json_add_key(out, "version");
    hf_json_add_string(out, payload->version);
    if (payload->hello.n) {
        hf_json_add_key(out, "hello");
        hf_buf_add(out, payload->hello);
    }
    if (payload->log_level.n) {
        hf_json_add_key(out, "logLevel");
        hf_json_add_string(out, payload->log_level);
    }
    add_items(payload, out);
    hf_buf_add_char(out, '}');
    return true;
}

/* ---- reading ---- */

/* A string becomes a copy. An absent one is empty. */
static bool read_string(struct hf_span value, struct hf_arena *arena, struct hf_span *ret)
{
    struct hf_buf plain;
    *ret = HF_SPAN("");
    if (!value.p)
        return true;
    hf_buf_init(&plain, value.n + 1);
    const bool is_read = hf_json_unescape(value, &plain);
    if (is_read)
        *ret = hf_arena_dup(arena, hf_buf_span(&plain));
    hf_buf_done(&plain);
    return is_read;
}

static bool count_items(struct hf_span array, size_t *ret_count)
{
    size_t count = 0;
    if (array.p && hf_json_type(array) != HF_JSON_ARRAY)
        return false;
    for (struct hf_json_iter it = hf_json_iter(array); array.p && hf_json_next(&it);)
        count++;
    *ret_count = count;
    return count <= HF_SESSION_ITEMS_MAX;
}

static bool read_subscriptions(struct hf_span array, struct hf_session_payload *payload)
{
    size_t count;
    if (!count_items(array, &count))
        return false;
    payload->subscriptions = hf_arena_alloc(&payload->arena, count * sizeof(struct hf_span));
    payload->subscription_count = count;
    struct hf_json_iter it = hf_json_iter(array);
    for (size_t i = 0; i < count && hf_json_next(&it); i++)
        if (!read_string(it.value, &payload->arena, &payload->subscriptions[i]))
            return false;
    return true;
}

static bool read_name(struct hf_span triple, struct hf_arena *arena, struct hf_given_name *name)
{
    struct hf_span *parts[] = { &name->given, &name->server, &name->own };
    size_t count;
    if (hf_json_type(triple) != HF_JSON_ARRAY || !count_items(triple, &count) || count < 3)
        return false;
    struct hf_json_iter it = hf_json_iter(triple);
    for (size_t i = 0; i < 3 && hf_json_next(&it); i++)
        if (!read_string(it.value, arena, parts[i]))
            return false;
    return true;
}

static bool read_names(struct hf_span array, struct hf_session_payload *payload)
{
    size_t count;
    if (!count_items(array, &count))
        return false;
    payload->names = hf_arena_alloc(&payload->arena, count * sizeof(struct hf_given_name));
    payload->name_count = count;
    struct hf_json_iter it = hf_json_iter(array);
    for (size_t i = 0; i < count && hf_json_next(&it); i++)
        if (!read_name(it.value, &payload->arena, &payload->names[i]))
            return false;
    return true;
}

static bool read_hello(struct hf_span hello, struct hf_session_payload *payload)
{
    if (!hello.p)
        return true;
    if (hf_json_type(hello) != HF_JSON_OBJECT)
        return false;
    payload->hello = hf_arena_dup(&payload->arena, hello);
    return true;
}

bool hf_session_payload_read(struct hf_span text, struct hf_session_payload *ret_payload)
{
    enum { V, PROTOCOL, HELLO, LOG_LEVEL, SUBSCRIPTIONS, NAMES, COUNT };
    static const struct hf_span keys[COUNT] = {
        [V] = { "v", 1 },
        [PROTOCOL] = { "version", 7 },
        [HELLO] = { "hello", 5 },
        [LOG_LEVEL] = { "logLevel", 8 },
        [SUBSCRIPTIONS] = { "subscriptions", 13 },
        [NAMES] = { "names", 5 },
    };
    struct hf_span values[COUNT];
    struct hf_json_error error;
    struct hf_session_payload payload = { .hello = { "", 0 } };
    int64_t v;
    if (text.n > HF_SESSION_PAYLOAD_MAX ||
        !hf_json_check_object(text, DEPTH_MAX, keys, COUNT, values, &error) || !values[V].p ||
        !hf_json_int(values[V], &v) || v != VERSION)
        return false;
    if (read_string(values[PROTOCOL], &payload.arena, &payload.version) &&
        read_hello(values[HELLO], &payload) &&
        read_string(values[LOG_LEVEL], &payload.arena, &payload.log_level) &&
        read_subscriptions(values[SUBSCRIPTIONS], &payload) &&
        read_names(values[NAMES], &payload)) {
        *ret_payload = payload;
        return true;
    }
    hf_session_payload_done(&payload);
    return false;
}

void hf_session_payload_done(struct hf_session_payload *payload)
{
    hf_arena_done(&payload->arena);
}
