/* test_uri_template.c - which URIs may have come from a template. */
#include "base/mem.h"
#include "base/uri_template.h"
#include "test.h"

TEST(expressions_stand_for_anything_and_the_rest_for_itself)
{
    static const struct {
        const char *uri_template, *uri;
        bool matches;
    } rows[] = {
        { "", "", true },
        { "", "a", false },
        { "a:b", "a:b", true },
        { "a:b", "a:bc", false },
        { "a:{x}", "a:", true },
        { "a:{x}", "a:b/c?d", true },
        { "a:{x}", "b:", false },
        { "{x}", "", true },
        { "{x}", "a:b", true },
        { "{+x}.md", "a:b.md", true },
        { "{+x}.md", "a:b.mdx", false },
        { "{+x}.md", ".md", true },
        { "a:{x}/b/{y}", "a:1/b/2", true },
        { "a:{x}/b/{y}", "a:1/c/2", false },
        { "a:{x}/b/{y}.c", "a:/b/b/.c/b/x.c", true },
        { "a:{x}bb{y}b", "a:bbb", true },
        { "a:{x}bb{y}b", "a:bb", false },
        { "{x}{y}", "a", true },
        { "a:{x}{y}b", "a:b", true },
        { "a:{x}{y}b", "a:", false },
        { "a:{x}b{y}", "a:", false },
        { "a:?q={q}", "a:?q=1", true }, /* what is special in a glob is not special here */
        { "a:?q={q}", "a:xq=1", false },
        { "a:*{q}", "a:bc", false },
        { "a:{x", "a:b", true }, /* never closed: all of the rest */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const bool as_said = hf_uri_template_matches(hf_span_of(rows[i].uri_template),
                                                     hf_span_of(rows[i].uri)) == rows[i].matches;
        if (!as_said)
            printf("# %s on %s\n", rows[i].uri_template, rows[i].uri);
        CHECK(as_said);
    }
    CHECK(hf_uri_template_matches((struct hf_span) { NULL, 0 }, (struct hf_span) { NULL, 0 }));
    CHECK(hf_uri_template_matches(HF_SPAN("{x}"), (struct hf_span) { NULL, 0 }));
    CHECK(!hf_uri_template_matches(HF_SPAN("{x}a{y}"), (struct hf_span) { NULL, 0 }));
}

/* If each place in the URI were tried byte by byte, these would take hours. */
TEST(matching_is_linear_in_the_lengths_of_both)
{
    enum { LENGTH = 1000000, LITERAL = 500000, STARS = 50000 };
    char *uri = hf_alloc(LENGTH), *hostile = hf_alloc(LITERAL + 7),
         *stars = hf_alloc(5 * STARS + 1);
    memset(uri, 'a', LENGTH);
    memcpy(hostile, "{x}", 3);
    memset(hostile + 3, 'a', LITERAL);
    memcpy(hostile + 3 + LITERAL, "b{y}", 4);
    CHECK(!hf_uri_template_matches((struct hf_span) { hostile, LITERAL + 7 },
                                   (struct hf_span) { uri, LENGTH }));
    for (size_t i = 0; i < STARS; i++)
        memcpy(stars + 5 * i, "{x}aa", 5);
    stars[5 * STARS] = 'b';
    CHECK(!hf_uri_template_matches((struct hf_span) { stars, 5 * STARS + 1 },
                                   (struct hf_span) { uri, LENGTH }));
    CHECK(hf_uri_template_matches((struct hf_span) { stars, 5 * STARS },
                                  (struct hf_span) { uri, LENGTH }));
    hf_free(uri);
    hf_free(hostile);
    hf_free(stars);
}
