/* option_value.c - see option_value.h. */
#include "ops/option_parts.h"
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include "base/fold.h"
#include "base/strings.h"
#include "ops/config_expand.h"
#include "ops/config_text.h"
#include "wire/json.h"

static char ***list_field(const struct hf_option *o, void *root)
{
    const size_t at = o->type == HF_OPTION_INHERIT ? o->also_at : o->at;
    return (char ***)(void *)((char *)root + at);
}

static char *const *const_list(const struct hf_option *o, const void *root)
{
    const size_t at = o->type == HF_OPTION_INHERIT ? o->also_at : o->at;
    return *(char **const *)(const void *)((const char *)root + at);
}

/* ---- refusing ---- */

bool hf_setting_refuse(struct hf_setting *s, const char *at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(s->fault->text, sizeof s->fault->text, format, args);
    va_end(args);
    s->fault->at = at;
    return false;
}

const char *hf_option_kind_of(struct hf_span value)
{
    static const char *const kinds[] = {
        [HF_JSON_NONE] = "nothing",    [HF_JSON_OBJECT] = "an object", [HF_JSON_ARRAY] = "an array",
        [HF_JSON_STRING] = "a string", [HF_JSON_NUMBER] = "a number",  [HF_JSON_TRUE] = "true",
        [HF_JSON_FALSE] = "false",     [HF_JSON_NULL] = "null",
    };
    return kinds[hf_json_type(value)];
}

bool hf_setting_wrong(struct hf_setting *s, struct hf_span value)
{
    char allowed_text[192], shown[HF_SHOWN_MAX];
    struct hf_buf allowed;
    hf_buf_init(&allowed, 1024);
    hf_option_allowed(s->option, &allowed);
    (void)snprintf(allowed_text, sizeof allowed_text, "%.*s", HF_FMT(hf_buf_span(&allowed)));
    hf_buf_done(&allowed);

    hf_text_shown(value, shown);
    const enum hf_json_type type = hf_json_type(value);
    const bool is_scalar = type == HF_JSON_NUMBER || type == HF_JSON_STRING;
    return hf_setting_refuse(s, value.p, "found %s; allowed is %s",
                             is_scalar ? shown : hf_option_kind_of(value), allowed_text);
}

/* ---- scalars ---- */

static bool set_bool(struct hf_setting *s, struct hf_span value)
{
    const enum hf_json_type type = hf_json_type(value);
    if (type != HF_JSON_TRUE && type != HF_JSON_FALSE)
        return hf_setting_wrong(s, value);
    *(bool *)hf_option_field(s->option, s->root) = type == HF_JSON_TRUE;
    return true;
}

static bool set_integer(struct hf_setting *s, struct hf_span value)
{
    const struct hf_option *o = s->option;
    int64_t n;
    if (hf_json_type(value) != HF_JSON_NUMBER || !hf_json_int(value, &n) || n < o->min ||
        n > o->max)
        return hf_setting_wrong(s, value);
    void *to = hf_option_field(o, s->root);
    switch (o->type) {
    case HF_OPTION_U32: *(uint32_t *)to = (uint32_t)n; break;
    case HF_OPTION_I32: *(int32_t *)to = (int32_t)n; break;
    default: *(uint64_t *)to = (uint64_t)n;
    }
    return true;
}

static bool set_double(struct hf_setting *s, struct hf_span value)
{
    double n;
    if (hf_json_type(value) != HF_JSON_NUMBER || !hf_json_double(value, &n) ||
        n < (double)s->option->min || n > (double)s->option->max)
        return hf_setting_wrong(s, value);
    *(double *)hf_option_field(s->option, s->root) = n;
    return true;
}

static bool set_choice(struct hf_setting *s, struct hf_span value)
{
    const struct hf_option *o = s->option;
    for (unsigned i = 0; hf_json_type(value) == HF_JSON_STRING && o->choices[i]; i++) {
        if (!hf_json_string_is(value, hf_span_of(o->choices[i])))
            continue;
        if (o->size == sizeof(bool)) /* the second of two choices is `true` */
            *(bool *)hf_option_field(o, s->root) = i != 0;
        else
            memcpy(hf_option_field(o, s->root), &i, sizeof i);
        return true;
    }
    return hf_setting_wrong(s, value);
}

/* ---- strings ---- */

/* Records a wrong string: the file or the command line is refused, or, if the string belongs to one
 * server, that server keeps the string and gets a `problem`. */
static bool blame(struct hf_setting *s, const char *at, const struct hf_err *err)
{
    char problem[sizeof err->text + 160];
    struct hf_option_variables *v = s->variables;
    if (!v || v->refuses)
        return hf_setting_refuse(s, at, "%s", err->text);
    (void)snprintf(problem, sizeof problem, "%s%s: %s", s->option->key, s->fault->item, err->text);
    if (!v->problem)
        v->problem = hf_strdup(problem);
    return true;
}

/* Takes the text of a string over and returns it as its field shall hold it, or NULL. */
static char *finish(struct hf_setting *s, const char *at, char *text)
{
    struct hf_err err;
    const struct hf_option *o = s->option;
    const struct hf_option_variables *v = s->variables;
    bool expands = true, stays = true;
    if (v && (o->flags & HF_OPTION_EXPANDS)) {
        struct hf_buf out;
        hf_buf_init(&out, HF_OPTION_STRING_MAX);
        expands = hf_expand(hf_span_of(text), v->env, v->env_context, &out, &err);
        if (expands) {
            hf_free(text);
            text = hf_span_dup(hf_buf_span(&out));
        }
        hf_buf_done(&out);
    }
    for (char *c = text; (o->flags & HF_OPTION_LOWER) && *c; c++)
        *c = hf_lower(*c);
    if (!expands || (o->check && !o->check(text, &err)))
        stays = blame(s, at, &err);
    if (!stays)
        hf_free(text);
    return stays ? text : NULL;
}

char *hf_setting_name(struct hf_setting *s, struct hf_span value)
{
    char *result = NULL;
    struct hf_buf text;
    if (hf_json_type(value) != HF_JSON_STRING) {
        const bool quotes_help = hf_json_type(value) == HF_JSON_NUMBER ||
                                 hf_json_type(value) == HF_JSON_TRUE ||
                                 hf_json_type(value) == HF_JSON_FALSE;
        hf_setting_refuse(s, value.p, "found %s; allowed is a string%s", hf_option_kind_of(value),
                          quotes_help ? ": put it in quotes" : "");
        return NULL;
    }
    hf_buf_init(&text, HF_OPTION_STRING_MAX);
    if (!hf_json_unescape(value, &text) || hf_buf_len(&text) > HF_OPTION_STRING_MAX)
        hf_setting_refuse(s, value.p, "a string is longer than %d bytes", HF_OPTION_STRING_MAX);
    else if (hf_buf_len(&text) > 0 && memchr(text.p + text.start, '\0', hf_buf_len(&text)))
        hf_setting_refuse(s, value.p, "a string holds a NUL character");
    else
        result = hf_span_dup(hf_buf_span(&text));
    hf_buf_done(&text);
    return result;
}

char *hf_setting_string(struct hf_setting *s, struct hf_span value)
{
    char *text = hf_setting_name(s, value);
    return text ? finish(s, value.p, text) : NULL;
}

static bool set_string(struct hf_setting *s, struct hf_span value)
{
    char *text = hf_setting_string(s, value);
    if (!text)
        return false;
    hf_option_clear(s->option, s->root);
    *(char **)hf_option_field(s->option, s->root) = text;
    return true;
}

char **hf_setting_strings(struct hf_setting *s, struct hf_span value)
{
    size_t n = 0;
    char **list = hf_strings_new();
    const size_t before = strlen(s->fault->item);
    for (struct hf_json_iter it = hf_json_iter(value); hf_json_next(&it); n++) {
        (void)snprintf(s->fault->item + before, sizeof s->fault->item - before, "[%zu]", n);
        char *text = n < HF_OPTION_ITEMS_MAX ? hf_setting_string(s, it.value) : NULL;
        if (!text) {
            if (n == HF_OPTION_ITEMS_MAX)
                hf_setting_refuse(s, it.value.p, "there are more than %d items",
                                  HF_OPTION_ITEMS_MAX);
            hf_strings_free(list);
            return NULL;
        }
        hf_strings_add(&list, text);
    }
    return list;
}

static bool set_list(struct hf_setting *s, struct hf_span value)
{
    if (hf_json_type(value) != HF_JSON_ARRAY)
        return hf_setting_wrong(s, value);
    char **list = hf_setting_strings(s, value);
    if (!list)
        return false;
    hf_strings_free(*list_field(s->option, s->root));
    *list_field(s->option, s->root) = list;
    return true;
}

static bool set_statuses(struct hf_setting *s, struct hf_span value)
{
    const struct hf_option *o = s->option;
    struct hf_status_set set = { { 0 } };
    size_t n = 0;
    if (hf_json_type(value) != HF_JSON_ARRAY)
        return hf_setting_wrong(s, value);
    for (struct hf_json_iter it = hf_json_iter(value); hf_json_next(&it); n++) {
        int64_t status;
        (void)snprintf(s->fault->item, sizeof s->fault->item, "[%zu]", n);
        if (hf_json_type(it.value) != HF_JSON_NUMBER || !hf_json_int(it.value, &status) ||
            status < o->min || status > o->max)
            return hf_setting_refuse(s, it.value.p, "allowed is a status from %d to %d",
                                     (int)o->min, (int)o->max);
        const unsigned at = (unsigned)(status - HF_STATUS_MIN);
        set.bits[at / 64] |= UINT64_C(1) << at % 64;
    }
    memcpy(hf_option_field(o, s->root), &set, sizeof set);
    return true;
}

static bool set_inherit(struct hf_setting *s, struct hf_span value)
{
    const enum hf_json_type type = hf_json_type(value);
    if (type != HF_JSON_TRUE && type != HF_JSON_FALSE && type != HF_JSON_ARRAY)
        return hf_setting_wrong(s, value);
    char **list = hf_setting_strings(s, value); /* true and false: an empty list */
    if (!list)
        return false;
    const unsigned inherit = type == HF_JSON_TRUE ? HF_INHERIT_ALL : HF_INHERIT_LISTED;
    hf_option_clear(s->option, s->root);
    memcpy(hf_option_field(s->option, s->root), &inherit, sizeof inherit);
    *list_field(s->option, s->root) = list;
    return true;
}

/* ---- any type ---- */

bool hf_option_set(const struct hf_option *option, void *root, struct hf_span json,
                   struct hf_option_variables *variables, struct hf_option_fault *ret_fault)
{
    static bool (*const setters[])(struct hf_setting *, struct hf_span) = {
        [HF_OPTION_BOOL] = set_bool,          [HF_OPTION_U32] = set_integer,
        [HF_OPTION_I32] = set_integer,        [HF_OPTION_U64] = set_integer,
        [HF_OPTION_DOUBLE] = set_double,      [HF_OPTION_CHOICE] = set_choice,
        [HF_OPTION_STRING] = set_string,      [HF_OPTION_LIST] = set_list,
        [HF_OPTION_PAIRS] = hf_setting_pairs, [HF_OPTION_INHERIT] = set_inherit,
        [HF_OPTION_STATUSES] = set_statuses,  [HF_OPTION_TOKENS] = hf_setting_tokens,
    };
    *ret_fault = (struct hf_option_fault) { .at = json.p };
    struct hf_setting s = { option, root, variables, ret_fault };
    return setters[option->type](&s, json);
}

void hf_option_set_initial(const struct hf_option *option, void *root)
{
    struct hf_option_fault fault;
    if (!option->initial)
        return;
    const bool good = hf_option_set(option, root, hf_span_of(option->initial), NULL, &fault);
    assert(good);
    (void)good;
}

/* ---- the command line ---- */

/* Neither a colon nor "=" can stand in the name of a header, so both may end it. */
const char *hf_option_cut(const struct hf_option *o, const char *text)
{
    return strpbrk(text, o->flags & HF_OPTION_CASELESS ? ":=" : "=");
}

static bool json_of_pair(const struct hf_option *o, const char *text, struct hf_buf *ret_json,
                         struct hf_err *err)
{
    const char *cut = hf_option_cut(o, text);
    if (!cut)
        return hf_fail(err, "the value must look like %s", o->unit);
    const char *value = *cut == ':' ? cut + 1 + strspn(cut + 1, " \t") : cut + 1;
    hf_buf_add_char(ret_json, '{');
    hf_json_add_string(ret_json, (struct hf_span) { text, (size_t)(cut - text) });
    hf_buf_add_char(ret_json, ':');
    hf_json_add_string(ret_json, hf_span_of(value));
    hf_buf_add_char(ret_json, '}');
    return true;
}

bool hf_option_json_of_text(const struct hf_option *o, const char *text, struct hf_buf *ret_json,
                            struct hf_err *err)
{
    const struct hf_span span = hf_span_of(text);
    const bool is_word = hf_span_is(span, "true") || hf_span_is(span, "false");
    const bool is_list = o->type == HF_OPTION_LIST || (o->type == HF_OPTION_INHERIT && !is_word);
    const bool is_array = is_list || o->type == HF_OPTION_STATUSES;
    const bool is_text = is_list || o->type == HF_OPTION_STRING || o->type == HF_OPTION_CHOICE;
    struct hf_json_error ignored;

    if (o->type == HF_OPTION_PAIRS)
        return json_of_pair(o, text, ret_json, err);
    if (is_array)
        hf_buf_add_char(ret_json, '[');
    /* Text that is no JSON becomes a string: choices are strings, and numbers refuse it later. */
    if (!is_text && hf_json_check(span, 1, &ignored))
        hf_buf_add(ret_json, span);
    else
        hf_json_add_string(ret_json, span);
    if (is_array)
        hf_buf_add_char(ret_json, ']');
    return true;
}

/* ---- from field to field ---- */

/* INHERIT is a plain field with a list beside it, so both cases below apply to it. */
static bool has_list(const struct hf_option *o)
{
    return o->type == HF_OPTION_LIST || o->type == HF_OPTION_INHERIT;
}

void hf_option_copy(const struct hf_option *o, void *to_root, const void *from_root)
{
    assert(o->type != HF_OPTION_TOKENS); /* an option of the process is never copied */
    hf_option_clear(o, to_root);
    if (o->type == HF_OPTION_PAIRS) {
        hf_pairs_copy(o, to_root, from_root);
        return;
    }
    if (o->type == HF_OPTION_STRING) {
        const char *text = *(char *const *)hf_option_field_const(o, from_root);
        *(char **)hf_option_field(o, to_root) = text ? hf_strdup(text) : NULL;
        return;
    }
    if (has_list(o))
        *list_field(o, to_root) = hf_strings_copy(const_list(o, from_root));
    if (o->type != HF_OPTION_LIST)
        memcpy(hf_option_field(o, to_root), hf_option_field_const(o, from_root), o->size);
}

bool hf_option_same(const struct hf_option *o, const void *a_root, const void *b_root)
{
    assert(o->type != HF_OPTION_TOKENS);
    if (o->type == HF_OPTION_PAIRS)
        return hf_pairs_same(o, a_root, b_root);
    if (o->type == HF_OPTION_STRING) {
        const char *a = *(char *const *)hf_option_field_const(o, a_root);
        const char *b = *(char *const *)hf_option_field_const(o, b_root);
        return a && b ? strcmp(a, b) == 0 : a == b;
    }
    if (has_list(o) && !hf_strings_same(const_list(o, a_root), const_list(o, b_root)))
        return false;
    return o->type == HF_OPTION_LIST ||
           memcmp(hf_option_field_const(o, a_root), hf_option_field_const(o, b_root), o->size) == 0;
}

void hf_option_clear(const struct hf_option *o, void *root)
{
    if (o->type == HF_OPTION_PAIRS)
        hf_pairs_clear(o, root);
    if (o->type == HF_OPTION_TOKENS)
        hf_tokens_clear(o, root);
    if (o->type == HF_OPTION_STRING)
        hf_free(*(char **)hf_option_field(o, root));
    if (has_list(o)) {
        hf_strings_free(*list_field(o, root));
        *list_field(o, root) = NULL;
    }
    memset(hf_option_field(o, root), 0, o->size);
}
