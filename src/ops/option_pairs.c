/* option_pairs.c - options that are objects of strings: env, headers, rename, describe. */
#include <stdio.h>
#include "base/fold.h"
#include "ops/config_text.h"
#include "ops/option_parts.h"
#include "wire/json.h"

struct pairs {
    struct hf_pair *items;
    size_t count;
};

static struct pairs get_pairs(const struct hf_option *o, const void *root)
{
    const void *count = (const char *)root + o->also_at;
    return (struct pairs) { *(struct hf_pair *const *)hf_option_field_const(o, root),
                            *(const size_t *)count };
}

static void put_pairs(const struct hf_option *o, void *root, struct pairs pairs)
{
    void *count = (char *)root + o->also_at;
    *(struct hf_pair **)hf_option_field(o, root) = pairs.items;
    *(size_t *)count = pairs.count;
}

static void pairs_free(struct pairs *p)
{
    for (size_t i = 0; i < p->count; i++) {
        hf_free(p->items[i].key);
        hf_free(p->items[i].value);
    }
    hf_free(p->items);
    *p = (struct pairs) { 0 };
}

/* Names of headers are the same in any case. */
static size_t pairs_find(const struct hf_option *o, const struct pairs *p, const char *key)
{
    size_t i = 0;
    while (i < p->count && !(o->flags & HF_OPTION_CASELESS
                                 ? hf_fold_same(hf_span_of(p->items[i].key), hf_span_of(key))
                                 : strcmp(p->items[i].key, key) == 0))
        i++;
    return i;
}

/* Takes both strings over; the value of a known key is replaced. */
static void pairs_put(const struct hf_option *o, struct pairs *p, char *key, char *value)
{
    const size_t i = pairs_find(o, p, key);
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

bool hf_pairs_same(const struct hf_option *o, const void *a_root, const void *b_root)
{
    const struct pairs a = get_pairs(o, a_root), b = get_pairs(o, b_root);
    if (a.count != b.count)
        return false;
    for (size_t i = 0; i < a.count; i++)
        if (strcmp(a.items[i].key, b.items[i].key) != 0 ||
            strcmp(a.items[i].value, b.items[i].value) != 0)
            return false;
    return true;
}

/* A member's name, owned by the caller, or NULL after filling `fault`. */
static char *read_key(struct hf_setting *s, struct hf_span raw, const struct pairs *so_far)
{
    char shown[HF_SHOWN_MAX];
    struct hf_err err;
    hf_text_shown(raw, shown);
    (void)snprintf(s->fault->item, sizeof s->fault->item, ".%s", shown);
    char *key = hf_setting_name(s, (struct hf_span) { raw.p - 1, raw.n + 2 });
    if (!key)
        return NULL;
    bool good = true;
    if (!*key)
        good = hf_setting_refuse(s, raw.p, "a name is empty");
    else if (s->option->check_name && !s->option->check_name(key, &err))
        good = hf_setting_refuse(s, raw.p, "%s", err.text);
    else if (pairs_find(s->option, so_far, key) < so_far->count)
        good = hf_setting_refuse(s, raw.p, "it is given twice");
    else if (so_far->count == HF_OPTION_ITEMS_MAX)
        good = hf_setting_refuse(s, raw.p, "there are more than %d members", HF_OPTION_ITEMS_MAX);
    if (!good)
        hf_free(key);
    return good ? key : NULL;
}

static bool read_pairs(struct hf_setting *s, struct hf_span value, struct pairs *ret)
{
    struct pairs pairs = { 0 };
    for (struct hf_json_iter it = hf_json_iter(value); hf_json_next(&it);) {
        char *key = read_key(s, it.key, &pairs);
        char *text = key ? hf_setting_string(s, it.value) : NULL;
        if (!text) {
            hf_free(key);
            pairs_free(&pairs);
            return false;
        }
        pairs_put(s->option, &pairs, key, text);
    }
    s->fault->item[0] = '\0';
    *ret = pairs;
    return true;
}

static bool values_are_unique(struct hf_setting *s, const struct pairs *p, struct hf_span value)
{
    char first[HF_SHOWN_MAX], second[HF_SHOWN_MAX], shown[HF_SHOWN_MAX];
    for (size_t i = 0; i < p->count; i++) {
        if (!*p->items[i].value)
            return hf_setting_refuse(s, value.p, "a new name is empty");
        for (size_t k = 0; k < i; k++) {
            if (strcmp(p->items[i].value, p->items[k].value) != 0)
                continue;
            hf_text_shown(hf_span_of(p->items[k].key), first);
            hf_text_shown(hf_span_of(p->items[i].key), second);
            hf_text_shown(hf_span_of(p->items[i].value), shown);
            return hf_setting_refuse(s, value.p, "\"%s\" and \"%s\" both become \"%s\"", first,
                                     second, shown);
        }
    }
    return true;
}

bool hf_setting_pairs(struct hf_setting *s, struct hf_span value)
{
    struct pairs added;
    if (hf_json_type(value) != HF_JSON_OBJECT)
        return hf_setting_wrong(s, value);
    if (!read_pairs(s, value, &added))
        return false;

    struct pairs joined = pairs_copy(get_pairs(s->option, s->root));
    for (size_t i = 0; i < added.count; i++)
        pairs_put(s->option, &joined, added.items[i].key, added.items[i].value);
    hf_free(added.items);
    if ((s->option->flags & HF_OPTION_UNIQUE) && !values_are_unique(s, &joined, value)) {
        pairs_free(&joined);
        return false;
    }
    hf_option_clear(s->option, s->root);
    put_pairs(s->option, s->root, joined);
    return true;
}

void hf_pairs_copy(const struct hf_option *o, void *to_root, const void *from_root)
{
    put_pairs(o, to_root, pairs_copy(get_pairs(o, from_root)));
}

void hf_pairs_clear(const struct hf_option *o, void *root)
{
    struct pairs pairs = get_pairs(o, root);
    pairs_free(&pairs);
    put_pairs(o, root, pairs);
}
