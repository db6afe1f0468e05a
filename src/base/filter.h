/*
 * filter.h - which names are let through: those that `allow` names and `deny` does not.
 *
 * Both are NULL-terminated lists of globs (glob.h), owned by the filter. No list and an empty list
 * differ: no `allow` allows every name, an empty one allows none.
 */
#ifndef HF_BASE_FILTER_H
#define HF_BASE_FILTER_H

#include "base/span.h"

struct hf_filter {
    char **allow, **deny; /* NULL: no such list */
};

struct hf_filter hf_filter_copy(const char *const *allow, const char *const *deny);
void hf_filter_done(struct hf_filter *filter);
bool hf_filter_allows(const struct hf_filter *filter, struct hf_span name);
bool hf_filter_same(const struct hf_filter *a, const struct hf_filter *b);
static inline bool hf_filter_is_set(const struct hf_filter *filter) /* it may refuse a name */
{
    return filter->allow || filter->deny;
}

#endif
