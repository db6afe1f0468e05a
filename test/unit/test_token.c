/* test_token.c - a new token: unguessable, and known again by the entry that was printed for it. */
#include "test.h"
#include "config_fixture.h"
#include "ops/token.h"

TEST(the_entry_of_a_new_token_is_one_that_a_file_takes)
{
    char token[HF_TOKEN_TEXT_SIZE], text[400];
    uint8_t hash[HF_SHA256_SIZE];
    struct hf_buf entry;
    struct hf_config c;
    struct hf_err err;
    hf_buf_init(&entry, 400);
    REQUIRE(hf_token_new("ci@build-7", token, &entry, &err));
    CHECK(strncmp(token, "hf_", 3) == 0 && strlen(token) == 67);
    CHECK_EQ(strspn(token + 3, "0123456789abcdef"), 64);
    CHECK(!memmem(entry.p, entry.end, token + 3, 64));

    (void)snprintf(text, sizeof text, IN_HOLDFAST("\"tokens\":[%.*s]"),
                   HF_FMT(hf_buf_span(&entry)));
    hf_config_init(&c);
    REQUIRE(parse(&c, text, &err) && c.serve.token_count == 1);
    hf_sha256(hf_span_of(token), hash);
    CHECK_STR(c.serve.tokens[0].name, "ci@build-7");
    CHECK(hf_digest_same(c.serve.tokens[0].hash, hash));
    hf_config_done(&c);
    hf_buf_done(&entry);
}

TEST(no_two_tokens_are_the_same)
{
    static char tokens[64][HF_TOKEN_TEXT_SIZE];
    for (size_t i = 0; i < 64; i++) {
        struct hf_buf entry;
        struct hf_err err;
        hf_buf_init(&entry, 400);
        REQUIRE(hf_token_new("x", tokens[i], &entry, &err));
        hf_buf_done(&entry);
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(tokens[i], tokens[k]) != 0);
    }
}

TEST(a_name_that_a_file_would_refuse_makes_no_token)
{
    static const char *const names[] = { "", "a b", "a\"b", "a\\b", "a\nb", "é", "\x7f" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char token[HF_TOKEN_TEXT_SIZE] = "untouched";
        struct hf_buf entry;
        struct hf_err err;
        hf_buf_init(&entry, 400);
        CHECK(!hf_token_new(names[i], token, &entry, &err));
        CHECK(strstr(err.text, "the name of a token has 1 to 64 visible ASCII characters"));
        CHECK(is(token, "untouched") && hf_buf_len(&entry) == 0);
        hf_buf_done(&entry);
    }
}
