/* test_config_plain.c - comments and trailing commas of a config file. */
#include "ops/config_plain.h"
#include "test.h"

static const struct {
    const char *text, *plain;
} rows[] = {
    { "", "" },
    { "{}", "{}" },
    { "{} // end", "{}       " },
    { "{ // a\n}", "{     \n}" },
    { "{ // a\r\n}", "{     \r\n}" },
    { "{/* a\nb */}", "{    \n    }" },
    { "{/**/}", "{    }" },
    { "{/*/}", "{/*/}" },
    { "{/* never", "{/* never" },
    { "[1,]", "[1 ]" },
    { "[1, ]", "[1  ]" },
    { "{\"a\":1,\n}", "{\"a\":1 \n}" },
    { "[1, // last\n]", "[1         \n]" },
    { "[{},[],]", "[{},[] ]" },
    { "[\"a,]\",]", "[\"a,]\" ]" },
    { "[,]", "[,]" },
    { "{,}", "{,}" },
    { "[1,,]", "[1,,]" },
    { "{\"a\":,}", "{\"a\":,}" },
    { "[1,2]", "[1,2]" },
    { "\"//\"", "\"//\"" },
    { "\"/* \\\" */\"", "\"/* \\\" */\"" },
    { "\"http://a\" // b", "\"http://a\"     " },
    { "\"\\\\\"//x", "\"\\\\\"   " },
    { "\"open //", "\"open //" },
    { "\"open \\", "\"open \\" },
    { "/", "/" },
    { "// é", "     " },
    { "[1,]]", "[1 ]]" },
};

TEST(comments_and_trailing_commas_become_spaces_and_nothing_else_changes)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[64];
        const size_t n = strlen(rows[i].text);
        memcpy(text, rows[i].text, n + 1);
        hf_config_plain(text, n);
        if (strcmp(text, rows[i].plain) != 0)
            printf("# row %zu: \"%s\" became \"%s\"\n", i, rows[i].text, text);
        CHECK(strcmp(text, rows[i].plain) == 0);
    }
}
