/* test_catalog.c - one part of what a server offers: built page by page, compared, searched. */
#include "test.h"
#include "core/catalog/part.h"

static const struct hf_map_key key = { { 1, 2 } };

static struct hf_part *part_of(const char *result)
{
    struct hf_part *part = hf_part_new(HF_PART_TOOLS, 1 << 20, &key);
    struct hf_span cursor = { NULL, 0 };
    struct hf_err err;
    CHECK_EQ(hf_part_add_page(part, hf_span_of(result), &cursor, &err), HF_PAGE_LAST);
    hf_part_seal(part);
    return part;
}

TEST(items_keep_their_bytes_and_their_order)
{
    struct hf_part *part =
        part_of("{\"tools\":[ {\"name\" : \"b\", \"n\":1.0} ,{\"name\":\"a\"}]}");
    REQUIRE_EQ(part->count, 2);
    CHECK_SPAN(part->items[0].raw, "{\"name\" : \"b\", \"n\":1.0}");
    CHECK_SPAN(part->items[0].name, "\"b\"");
    CHECK_SPAN(part->items[1].raw, "{\"name\":\"a\"}");
    hf_part_unref(part);
}

TEST(pages_are_joined_and_each_cursor_is_handed_on_as_it_is)
{
    struct hf_part *part = hf_part_new(HF_PART_TOOLS, 1 << 20, &key);
    struct hf_span cursor = { NULL, 0 };
    struct hf_err err;
    CHECK_EQ(hf_part_add_page(part,
                              HF_SPAN("{\"tools\":[{\"name\":\"a\"}],\"nextCursor\":\"\\u0041\"}"),
                              &cursor, &err),
             HF_PAGE_MORE);
    CHECK_SPAN(cursor, "\"\\u0041\"");
    CHECK_EQ(hf_part_add_page(part, HF_SPAN("{\"tools\":[{\"name\":\"b\"}]}"), &cursor, &err),
             HF_PAGE_LAST);
    hf_part_seal(part);
    CHECK(part->count == 2 && part->pages == 2);
    CHECK(hf_part_find(part, HF_SPAN("\"a\"")) == &part->items[0]);
    CHECK(hf_part_find(part, HF_SPAN("\"\\u0062\"")) == &part->items[1]); /* by meaning */
    CHECK_EQ(hf_part_find(part, HF_SPAN("\"c\"")), NULL);
    CHECK_EQ(hf_part_find(NULL, HF_SPAN("\"a\"")), NULL);
    CHECK(hf_part_find_plain(part, HF_SPAN("b")) && !hf_part_find_plain(part, HF_SPAN("c")));
    CHECK(!hf_part_find_plain(NULL, HF_SPAN("b")));
    hf_part_unref(part);
}

TEST(of_two_items_whose_names_mean_the_same_the_first_is_found)
{
    struct hf_part *part = part_of("{\"tools\":[{\"name\":\"\"},{\"name\":\"\\u0061\"},"
                                   "{\"name\":\"a\"},{\"name\":\"\\ud800\"}]}");
    REQUIRE(part->count == 4);
    CHECK(hf_part_find(part, HF_SPAN("\"a\"")) == &part->items[1]);
    CHECK(hf_part_find(part, HF_SPAN("\"\"")) == &part->items[0]);
    CHECK(hf_part_find(part, HF_SPAN("\"\\uD800\"")) == &part->items[3]); /* half of a pair */
    CHECK(!hf_part_find(part, HF_SPAN("7")) && !hf_part_find(part, HF_SPAN("null")));
    CHECK(hf_part_find_plain(part, HF_SPAN("")) && hf_part_find_plain(part, HF_SPAN("a")));
    hf_part_unref(part);
}

/* @field Y13: the absence of pages that never end */
TEST(cursors_that_are_empty_null_or_repeat_themselves_end_the_list)
{
    static const char *const ends[] = { "{\"tools\":[],\"nextCursor\":\"\"}",
                                        "{\"tools\":[],\"nextCursor\":null}",
                                        "{\"tools\":[],\"nextCursor\":\"x\"}" };
    for (size_t i = 0; i < 3; i++) {
        struct hf_part *part = hf_part_new(HF_PART_TOOLS, 1 << 20, &key);
        struct hf_span cursor = { NULL, 0 };
        struct hf_err err;
        CHECK_EQ(
            hf_part_add_page(part, HF_SPAN("{\"tools\":[],\"nextCursor\":\"x\"}"), &cursor, &err),
            HF_PAGE_MORE);
        CHECK_EQ(hf_part_add_page(part, hf_span_of(ends[i]), &cursor, &err), HF_PAGE_LAST);
        hf_part_unref(part);
    }
}

TEST(pages_are_bounded_in_number)
{
    struct hf_part *part = hf_part_new(HF_PART_TOOLS, 1 << 20, &key);
    struct hf_span cursor = { NULL, 0 };
    struct hf_err err;
    unsigned pages = 0;
    enum hf_page more = HF_PAGE_MORE;
    for (; more == HF_PAGE_MORE && pages < 2 * HF_PART_PAGES_MAX; pages++) {
        char page[80];
        (void)snprintf(page, sizeof page, "{\"tools\":[],\"nextCursor\":\"%u\"}", pages);
        more = hf_part_add_page(part, hf_span_of(page), &cursor, &err);
    }
    CHECK(more == HF_PAGE_LAST && pages == HF_PART_PAGES_MAX);
    hf_part_unref(part);
}

TEST(a_list_over_its_bound_is_bad_and_says_so)
{
    struct hf_part *part = hf_part_new(HF_PART_TOOLS, 1000, &key);
    struct hf_span cursor;
    struct hf_err err;
    char page[2000];
    (void)snprintf(page, sizeof page, "{\"tools\":[{\"name\":\"a\"},{\"name\":\"%01500d\"}]}", 0);
    CHECK_EQ(hf_part_add_page(part, hf_span_of(page), &cursor, &err), HF_PAGE_BAD);
    CHECK(strstr(err.text, "too large"));
    hf_part_unref(part);
}

TEST(a_result_without_the_list_is_bad_and_names_what_is_missing)
{
    static const char *const bad[] = { "{}", "{\"tools\":{}}", "[]", "{\"prompts\":[]}", "null" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hf_part *part = hf_part_new(HF_PART_TOOLS, 1 << 20, &key);
        struct hf_span cursor;
        struct hf_err err;
        CHECK_EQ(hf_part_add_page(part, hf_span_of(bad[i]), &cursor, &err), HF_PAGE_BAD);
        CHECK(strstr(err.text, "tools"));
        hf_part_unref(part);
    }
}

TEST(items_without_a_name_cost_the_others_nothing)
{
    struct hf_part *part =
        part_of("{\"tools\":[7,{},{\"name\":7},null,{\"name\":\"a\"},{\"title\":\"b\"}]}");
    CHECK_EQ(part->count, 1);
    hf_part_unref(part);
}

TEST(each_part_is_named_by_its_own_member)
{
    static const struct {
        enum hf_part_id part;
        const char *result, *name;
    } rows[] = {
        { HF_PART_PROMPTS, "{\"prompts\":[{\"name\":\"p\"}]}", "\"p\"" },
        { HF_PART_RESOURCES, "{\"resources\":[{\"name\":\"n\",\"uri\":\"u\"}]}", "\"u\"" },
        { HF_PART_TEMPLATES, "{\"resourceTemplates\":[{\"uriTemplate\":\"t\",\"name\":\"n\"}]}",
          "\"t\"" },
    };
    for (size_t i = 0; i < 3; i++) {
        struct hf_part *part = hf_part_new(rows[i].part, 1000, &key);
        struct hf_span cursor;
        struct hf_err err;
        CHECK_EQ(hf_part_add_page(part, hf_span_of(rows[i].result), &cursor, &err), HF_PAGE_LAST);
        hf_part_seal(part);
        CHECK(part->count == 1 && hf_span_is(part->items[0].name, rows[i].name));
        hf_part_unref(part);
    }
}

TEST(only_hints_that_are_true_make_a_tool_idempotent_and_only_tools_are)
{
    struct hf_part *part =
        part_of("{\"tools\":[{\"name\":\"a\",\"annotations\":{\"idempotentHint\":true}},"
                "{\"name\":\"b\",\"annotations\":{\"readOnlyHint\":true}},"
                "{\"name\":\"c\",\"annotations\":{\"readOnlyHint\":false,\"idempotentHint\":1}},"
                "{\"name\":\"d\",\"idempotentHint\":true},"
                "{\"name\":\"e\",\"annotations\":{\"destructiveHint\":true}},{\"name\":\"f\"}]}");
    static const bool expected[] = { true, true, false, false, false, false };
    REQUIRE_EQ(part->count, 6);
    for (size_t i = 0; i < 6; i++)
        CHECK_EQ(part->items[i].is_idempotent, expected[i]);
    hf_part_unref(part);
}

/* @field B12: lists are compared by what they hold */
TEST(lists_are_the_same_by_content_in_any_order_and_differ_by_a_single_byte)
{
    static const struct {
        const char *a, *b;
        bool same;
    } rows[] = {
        { "[]", "[]", true },
        { "[{\"name\":\"a\"}]", "[{\"name\":\"a\"}]", true },
        { "[{\"name\":\"a\"},{\"name\":\"b\"}]", "[{\"name\":\"b\"},{\"name\":\"a\"}]", true },
        { "[{\"name\":\"a\"},{\"name\":\"bb\"}]", "[{\"name\":\"bb\"},{\"name\":\"a\"}]", true },
        { "[{\"name\":\"a\"}]", "[]", false },
        { "[{\"name\":\"a\"}]", "[{\"name\":\"b\"}]", false },
        { "[{\"name\":\"a\"},{\"name\":\"a\"},{\"name\":\"b\"}]",
          "[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"b\"}]", false },
        { "[{\"name\":\"a\",\"x\":1}]", "[{\"name\":\"a\",\"x\":2}]", false },
        { "[{\"name\":\"a\",\"x\":1}]", "[{\"name\":\"a\", \"x\":1}]", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char a[200], b[200];
        (void)snprintf(a, sizeof a, "{\"tools\":%s}", rows[i].a);
        (void)snprintf(b, sizeof b, "{\"tools\":%s}", rows[i].b);
        struct hf_part *x = part_of(a), *y = part_of(b);
        CHECK(hf_part_same(x, y) == rows[i].same && hf_part_same(y, x) == rows[i].same);
        hf_part_unref(x);
        hf_part_unref(y);
    }
}

TEST(a_part_lives_as_long_as_somebody_refers_to_it)
{
    struct hf_part *part = part_of("{\"tools\":[{\"name\":\"a\"}]}");
    CHECK_EQ(hf_part_ref(part), part);
    hf_part_unref(part);
    CHECK_SPAN(part->items[0].name, "\"a\"");
    hf_part_unref(part);
    hf_part_unref(NULL);
}
