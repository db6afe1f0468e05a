/* rules.c - what an operator lets through, and under which name. */
#include "base/glob.h"
#include "core/state.h"

static char **copy_globs(const char *const *globs)
{
    size_t count = 0;
    while (globs && globs[count])
        count++;
    if (!globs)
        return NULL;
    char **copy = hf_new_array(char *, count + 1);
    for (size_t i = 0; i < count; i++)
        copy[i] = hf_strdup(globs[i]);
    return copy;
}

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
        .allow = copy_globs(spec->allow),
        .deny = copy_globs(spec->deny),
        .renames = copy_renames(spec->renames, spec->rename_count),
        .rename_count = spec->rename_count,
        .descriptions = copy_renames(spec->descriptions, spec->description_count),
        .description_count = spec->description_count,
    };
}

static void free_globs(char **globs)
{
    for (size_t i = 0; globs && globs[i]; i++)
        hf_free(globs[i]);
    hf_free(globs);
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
    free_globs(rules->allow);
    free_globs(rules->deny);
    free_renames(rules->renames, rules->rename_count);
    free_renames(rules->descriptions, rules->description_count);
    *rules = (struct hf_rule_set) { 0 };
}

static bool any_matches(char *const *globs, struct hf_span name)
{
    for (size_t i = 0; globs && globs[i]; i++)
        if (hf_glob(globs[i], name))
            return true;
    return false;
}

bool hf_rules_allow(const struct hf_rule_set *rules, struct hf_span name)
{
    return (!rules->allow || any_matches(rules->allow, name)) && !any_matches(rules->deny, name);
}

const struct hf_rename *hf_rules_find(const struct hf_rename *list, size_t count,
                                      struct hf_span from)
{
    for (size_t i = 0; i < count; i++)
        if (hf_span_eq(list[i].from, from))
            return &list[i];
    return NULL;
}
