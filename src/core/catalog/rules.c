/* rules.c - what an operator lets through, and under which name. */
#include "core/catalog/rules.h"
#include "core/engine.h"

static struct hf_rename *copy_renames(const struct hf_rename *list, size_t count)
{
    struct hf_rename *copy = count ? hf_new_array(struct hf_rename, count) : NULL;
    for (size_t i = 0; i < count; i++) {
        copy[i].from = (struct hf_span) { hf_span_dup(list[i].from), list[i].from.n };
        copy[i].to = (struct hf_span) { hf_span_dup(list[i].to), list[i].to.n };
    }
    return copy;
}

void hf_rules_set(struct hf_rule_set *rules, const struct hf_server_spec *spec)
{
    *rules = (struct hf_rule_set) {
        .names = hf_filter_copy(spec->allow, spec->deny),
        .renames = copy_renames(spec->renames, spec->rename_count),
        .rename_count = spec->rename_count,
        .descriptions = copy_renames(spec->descriptions, spec->description_count),
        .description_count = spec->description_count,
    };
}

static void free_renames(struct hf_rename *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hf_free((void *)(uintptr_t)list[i].from.p);
        hf_free((void *)(uintptr_t)list[i].to.p);
    }
    hf_free(list);
}

void hf_rules_done(struct hf_rule_set *rules)
{
    hf_filter_done(&rules->names);
    free_renames(rules->renames, rules->rename_count);
    free_renames(rules->descriptions, rules->description_count);
    *rules = (struct hf_rule_set) { 0 };
}

static bool same_renames(const struct hf_rename *a, size_t a_count, const struct hf_rename *b,
                         size_t b_count)
{
    bool same = a_count == b_count;
    for (size_t i = 0; same && i < a_count; i++)
        same = hf_span_eq(a[i].from, b[i].from) && hf_span_eq(a[i].to, b[i].to);
    return same;
}

bool hf_rules_same(const struct hf_rule_set *a, const struct hf_rule_set *b)
{
    return hf_filter_same(&a->names, &b->names) &&
           same_renames(a->renames, a->rename_count, b->renames, b->rename_count) &&
           same_renames(a->descriptions, a->description_count, b->descriptions,
                        b->description_count);
}

const struct hf_rename *hf_rules_find(const struct hf_rename *list, size_t count,
                                      struct hf_span from)
{
    for (size_t i = 0; i < count; i++)
        if (hf_span_eq(list[i].from, from))
            return &list[i];
    return NULL;
}
