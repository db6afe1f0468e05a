/* option_value.c - see option_value.h. */
#include "ops/option_value.h"
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include "base/strings.h"
#include "ops/config_expand.h"
#include "ops/config_text.h"
#include "wire/json.h"

struct pairs {
    struct hf_pair *items;
    size_t count;
};

/* One value on its way into its field. */
struct setting {
    const struct hf_option *option;
    void *root;
    struct hf_option_variables *variables;
    struct hf_option_fault *fault;
};

static void *field(const struct hf_option *o, void *root)
{
    return (char *)root + o->at;
}

static const void *const_field(const struct hf_option *o, const void *root)
{
    return (const char *)root + o->at;
}

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

static struct pairs get_pairs(const struct hf_option *o, const void *root)
{
    const void *count = (const char *)root + o->also_at;
    return (struct pairs) { *(struct hf_pair *const *)const_field(o, root),
                            *(const size_t *)count };
}

static void put_pairs(const struct hf_option *o, void *root, struct pairs pairs)
{
    void *count = (char *)root + o->also_at;
    *(struct hf_pair **)field(o, root) = pairs.items;
    *(size_t *)count = pairs.count;
}

/* ---- saying what is wrong ---- */

static bool refuse(struct setting *s, const char *at, const char *format, ...) HF_PRINTF(3, 4);
static bool refuse(struct setting *s, const char *at, const char *format, ...)
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

static bool wrong_value(struct setting *s, struct hf_span value)
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
    return refuse(s, value.p, "found %s; allowed is %s",
                  is_scalar ? shown : hf_option_kind_of(value), allowed_text);
}

/* ---- scalars ---- */

static bool set_bool(struct setting *s, struct hf_span value)
{
    const enum hf_json_type type = hf_json_type(value);
    if (type != HF_JSON_TRUE && type != HF_JSON_FALSE)
        return wrong_value(s, value);
    *(bool *)field(s->option, s->root) = type == HF_JSON_TRUE;
    return true;
}

static bool set_integer(struct setting *s, struct hf_span value)
{
    const struct hf_option *o = s->option;
    int64_t n;
    if (hf_json_type(value) != HF_JSON_NUMBER || !hf_json_int(value, &n) || n < o->min ||
        n > o->max)
        return wrong_value(s, value);
    void *to = field(o, s->root);
    switch (o->type) {
    case HF_OPTION_U32: *(uint32_t *)to = (uint32_t)n; break;
    case HF_OPTION_I32: *(int32_t *)to = (int32_t)n; break;
    default: *(uint64_t *)to = (uint64_t)n;
    }
    return true;
}

static bool set_double(struct setting *s, struct hf_span value)
{
    double n;
    if (hf_json_type(value) != HF_JSON_NUMBER || !hf_json_double(value, &n) ||
        n < (double)s->option->min || n > (double)s->option->max)
        return wrong_value(s, value);
    *(double *)field(s->option, s->root) = n;
    return true;
}

static bool set_choice(struct setting *s, struct hf_span value)
{
    const struct hf_option *o = s->option;
    for (unsigned i = 0; hf_json_type(value) == HF_JSON_STRING && o->choices[i]; i++) {
        if (!hf_json_string_is(value, hf_span_of(o->choices[i])))
            continue;
        if (o->size == sizeof(bool)) /* of two, the second is the `true` one */
            *(bool *)field(o, s->root) = i != 0;
        else
            memcpy(field(o, s->root), &i, sizeof i);
        return true;
    }
    return wrong_value(s, value);
}

/* ---- strings ---- */

static char *expanded(struct setting *s, struct hf_span text)
{
    struct hf_option_variables *v = s->variables;
    if (!v || !(s->option->flags & HF_OPTION_EXPANDS))
        return hf_span_dup(text);

    struct hf_err err;
    struct hf_buf out;
    hf_buf_init(&out, HF_OPTION_STRING_MAX);
    const bool good = hf_expand(text, v->env, v->env_context, &out, &err);
    char *result = hf_span_dup(good ? hf_buf_span(&out) : text);
    hf_buf_done(&out);
    if (!good && !v->problem) {
        char problem[sizeof err.text + 160];
        (void)snprintf(problem, sizeof problem, "%s%s: %s", s->option->key, s->fault->item,
                       err.text);
        v->problem = hf_strdup(problem);
    }
    return result;
}

/* The owned text of a string value, or NULL after saying why not. Values may be secrets, so only
 * their kind is told. */
static char *read_string(struct setting *s, struct hf_span value)
{
    char *result = NULL;
    struct hf_buf text;
    if (hf_json_type(value) != HF_JSON_STRING) {
        const bool quotes_help = hf_json_type(value) == HF_JSON_NUMBER ||
                                 hf_json_type(value) == HF_JSON_TRUE ||
                                 hf_json_type(value) == HF_JSON_FALSE;
        refuse(s, value.p, "found %s; allowed is a string%s", hf_option_kind_of(value),
               quotes_help ? ": put it in quotes" : "");
        return NULL;
    }
    hf_buf_init(&text, HF_OPTION_STRING_MAX);
    if (!hf_json_unescape(value, &text) || hf_buf_len(&text) > HF_OPTION_STRING_MAX)
        refuse(s, value.p, "a string is longer than %d bytes", HF_OPTION_STRING_MAX);
    else if (hf_buf_len(&text) > 0 && memchr(text.p + text.start, '\0', hf_buf_len(&text)))
        refuse(s, value.p, "a string holds a NUL character");
    else
        result = expanded(s, hf_buf_span(&text));
    hf_buf_done(&text);
    return result;
}

static bool set_string(struct setting *s, struct hf_span value)
{
    char *text = read_string(s, value);
    if (!text)
        return false;
    hf_option_clear(s->option, s->root);
    *(char **)field(s->option, s->root) = text;
    return true;
}

static char **read_list(struct setting *s, struct hf_span value)
{
    size_t n = 0;
    char **list = hf_strings_new();
    for (struct hf_json_iter it = hf_json_iter(value); hf_json_next(&it); n++) {
        (void)snprintf(s->fault->item, sizeof s->fault->item, "[%zu]", n);
        char *text = n < HF_OPTION_ITEMS_MAX ? read_string(s, it.value) : NULL;
        if (!text) {
            if (n == HF_OPTION_ITEMS_MAX)
                refuse(s, it.value.p, "there are more than %d items", HF_OPTION_ITEMS_MAX);
            hf_strings_free(list);
            return NULL;
        }
        hf_strings_add(&list, text);
    }
    return list;
}

static bool set_list(struct setting *s, struct hf_span value)
{
    if (hf_json_type(value) != HF_JSON_ARRAY)
        return wrong_value(s, value);
    char **list = read_list(s, value);
    if (!list)
        return false;
    hf_strings_free(*list_field(s->option, s->root));
    *list_field(s->option, s->root) = list;
    return true;
}

static bool set_inherit(struct setting *s, struct hf_span value)
{
    const enum hf_json_type type = hf_json_type(value);
    if (type != HF_JSON_TRUE && type != HF_JSON_FALSE && type != HF_JSON_ARRAY)
        return wrong_value(s, value);
    char **list = read_list(s, value); /* of true and false: no items */
    if (!list)
        return false;
    const unsigned inherit = type == HF_JSON_TRUE ? HF_INHERIT_ALL : HF_INHERIT_LISTED;
    hf_option_clear(s->option, s->root);
    memcpy(field(s->option, s->root), &inherit, sizeof inherit);
    *list_field(s->option, s->root) = list;
    return true;
}

/* ---- objects of strings ---- */

static void pairs_free(struct pairs *p)
{
    for (size_t i = 0; i < p->count; i++) {
        hf_free(p->items[i].key);
        hf_free(p->items[i].value);
    }
    hf_free(p->items);
    *p = (struct pairs) { 0 };
}

static size_t pairs_find(const struct pairs *p, const char *key)
{
    size_t i = 0;
    while (i < p->count && strcmp(p->items[i].key, key) != 0)
        i++;
    return i;
}

/* Takes both strings; the value of a key that is there is replaced. */
static void pairs_put(struct pairs *p, char *key, char *value)
{
    const size_t i = pairs_find(p, key);
    if (i < p->count) {
        hf_free(key);
        hf_free(p->items[i].value);
    } else {
        p->items = hf_realloc(p->items, (p->count + 1) * sizeof *p->items);
        p->items[p->count++].key = key;
    }
    p->items[i].value = value;
}

static struct pairs pairs_copy(struct pairs from)
{
    struct pairs copy = { 0 };
    copy.items = hf_new_array(struct hf_pair, from.count);
    for (copy.count = 0; copy.count < from.count; copy.count++) {
        copy.items[copy.count].key = hf_strdup(from.items[copy.count].key);
        copy.items[copy.count].value = hf_strdup(from.items[copy.count].value);
    }
    return copy;
}

static bool pairs_same(struct pairs a, struct pairs b)
{
    if (a.count != b.count)
        return false;
    for (size_t i = 0; i < a.count; i++)
        if (strcmp(a.items[i].key, b.items[i].key) != 0 ||
            strcmp(a.items[i].value, b.items[i].value) != 0)
            return false;
    return true;
}

/* A member's name as an owned string, or NULL after saying why not. */
static char *read_key(struct setting *s, struct hf_span raw, const struct pairs *so_far)
{
    char shown[HF_SHOWN_MAX];
    struct hf_option_variables *variables = s->variables;
    hf_text_shown(raw, shown);
    (void)snprintf(s->fault->item, sizeof s->fault->item, ".%s", shown);

    s->variables = NULL; /* names are never expanded */
    char *key = read_string(s, (struct hf_span) { raw.p - 1, raw.n + 2 });
    s->variables = variables;
    if (!key)
        return NULL;
    bool good = true;
    if (!*key)
        good = refuse(s, raw.p, "a name is empty");
    else if ((s->option->flags & HF_OPTION_NAMES) && strchr(key, '='))
        good = refuse(s, raw.p, "the name of a variable holds a \"=\"");
    else if (pairs_find(so_far, key) < so_far->count)
        good = refuse(s, raw.p, "it is given twice");
    else if (so_far->count == HF_OPTION_ITEMS_MAX)
        good = refuse(s, raw.p, "there are more than %d members", HF_OPTION_ITEMS_MAX);
    if (!good)
        hf_free(key);
    return good ? key : NULL;
}

static bool read_pairs(struct setting *s, struct hf_span value, struct pairs *ret)
{
    struct pairs pairs = { 0 };
    for (struct hf_json_iter it = hf_json_iter(value); hf_json_next(&it);) {
        char *key = read_key(s, it.key, &pairs);
        char *text = key ? read_string(s, it.value) : NULL;
        if (!text) {
            hf_free(key);
            pairs_free(&pairs);
            return false;
        }
        pairs_put(&pairs, key, text);
    }
    s->fault->item[0] = '\0';
    *ret = pairs;
    return true;
}

static bool values_are_unique(struct setting *s, const struct pairs *p, struct hf_span value)
{
    char first[HF_SHOWN_MAX], second[HF_SHOWN_MAX], shown[HF_SHOWN_MAX];
    for (size_t i = 0; i < p->count; i++) {
        if (!*p->items[i].value)
            return refuse(s, value.p, "a new name is empty");
        for (size_t k = 0; k < i; k++) {
            if (strcmp(p->items[i].value, p->items[k].value) != 0)
                continue;
            hf_text_shown(hf_span_of(p->items[k].key), first);
            hf_text_shown(hf_span_of(p->items[i].key), second);
            hf_text_shown(hf_span_of(p->items[i].value), shown);
            return refuse(s, value.p, "\"%s\" and \"%s\" both become \"%s\"", first, second, shown);
        }
    }
    return true;
}

static bool set_pairs(struct setting *s, struct hf_span value)
{
    struct pairs added;
    if (hf_json_type(value) != HF_JSON_OBJECT)
        return wrong_value(s, value);
    if (!read_pairs(s, value, &added))
        return false;

    struct pairs joined = pairs_copy(get_pairs(s->option, s->root));
    for (size_t i = 0; i < added.count; i++)
        pairs_put(&joined, added.items[i].key, added.items[i].value);
    hf_free(added.items);
    if ((s->option->flags & HF_OPTION_UNIQUE) && !values_are_unique(s, &joined, value)) {
        pairs_free(&joined);
        return false;
    }
    hf_option_clear(s->option, s->root);
    put_pairs(s->option, s->root, joined);
    return true;
}

/* ---- any type ---- */

bool hf_option_set(const struct hf_option *option, void *root, struct hf_span json,
                   struct hf_option_variables *variables, struct hf_option_fault *ret_fault)
{
    static bool (*const setters[])(struct setting *, struct hf_span) = {
        [HF_OPTION_BOOL] = set_bool,     [HF_OPTION_U32] = set_integer,
        [HF_OPTION_I32] = set_integer,   [HF_OPTION_U64] = set_integer,
        [HF_OPTION_DOUBLE] = set_double, [HF_OPTION_CHOICE] = set_choice,
        [HF_OPTION_STRING] = set_string, [HF_OPTION_LIST] = set_list,
        [HF_OPTION_PAIRS] = set_pairs,   [HF_OPTION_INHERIT] = set_inherit,
    };
    struct setting s = { option, root, variables, ret_fault };
    *ret_fault = (struct hf_option_fault) { .at = json.p };
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

static bool json_of_pair(const struct hf_option *o, const char *text, struct hf_buf *ret_json,
                         struct hf_err *err)
{
    const char *equals = strchr(text, '=');
    if (!equals)
        return hf_fail(err, "the value must look like %s", o->unit);
    hf_buf_add_char(ret_json, '{');
    hf_json_add_string(ret_json, (struct hf_span) { text, (size_t)(equals - text) });
    hf_buf_add_char(ret_json, ':');
    hf_json_add_string(ret_json, hf_span_of(equals + 1));
    hf_buf_add_char(ret_json, '}');
    return true;
}

bool hf_option_json_of_text(const struct hf_option *o, const char *text, struct hf_buf *ret_json,
                            struct hf_err *err)
{
    const struct hf_span span = hf_span_of(text);
    const bool is_word = hf_span_is(span, "true") || hf_span_is(span, "false");
    struct hf_json_error ignored;

    if (o->type == HF_OPTION_PAIRS)
        return json_of_pair(o, text, ret_json, err);
    if (o->type == HF_OPTION_LIST || (o->type == HF_OPTION_INHERIT && !is_word)) {
        hf_buf_add_char(ret_json, '[');
        hf_json_add_string(ret_json, span);
        hf_buf_add_char(ret_json, ']');
        return true;
    }
    /* What is no JSON becomes a string: a choice is one, a number will complain about it. */
    const bool is_text = o->type == HF_OPTION_STRING || o->type == HF_OPTION_CHOICE;
    if (!is_text && hf_json_check(span, 1, &ignored))
        hf_buf_add(ret_json, span);
    else
        hf_json_add_string(ret_json, span);
    return true;
}

/* ---- from field to field ---- */

/* INHERIT is a plain field with a list beside it, so it takes both ways below. */
static bool has_list(const struct hf_option *o)
{
    return o->type == HF_OPTION_LIST || o->type == HF_OPTION_INHERIT;
}

void hf_option_copy(const struct hf_option *o, void *to_root, const void *from_root)
{
    hf_option_clear(o, to_root);
    if (o->type == HF_OPTION_PAIRS) {
        put_pairs(o, to_root, pairs_copy(get_pairs(o, from_root)));
        return;
    }
    if (o->type == HF_OPTION_STRING) {
        const char *text = *(char *const *)const_field(o, from_root);
        *(char **)field(o, to_root) = text ? hf_strdup(text) : NULL;
        return;
    }
    if (has_list(o))
        *list_field(o, to_root) = hf_strings_copy(const_list(o, from_root));
    if (o->type != HF_OPTION_LIST)
        memcpy(field(o, to_root), const_field(o, from_root), o->size);
}

bool hf_option_same(const struct hf_option *o, const void *a_root, const void *b_root)
{
    if (o->type == HF_OPTION_PAIRS)
        return pairs_same(get_pairs(o, a_root), get_pairs(o, b_root));
    if (o->type == HF_OPTION_STRING) {
        const char *a = *(char *const *)const_field(o, a_root);
        const char *b = *(char *const *)const_field(o, b_root);
        return a && b ? strcmp(a, b) == 0 : a == b;
    }
    if (has_list(o) && !hf_strings_same(const_list(o, a_root), const_list(o, b_root)))
        return false;
    return o->type == HF_OPTION_LIST ||
           memcmp(const_field(o, a_root), const_field(o, b_root), o->size) == 0;
}

void hf_option_clear(const struct hf_option *o, void *root)
{
    if (o->type == HF_OPTION_PAIRS) {
        struct pairs pairs = get_pairs(o, root);
        pairs_free(&pairs);
        put_pairs(o, root, pairs);
        return;
    }
    if (o->type == HF_OPTION_STRING)
        hf_free(*(char **)field(o, root));
    if (has_list(o)) {
        hf_strings_free(*list_field(o, root));
        *list_field(o, root) = NULL;
    }
    memset(field(o, root), 0, o->size);
}
