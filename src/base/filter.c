/* filter.c - see filter.h. */
#include "base/filter.h"
#include "base/glob.h"
#include "base/strings.h"

static char **copy_of(const char *const *globs)
{
    return globs ? hf_strings_copy((char *const *)(uintptr_t)globs) : NULL;
}

struct hf_filter hf_filter_copy(const char *const *allow, const char *const *deny)
{
    return (struct hf_filter) { copy_of(allow), copy_of(deny) };
}

void hf_filter_done(struct hf_filter *filter)
{
    hf_strings_free(filter->allow);
    hf_strings_free(filter->deny);
    *filter = (struct hf_filter) { 0 };
}

bool hf_filter_allows(const struct hf_filter *filter, struct hf_span name)
{
    return (!filter->allow || hf_glob_any(filter->allow, name)) && !hf_glob_any(filter->deny, name);
}

static bool same(char *const *a, char *const *b)
{
    return !a == !b && hf_strings_same(a, b);
}

bool hf_filter_same(const struct hf_filter *a, const struct hf_filter *b)
{
    return same(a->allow, b->allow) && same(a->deny, b->deny);
}
