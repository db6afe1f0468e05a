/* test_filter.c - which names allow and deny let through (DESIGN 9). */
#include "test.h"
#include "base/filter.h"

TEST(a_name_passes_if_it_is_allowed_and_not_denied)
{
    static const char *const all[] = { "*", NULL }, *const puts[] = { "put*", "get", NULL },
                             *const deep[] = { "*_deep", NULL }, *const none[] = { NULL };
    static const struct {
        const char *const *allow, *const *deny;
        const char *name;
        bool passes;
    } rows[] = {
        { NULL, NULL, "put", true },       { NULL, none, "put", true },
        { none, NULL, "put", false },      { none, none, "put", false },
        { all, NULL, "put", true },        { all, all, "put", false },
        { NULL, all, "put", false },       { puts, NULL, "put_deep", true },
        { puts, NULL, "get", true },       { puts, NULL, "gets", false },
        { puts, deep, "put_deep", false }, { puts, deep, "put", true },
        { puts, deep, "drop", false },     { NULL, deep, "drop", true },
        { deep, puts, "put_deep", false }, { deep, puts, "drop_deep", true },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hf_filter filter = hf_filter_copy(rows[i].allow, rows[i].deny);
        const bool passes = hf_filter_allows(&filter, hf_span_of(rows[i].name));
        if (passes != rows[i].passes)
            printf("# row %zu: %s\n", i, rows[i].name);
        CHECK_EQ(passes, rows[i].passes);
        CHECK_EQ(hf_filter_is_set(&filter), rows[i].allow || rows[i].deny);
        hf_filter_done(&filter);
        CHECK(!hf_filter_is_set(&filter));
    }
}

TEST(two_filters_are_the_same_if_both_lists_are_and_no_list_is_not_an_empty_one)
{
    static const char *const a[] = { "a", NULL }, *const b[] = { "b", NULL },
                             *const none[] = { NULL };
    static const char *const *const lists[] = { NULL, none, a, b };
    for (size_t i = 0; i < 16; i++) {
        for (size_t j = 0; j < 16; j++) {
            struct hf_filter one = hf_filter_copy(lists[i / 4], lists[i % 4]);
            struct hf_filter other = hf_filter_copy(lists[j / 4], lists[j % 4]);
            CHECK_EQ(hf_filter_same(&one, &other), i == j);
            hf_filter_done(&one);
            hf_filter_done(&other);
        }
    }
}
