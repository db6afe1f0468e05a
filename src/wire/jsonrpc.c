/* jsonrpc.c - the envelope of one message; see jsonrpc.h. */
#include "wire/jsonrpc.h"
#include "wire/scan.h"

enum part { JSONRPC, ID, METHOD, PARAMS, RESULT, ERROR, PART_COUNT };

static const struct hf_span names[PART_COUNT] = {
    [JSONRPC] = { "jsonrpc", 7 }, [ID] = { "id", 2 },         [METHOD] = { "method", 6 },
    [PARAMS] = { "params", 6 },   [RESULT] = { "result", 6 }, [ERROR] = { "error", 5 },
};

static bool is_a(struct hf_span value, enum hf_json_type type)
{
    return hf_json_type(value) == type;
}

static bool usable_id(struct hf_span id)
{
    return is_a(id, HF_JSON_STRING) || is_a(id, HF_JSON_NUMBER);
}

static struct hf_span without_space(struct hf_span text)
{
    while (text.n && hf_is_space(text.p[text.n - 1]))
        text.n--;
    while (text.n && hf_is_space(text.p[0]))
        text = hf_span_from(text, 1);
    return text;
}

static struct hf_span unquoted(struct hf_span value)
{
    return is_a(value, HF_JSON_STRING) ? (struct hf_span) { value.p + 1, value.n - 2 } : value;
}

/* The member of that name if it stands there once. */
static struct hf_span get_once(struct hf_span object, struct hf_span name)
{
    struct hf_span found = { NULL, 0 };
    struct hf_json_iter it = hf_json_iter(object);
    while (it.is_object && hf_json_next(&it)) {
        if (!hf_json_key_is(it.key, name))
            continue;
        if (found.p)
            return (struct hf_span) { NULL, 0 };
        found = it.value;
    }
    return found;
}

/* The checker refused the text as an object of ours; whether it is JSON is still to be seen. */
static enum hf_msg_status refuse(struct hf_span text, unsigned depth_max,
                                 const struct hf_json_error *error, struct hf_msg *msg,
                                 struct hf_err *err)
{
    (void)hf_fail(err, "%s at byte %zu", error->what, error->at);
    if (!hf_json_check(text, depth_max, NULL))
        return HF_MSG_NOT_JSON;
    const struct hf_span id = get_once(text, names[ID]);
    if (usable_id(id))
        msg->id = id;
    msg->method = unquoted(hf_json_get(text, names[METHOD]));
    return HF_MSG_NOT_A_REQUEST;
}

/* What is wrong with the parts, or NULL. Not asked yet: which parts belong together. */
static const char *wrong_part(const struct hf_span part[PART_COUNT])
{
    if (!hf_json_string_is(part[JSONRPC], HF_SPAN("2.0")))
        return "\"jsonrpc\" is not \"2.0\"";
    if (part[METHOD].p && !is_a(part[METHOD], HF_JSON_STRING))
        return "\"method\" is not a string";
    /* No method has one, and so its raw text is its name everywhere behind this line. */
    if (part[METHOD].p && memchr(part[METHOD].p, '\\', part[METHOD].n))
        return "\"method\" has an escape in it";
    if (part[PARAMS].p && !is_a(part[PARAMS], HF_JSON_OBJECT) && !is_a(part[PARAMS], HF_JSON_ARRAY))
        return "\"params\" is neither an object nor an array";
    if (part[ERROR].p && !is_a(part[ERROR], HF_JSON_OBJECT))
        return "\"error\" is not an object";
    if (part[ID].p && !usable_id(part[ID]) && !(part[ERROR].p && is_a(part[ID], HF_JSON_NULL)))
        return "\"id\" is neither a string nor a number";
    return NULL;
}

static const char *wrong_whole(const struct hf_span part[PART_COUNT])
{
    const int count = !!part[METHOD].p + !!part[RESULT].p + !!part[ERROR].p;
    if (count == 0)
        return "it has neither \"method\" nor \"result\" nor \"error\"";
    if (count > 1)
        return "it has more than one of \"method\", \"result\" and \"error\"";
    if (part[RESULT].p && !part[ID].p)
        return "it has a \"result\" and no \"id\"";
    return NULL;
}

static enum hf_msg_kind kind_of(const struct hf_span part[PART_COUNT])
{
    if (part[METHOD].p)
        return part[ID].p ? HF_MSG_REQUEST : HF_MSG_NOTIFICATION;
    return part[RESULT].p ? HF_MSG_RESULT : HF_MSG_ERROR;
}

/* What a request is routed and judged by must mean the same to us and to its server, and of two
 * members of one name the one takes the first and the other the last. */
static bool pick_params(struct hf_msg *msg)
{
    enum { META, NAME, URI, ARGUMENTS, TASK, REF, COUNT };
    static const struct hf_span judged_by[COUNT] = {
        [META] = { "_meta", 5 },          [NAME] = { "name", 4 },   [URI] = { "uri", 3 },
        [ARGUMENTS] = { "arguments", 9 }, [TASK] = { "taskId", 6 }, [REF] = { "ref", 3 },
    };
    struct hf_span found[COUNT];
    const bool is_clear = hf_json_pick(msg->params, judged_by, COUNT, found);
    msg->meta = found[META];
    msg->name = found[NAME];
    msg->uri = found[URI];
    return is_clear;
}

enum hf_msg_status hf_msg_parse(struct hf_span text, unsigned depth_max, struct hf_msg *ret_msg,
                                struct hf_err *err)
{
    struct hf_span part[PART_COUNT];
    struct hf_json_error error;
    *ret_msg = (struct hf_msg) { .text = without_space(text) };
    if (!hf_json_check_object(text, depth_max, names, PART_COUNT, part, &error))
        return refuse(text, depth_max, &error, ret_msg, err);

    ret_msg->method = unquoted(part[METHOD]);
    ret_msg->params = part[PARAMS];
    ret_msg->result = part[RESULT];
    ret_msg->error = part[ERROR];
    const char *wrong = wrong_part(part);
    if (!wrong)
        wrong = wrong_whole(part);
    if (!wrong || usable_id(part[ID]))
        ret_msg->id = part[ID];
    if (wrong) {
        (void)hf_fail(err, "%s", wrong);
        return HF_MSG_NOT_A_REQUEST;
    }
    if (part[METHOD].p)
        ret_msg->method = (struct hf_span) { part[METHOD].p + 1, part[METHOD].n - 2 };
    ret_msg->kind = kind_of(part);
    if (ret_msg->kind == HF_MSG_REQUEST && !pick_params(ret_msg)) {
        (void)hf_fail(err, "a member of params that says what is asked for stands there twice");
        return HF_MSG_NOT_A_REQUEST;
    }
    return HF_MSG_OK;
}

static bool is_there(struct hf_span value)
{
    return value.p && !is_a(value, HF_JSON_NULL);
}

bool hf_msg_mend_answer(struct hf_span text, unsigned depth_max, struct hf_buf *out)
{
    struct hf_span part[PART_COUNT] = { { NULL, 0 } };
    if (!hf_json_check(text, depth_max, NULL))
        return false;
    for (struct hf_json_iter it = hf_json_iter(text); it.is_object && hf_json_next(&it);) {
        for (enum part i = 0; i < PART_COUNT; i++)
            if (hf_json_key_is(it.key, names[i]))
                part[i] = it.value;
    }
    const bool is_error = is_a(part[ERROR], HF_JSON_OBJECT);
    const bool is_result = is_error ? is_there(part[RESULT]) : part[RESULT].p != NULL;
    if (is_error == is_result || is_there(part[METHOD]) || !usable_id(part[ID]))
        return false;
    const struct hf_span value = is_error ? part[ERROR] : part[RESULT];
    hf_buf_add_str(out, HF_MSG_RESPONSE_HEAD);
    hf_buf_add(out, part[ID]);
    hf_buf_add_str(out, is_error ? ",\"error\":" : ",\"result\":");
    hf_buf_add(out, value);
    hf_buf_add_str(out, "}");
    return true;
}

static void blank(char *text, size_t n, char c)
{
    for (char *end = text + n, *at = text; (at = memchr(at, c, (size_t)(end - at)));)
        *at++ = ' ';
}

void hf_msg_to_one_line(char *text, size_t n)
{
    if (n == 0)
        return;
    blank(text, n, '\n');
    blank(text, n, '\r');
}

/* Ours are numbers; some servers say them in quotes, or as numbers are written that went through a
 * floating point (65536.0, 6.5536e4). */
bool hf_msg_read_id(struct hf_span raw, int64_t *ret_id)
{
    enum { NUMBER_MAX = 40 };
    const double exact_below = 9007199254740992; /* 2^53 */
    const bool is_quoted = raw.n > 2 && raw.p[0] == '"' && raw.p[raw.n - 1] == '"';
    if (is_quoted)
        raw = (struct hf_span) { raw.p + 1, raw.n - 2 };
    if (hf_json_int(raw, ret_id))
        return true;
    double number;
    if (raw.n > NUMBER_MAX || !hf_json_double(raw, &number) || number < 0 ||
        number >= exact_below || number != (double)(int64_t)number)
        return false;
    *ret_id = (int64_t)number;
    return true;
}

struct hf_span hf_msg_without_bom(struct hf_span text)
{
    return hf_span_starts(text, HF_SPAN("\xEF\xBB\xBF")) ? hf_span_from(text, 3) : text;
}

int64_t hf_msg_error_code(const struct hf_msg *msg)
{
    int64_t code = 0;
    if (msg->kind != HF_MSG_ERROR || !hf_json_int(hf_json_get(msg->error, HF_SPAN("code")), &code))
        return 0;
    return code;
}

/* ---- written ---- */

void hf_msg_begin_request(struct hf_buf *out, uint64_t id, struct hf_span method)
{
    hf_buf_add_str(out, HF_MSG_RESPONSE_HEAD);
    hf_buf_add_u64(out, id);
    hf_buf_add_str(out, ",\"method\":\"");
    hf_buf_add(out, method);
    hf_buf_add_char(out, '"');
}

void hf_msg_begin_notification(struct hf_buf *out, const char *method)
{
    hf_buf_printf(out, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\"", method);
}

void hf_msg_begin_response(struct hf_buf *out, struct hf_span id)
{
    hf_buf_add_str(out, HF_MSG_RESPONSE_HEAD);
    hf_buf_add(out, id);
}

void hf_msg_add_notification(struct hf_buf *out, const char *method)
{
    hf_msg_begin_notification(out, method);
    hf_buf_add_char(out, '}');
}

void hf_msg_add_result(struct hf_buf *out, struct hf_span id, struct hf_span result)
{
    hf_msg_begin_response(out, id);
    hf_buf_add_str(out, ",\"result\":");
    hf_buf_add(out, result);
    hf_buf_add_char(out, '}');
}

void hf_msg_add_error(struct hf_buf *out, struct hf_span id, int code, struct hf_span text,
                      struct hf_span data)
{
    hf_msg_begin_response(out, id);
    hf_buf_printf(out, ",\"error\":{\"code\":%d,\"message\":", code);
    hf_json_add_string(out, text);
    if (data.n) {
        hf_buf_add_str(out, ",\"data\":");
        hf_buf_add(out, data);
    }
    hf_buf_add_str(out, "}}");
}
