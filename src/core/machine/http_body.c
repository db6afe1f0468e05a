/* http_body.c - see http_body.h. */
#include "core/machine/http_body.h"
#include "wire/jsonrpc.h"
#include "wire/scan.h"
#include "wire/utf8.h"

/* ---- is the response to our request in it? ---- */

static enum hf_reading read_one(struct hf_span value, uint64_t id, unsigned depth_max,
                                struct hf_buf *answer)
{
    bool is_ours = false, was_ours = false;
    int64_t said;
    for (struct hf_json_iter it = hf_json_iter(value); it.is_object && hf_json_next(&it);) {
        if (!hf_json_key_is(it.key, HF_SPAN("id")))
            continue;
        is_ours = hf_msg_read_id(it.value, &said) && (uint64_t)said == id;
        was_ours |= is_ours;
    }
    if (!was_ours)
        return HF_READ_NO_ANSWER;
    if (!is_ours || !hf_msg_mend_answer(value, depth_max, answer))
        return HF_READ_UNREADABLE;
    return hf_json_get(hf_buf_span(answer), HF_SPAN("error")).p ? HF_READ_ERROR : HF_READ_RESULT;
}

static enum hf_reading read_json(struct hf_span text, uint64_t id, unsigned depth_max,
                                 struct hf_buf *answer)
{
    if (hf_json_type(text) != HF_JSON_ARRAY)
        return read_one(text, id, depth_max, answer);
    for (struct hf_json_iter it = hf_json_iter(text); hf_json_next(&it);) {
        const enum hf_reading reading = read_one(it.value, id, depth_max, answer);
        if (reading != HF_READ_NO_ANSWER)
            return reading;
    }
    return HF_READ_NO_ANSWER;
}

/* A body may hold several JSON texts: every whole one counts. */
static enum hf_reading read_all(struct hf_span text, uint64_t id, unsigned depth_max,
                                struct hf_buf *answer)
{
    for (struct hf_span first; (first = hf_json_first(text)).n;) {
        if (!hf_json_check(first, depth_max, NULL))
            break;
        const enum hf_reading reading = read_json(first, id, depth_max, answer);
        if (reading != HF_READ_NO_ANSWER)
            return reading;
        text = hf_span_from(text, (size_t)(first.p + first.n - text.p));
    }
    return HF_READ_NO_ANSWER;
}

static bool is_said(struct hf_span value)
{
    return value.p && hf_json_type(value) != HF_JSON_NULL;
}

/* ---- can the body be read to its end? ---- */

/* Whether anything in the text is called a result: also deep inside, in quotes or under another
 * id. */
static bool has_result(struct hf_span text)
{
    static const char name[] = "result";
    const char *end = text.p + text.n;
    for (const char *at = text.p; (at = memmem(at, (size_t)(end - at), name, sizeof name - 1));) {
        at += sizeof name - 1;
        if (at < end && (*at == '"' || *at == '\\' || *at == '\''))
            return true;
    }
    return false;
}

/* Whether the text is words for people: UTF-8 in which nothing begins that could be JSON. */
static bool is_prose(struct hf_span text)
{
    const char *end = text.p + text.n, *at = hf_scan_space(text.p, end);
    if (at < end && (*at == '{' || *at == '[' || *at == '"'))
        return false;
    while (at < end) {
        const size_t length = hf_utf8_length(at, (size_t)(end - at));
        if (length == 0 || ((unsigned char)*at < ' ' && !hf_is_space(*at)))
            return false;
        const char *next = *at == '{' ? hf_scan_space(at + 1, end) : at;
        if (next < end && next > at && (*next == '"' || *next == '\''))
            return false;
        at += length;
    }
    return true;
}

/* A stream of events proves nothing: the event with the answer may not have come. */
static bool is_event_stream(struct hf_span type)
{
    static const char name[] = "text/event-stream";
    const size_t n = sizeof name - 1;
    for (size_t i = 0; i < n && i < type.n; i++)
        if ((type.p[i] | 0x20) != (name[i] | 0x20))
            return false;
    return type.n >= n;
}

bool hf_body_is_sound(const struct hf_body *body, unsigned depth_max)
{
    const struct hf_span text = hf_msg_without_bom(body->text);
    if (!body->is_whole || !body->is_plain || is_event_stream(body->type))
        return false;
    if (text.n == 0)
        return body->is_measured;
    if (has_result(text))
        return false;
    if (hf_json_check(text, depth_max, NULL))
        return body->is_measured || text.p[text.n - 1] == '}' || text.p[text.n - 1] == ']';
    return body->is_measured && is_prose(text);
}

enum hf_reading hf_body_read(const struct hf_body *body, uint64_t id, unsigned depth_max,
                             struct hf_buf *answer)
{
    const struct hf_span text = hf_msg_without_bom(body->text);
    const enum hf_reading reading = read_all(text, id, depth_max, answer);
    if (reading != HF_READ_NO_ANSWER)
        return reading;
    return hf_body_is_sound(body, depth_max) ? HF_READ_NO_ANSWER : HF_READ_UNREADABLE;
}

bool hf_body_is_error_to_nobody(const struct hf_body *body)
{
    const struct hf_span text = hf_msg_without_bom(body->text);
    if (text.n == 0 || !hf_json_check(text, HF_JSON_DEPTH_MAX, NULL))
        return false;
    return hf_json_type(hf_json_get(text, HF_SPAN("error"))) == HF_JSON_OBJECT &&
           !is_said(hf_json_get(text, HF_SPAN("id"))) && !hf_json_get(text, HF_SPAN("method")).p;
}

bool hf_body_is_exact_error(const struct hf_body *body, uint64_t id)
{
    static const struct hf_span names[] = { { "jsonrpc", 7 }, { "id", 2 }, { "error", 5 } };
    static const struct hf_span inner[] = { { "code", 4 }, { "data", 4 } };
    const struct hf_span text = hf_msg_without_bom(body->text);
    struct hf_span members[3], inside[2];
    int64_t said;
    return hf_json_check(text, HF_JSON_DEPTH_MAX, NULL) && hf_json_type(text) == HF_JSON_OBJECT &&
           hf_json_pick(text, names, 3, members) && hf_json_string_is(members[0], HF_SPAN("2.0")) &&
           hf_json_int(members[1], &said) && (uint64_t)said == id &&
           hf_json_pick(members[2], inner, 2, inside) && inside[0].p;
}

/* ---- are two refusals the same? ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_word(char c)
{
    return is_digit(c) || is_letter(c) || c == '_' || c == '-';
}

static struct hf_span word_at(struct hf_span text, size_t at)
{
    size_t n = 0;
    while (at + n < text.n && is_word(text.p[at + n]))
        n++;
    return (struct hf_span) { text.p + at, n };
}

static bool has_digit(struct hf_span word)
{
    for (size_t i = 0; i < word.n; i++)
        if (is_digit(word.p[i]))
            return true;
    return false;
}

static bool stands_at(struct hf_span text, size_t at, struct hf_span name)
{
    return name.n && hf_span_starts(hf_span_from(text, at), name) &&
           (at == 0 || !is_word(text.p[at - 1])) &&
           (at + name.n == text.n || !is_word(text.p[at + name.n]));
}

static void feed_blanked(struct hf_sha256 *hash, struct hf_span text, struct hf_span name)
{
    for (size_t at = 0; at < text.n;) {
        const struct hf_span word = word_at(text, at);
        const bool is_name = stands_at(text, at, name);
        const struct hf_span one = { text.p + at, 1 };
        if (is_name || has_digit(word))
            hf_sha256_feed(hash, HF_SPAN("\x01"));
        else
            hf_sha256_feed(hash, word.n ? word : one);
        at += is_name ? name.n : word.n ? word.n : 1;
    }
}

/* The error code, which is never blanked. False: the body has two of them. */
static bool code_in(struct hf_span text, struct hf_span *ret_code)
{
    static const struct hf_span error_name[] = { { "error", 5 } }, code_name[] = { { "code", 4 } };
    struct hf_span error;
    *ret_code = (struct hf_span) { NULL, 0 };
    if (text.n == 0 || !hf_json_check(text, HF_JSON_DEPTH_MAX, NULL))
        return true;
    if (hf_json_type(text) == HF_JSON_ARRAY) {
        struct hf_json_iter it = hf_json_iter(text);
        text = hf_json_next(&it) ? it.value : HF_SPAN("");
    }
    return hf_json_pick(text, error_name, 1, &error) && hf_json_pick(error, code_name, 1, ret_code);
}

/* White space, brackets, numbers and a bare null say nothing. */
static bool says_nothing(struct hf_span text)
{
    for (size_t at = 0; at < text.n;) {
        const struct hf_span word = word_at(text, at);
        const bool is_said = word.n ? !has_digit(word) && !hf_span_is(word, "null")
                                    : (unsigned char)text.p[at] >= 0x80;
        if (is_said)
            return false;
        at += word.n ? word.n : 1;
    }
    return true;
}

struct hf_form hf_form_of(int status, const struct hf_body *body, struct hf_span name)
{
    struct hf_form form = { .status = status };
    struct hf_sha256 hash;
    struct hf_span code;
    const struct hf_span text = hf_msg_without_bom(body->text);
    /* A body that says nothing could come from any server; of two error codes nobody knows which is
     * meant. */
    if (!code_in(text, &code) || (says_nothing(text) && (status != 404 || text.n > 0)))
        return (struct hf_form) { 0 };
    hf_sha256_init(&hash);
    hf_sha256_feed(&hash, body->type.p ? body->type : HF_SPAN("-"));
    hf_sha256_feed(&hash, HF_SPAN("\n"));
    hf_sha256_feed(&hash, code);
    hf_sha256_feed(&hash, HF_SPAN("\n"));
    feed_blanked(&hash, text, name);
    hf_sha256_end(&hash, form.digest);
    return form;
}

bool hf_form_same(const struct hf_form *a, const struct hf_form *b)
{
    return a->status && a->status == b->status && hf_digest_same(a->digest, b->digest);
}

/* ---- made-up session ids ---- */

/* A UUID keeps the two digits that say which kind of UUID it is: without them it would be none. */
static bool is_kind_of_uuid(struct hf_span word, size_t at)
{
    return word.n == 36 && word.p[8] == '-' && word.p[13] == '-' && word.p[18] == '-' &&
           word.p[23] == '-' && (at == 14 || at == 19);
}

static char another(char c, double share)
{
    const char *from = is_digit(c)            ? "0123456789"
                       : c >= 'a' && c <= 'f' ? "abcdef"
                       : c >= 'A' && c <= 'F' ? "ABCDEF"
                       : c >= 'a' && c <= 'z' ? "ghijklmnopqrstuvwxyz"
                                              : "GHIJKLMNOPQRSTUVWXYZ";
    const char *place = strchr(from, c);
    const size_t n = strlen(from);
    /* from 1 to n - 1: never the same character again */
    const size_t step = 1 + (size_t)(share * (double)(n - 1));
    return from[((size_t)(place - from) + step) % n];
}

static void change_word(char *word, size_t n, double (*random)(void *context), void *context)
{
    const struct hf_span old = { word, n };
    for (size_t i = 0; i < n; i++)
        if ((is_digit(word[i]) || is_letter(word[i])) && !is_kind_of_uuid(old, i))
            word[i] = another(word[i], random(context));
}

/* Where the id begins in a URL: behind the last '=' of the query, else behind the last '/' of the
 * path. A plain id begins at 0. */
static size_t begin_of_id(struct hf_span name)
{
    size_t begin = 0;
    const bool is_url = memmem(name.p, name.n, "://", 3) != NULL;
    for (size_t i = 0; is_url && i < name.n; i++)
        if (name.p[i] == '=' || (name.p[i] == '/' && !memchr(name.p, '?', i)))
            begin = i + 1;
    return begin;
}

char *hf_made_up(struct hf_span name, double (*random)(void *context), void *context)
{
    char *made = hf_span_dup(name);
    bool is_other = false;
    for (size_t at = begin_of_id(name); at < name.n;) {
        const struct hf_span word = word_at(name, at);
        change_word(made + at, word.n, random, context);
        is_other |= word.n > 0 && memcmp(made + at, name.p + at, word.n) != 0;
        at += word.n ? word.n : 1;
    }
    if (!is_other) {
        hf_free(made);
        made = NULL;
    }
    return made;
}
