/* rules.h - what an operator lets through, and under which name. */
#ifndef HF_CORE_CATALOG_RULES_H
#define HF_CORE_CATALOG_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include "base/filter.h"
#include "base/span.h"
#include "core/engine.h"

struct hf_rename;
struct hf_server_spec;

struct hf_rule_set {
    struct hf_filter names; /* of tools and prompts, the server's own */
    struct hf_rename *renames, *descriptions;
    size_t rename_count, description_count;
};

void hf_rules_set(struct hf_rule_set *rules, const struct hf_server_spec *spec);
void hf_rules_done(struct hf_rule_set *rules);
bool hf_rules_same(const struct hf_rule_set *a, const struct hf_rule_set *b);
/* The entry for this name, or NULL. */
const struct hf_rename *hf_rules_find(const struct hf_rename *list, size_t count,
                                      struct hf_span from);

#endif
