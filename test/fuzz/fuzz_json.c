/*
 * fuzz_json.c - what must hold for every text, JSON or not.
 *
 * 1. Readers stay inside the text, also in text that was never checked.
 * 2. Checked text can be walked whole, and written anew; writing that again changes nothing.
 * 3. The skimmer finds the last id there is, wherever the text is cut.
 * 4. A message is JSON if and only if the checker says so.
 * 5. An answer that is mended is a message with the same id; one that needs no mending stays as it
 *    was but for what is around its members.
 * 6. The first value of a text is found inside it, and is all of it if the text is one container.
 */
#include "fuzz/fuzz.h"
#include "wire/json.h"
#include "wire/jsonrpc.h"

enum { DEPTH_MAX = 64, OUT_MAX = 1 << 24 };

static const struct hf_span id_name = { "id", 2 };
static const struct hf_span method_name = { "method", 6 };

static void rewrite(struct hf_span value, struct hf_buf *out);

static void rewrite_string(struct hf_span value, struct hf_buf *out)
{
    struct hf_buf bytes;
    hf_buf_init(&bytes, OUT_MAX);
    MUST(hf_json_unescape(value, &bytes));
    const struct hf_span plain = hf_buf_span(&bytes);
    MUST(plain.n <= value.n - 2);
    /* A lone surrogate is the one thing that does not survive. */
    if (plain.n == 0 || !memmem(plain.p, plain.n, "\xef\xbf\xbd", 3))
        MUST(hf_json_string_is(value, plain));
    hf_json_add_string(out, plain);
    hf_buf_done(&bytes);
}

static void rewrite_container(struct hf_span value, struct hf_buf *out)
{
    const bool object = hf_json_type(value) == HF_JSON_OBJECT;
    const char *last = value.p;
    hf_buf_add_char(out, object ? '{' : '[');
    for (struct hf_json_iter it = hf_json_iter(value); hf_json_next(&it);) {
        MUST(it.value.n > 0 && it.value.p > last);
        MUST(it.value.p + it.value.n < value.p + value.n);
        last = it.value.p;
        hf_json_add_comma(out);
        if (object) {
            MUST(hf_json_key_is(it.key, it.key) || memchr(it.key.p, '\\', it.key.n));
            rewrite_string((struct hf_span) { it.key.p - 1, it.key.n + 2 }, out);
            hf_buf_add_char(out, ':');
        }
        rewrite(it.value, out);
    }
    hf_buf_add_char(out, object ? '}' : ']');
}

static void rewrite(struct hf_span value, struct hf_buf *out)
{
    int64_t integer;
    double number;
    MUST(hf_json_same_scalar(value, value));
    switch (hf_json_type(value)) {
    case HF_JSON_OBJECT:
    case HF_JSON_ARRAY: rewrite_container(value, out); return;
    case HF_JSON_STRING: rewrite_string(value, out); return;
    case HF_JSON_NUMBER:
        if (hf_json_int(value, &integer))
            MUST(hf_json_double(value, &number) && number == (double)integer);
        break;
    default: MUST(!hf_json_int(value, &integer) && !hf_json_double(value, &number)); break;
    }
    hf_buf_add(out, value);
}

static void check_rewriting(struct hf_span text)
{
    struct hf_buf once, twice;
    hf_buf_init(&once, OUT_MAX);
    hf_buf_init(&twice, OUT_MAX);
    struct hf_json_iter whole = { .at = text.p, .end = text.p + text.n };
    MUST(hf_json_next(&whole)); /* as the only item of a list: without the space around */
    rewrite(whole.value, &once);
    MUST(hf_json_check(hf_buf_span(&once), DEPTH_MAX, NULL));
    rewrite(hf_buf_span(&once), &twice);
    MUST(hf_span_eq(hf_buf_span(&once), hf_buf_span(&twice)));
    hf_buf_done(&once);
    hf_buf_done(&twice);
}

static void check_skim(struct hf_span text, size_t cut, struct hf_span id, bool has_method)
{
    struct hf_json_skim s;
    hf_json_skim_init(&s);
    hf_json_skim_feed(&s, (struct hf_span) { text.p, cut });
    hf_json_skim_feed(&s, hf_span_from(text, cut));
    MUST(hf_span_eq(hf_json_skim_id(&s), id));
    MUST(hf_json_skim_has_method(&s) == has_method);
}

static void check_cuts(struct hf_span text, struct hf_span id, bool has_method)
{
    const size_t step = text.n / 64 + 1;
    for (size_t cut = 0; cut <= text.n; cut += step)
        check_skim(text, cut, id, has_method);
}

static size_t count_key(struct hf_span text, struct hf_span name)
{
    size_t count = 0;
    for (struct hf_json_iter it = hf_json_iter(text); it.is_object && hf_json_next(&it);)
        count += hf_json_key_is(it.key, name);
    return count;
}

static struct hf_span last_of(struct hf_span text, struct hf_span name)
{
    struct hf_span last = { NULL, 0 };
    for (struct hf_json_iter it = hf_json_iter(text); it.is_object && hf_json_next(&it);)
        last = hf_json_key_is(it.key, name) ? it.value : last;
    return last;
}

static void check_mending(struct hf_span text, enum hf_msg_status status, const struct hf_msg *msg)
{
    struct hf_buf out;
    struct hf_msg mended;
    struct hf_err err;
    hf_buf_init(&out, OUT_MAX);
    const bool good = hf_msg_mend_answer(text, DEPTH_MAX, &out);
    MUST(good || hf_buf_len(&out) == 0);
    if (good) {
        MUST(hf_msg_parse(hf_buf_span(&out), DEPTH_MAX, &mended, &err) == HF_MSG_OK);
        MUST(hf_span_eq(mended.id, last_of(text, id_name)));
    }
    if (status == HF_MSG_OK && msg->kind >= HF_MSG_RESULT &&
        hf_json_type(msg->id) != HF_JSON_NULL && msg->id.p)
        MUST(good && hf_span_eq(mended.result, msg->result) && hf_span_eq(mended.id, msg->id) &&
             hf_span_eq(mended.error, msg->error));
    hf_buf_done(&out);
}

static void check_first(struct hf_span text, bool is_json)
{
    const struct hf_span first = hf_json_first(text);
    const enum hf_json_type type = hf_json_type(text);
    if (first.n)
        MUST(first.p >= text.p && first.p + first.n <= text.p + text.n);
    if (is_json && (type == HF_JSON_OBJECT || type == HF_JSON_ARRAY))
        MUST(first.n && hf_json_is_complete(first));
}

/* What the skimmer must say about a text that is JSON. */
static void check_object(struct hf_span text)
{
    struct hf_span id = { NULL, 0 };
    const bool object = hf_json_type(text) == HF_JSON_OBJECT;
    const bool once = count_key(text, id_name) == 1;
    const bool good = hf_json_check_object(text, DEPTH_MAX, &id_name, 1, &id, NULL);
    MUST(good == (object && count_key(text, id_name) <= 1));
    if (good)
        MUST(hf_span_eq(id, hf_json_get(text, id_name)) && (id.p != NULL) == once);
    id = last_of(text, id_name);
    const enum hf_json_type type = hf_json_type(id);
    if ((type != HF_JSON_STRING && type != HF_JSON_NUMBER) || id.n > HF_JSON_SKIM_ID_MAX)
        id.n = 0;
    check_cuts(text, id, object && count_key(text, method_name) > 0);
}

static void check_unchecked(struct hf_span text)
{
    struct hf_buf out;
    hf_buf_init(&out, OUT_MAX);
    for (struct hf_json_iter it = hf_json_iter(text); hf_json_next(&it);) {
        (void)!hf_json_unescape(it.value, &out);
        (void)hf_json_key_is(it.key, id_name);
        (void)hf_json_get(it.value, id_name);
    }
    hf_buf_done(&out);
    struct hf_json_skim s;
    hf_json_skim_init(&s);
    hf_json_skim_feed(&s, text);
    const struct hf_span id = hf_json_skim_id(&s);
    MUST(id.n == 0 || hf_json_check(id, 0, NULL));
    check_cuts(text, id, hf_json_skim_has_method(&s));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct hf_span text = { (const char *)data, size };
    struct hf_json_error error = { NULL, 0 };
    const bool good = hf_json_check(text, DEPTH_MAX, &error);
    MUST(good || (error.what && error.at <= size));

    struct hf_msg msg;
    struct hf_err err;
    const enum hf_msg_status status = hf_msg_parse(text, DEPTH_MAX, &msg, &err);
    MUST((status == HF_MSG_NOT_JSON) == !good);
    check_mending(text, status, &msg);
    check_first(text, good);

    struct hf_buf bytes;
    hf_buf_init(&bytes, OUT_MAX);
    hf_json_add_string(&bytes, text);
    MUST(hf_json_check(hf_buf_span(&bytes), 0, NULL));
    hf_buf_done(&bytes);

    if (good) {
        check_rewriting(text);
        check_object(text);
    } else if (size > 0) {
        check_unchecked(text);
    }
    return 0;
}
