/* test_glob.c - what patterns match. */
#include "test.h"
#include "base/glob.h"

TEST(patterns_match_whole_names_only)
{
    static const struct {
        const char *pattern, *name;
        bool matches;
    } rows[] = {
        { "", "", true },           { "", "a", false },          { "a", "", false },
        { "a", "a", true },         { "a", "A", false },         { "a", "ab", false },
        { "ab", "a", false },       { "*", "", true },           { "*", "anything at all", true },
        { "**", "", true },         { "a*", "a", true },         { "a*", "abc", true },
        { "a*", "ba", false },      { "*c", "abc", true },       { "*c", "abcd", false },
        { "a*c", "ac", true },      { "a*c", "abcbc", true },    { "a*c", "abcb", false },
        { "*ab*", "xxabyy", true }, { "*ab*", "xxayby", false }, { "*a*b", "aab", true },
        { "?", "", false },         { "?", "a", true },          { "?", "ab", false },
        { "a?c", "abc", true },     { "a?c", "ac", false },      { "*?", "", false },
        { "*?", "abc", true },      { "?*?", "a", false },       { "?*?", "ab", true },
        { "LC_*", "LC_ALL", true }, { "LC_*", "LC", false },     { "[a]", "a", false },
        { "[a]", "[a]", true },     { "a\\*", "a*", false },     { "*", "*", true },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const bool as_said = hf_glob(rows[i].pattern, hf_span_of(rows[i].name)) == rows[i].matches;
        if (!as_said)
            printf("# %s on %s\n", rows[i].pattern, rows[i].name);
        CHECK(as_said);
    }
}

TEST(a_question_mark_takes_one_character_of_any_length)
{
    CHECK(hf_glob("?", hf_span_of("é")));
    CHECK(hf_glob("a?b", hf_span_of("a😀b")));
    CHECK(!hf_glob("??", hf_span_of("é")));
    CHECK(!hf_glob("*??", hf_span_of("é")));
}

TEST(a_name_may_hold_any_byte)
{
    CHECK(hf_glob("a*b", (struct hf_span) { "a\0\xff\x80"
                                            "b",
                                            5 }));
    CHECK(!hf_glob("a", (struct hf_span) { "a\0", 2 }));
    CHECK(hf_glob("*", (struct hf_span) { NULL, 0 }));
}

/* With recursion per star this pattern takes longer than the universe is old. */
TEST(many_stars_do_not_multiply)
{
    char name[2001], pattern[402];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    for (size_t i = 0; i < 400; i += 2)
        memcpy(pattern + i, "a*", 2);
    memcpy(pattern + 400, "b", 2);
    CHECK(!hf_glob(pattern, hf_span_of(name)));
    pattern[400] = 'a';
    CHECK(hf_glob(pattern, hf_span_of(name)));
}
