/* test_library_config.c - configuration through the public header, as a program sees it. */
#include "test.h"
#include "holdfast/holdfast.h"
#include "ops/config.h"

struct heard {
    char text[4000];
};

static void hear(void *context, const char *line)
{
    struct heard *heard = context;
    strncat(heard->text, line, sizeof heard->text - strlen(heard->text) - 1);
    strncat(heard->text, "\n", sizeof heard->text - strlen(heard->text) - 1);
}

TEST(a_remote_server_is_named_after_its_host)
{
    char error[HF_ERROR_SIZE];
    struct hf_config *config = hf_config_new();
    CHECK(hf_config_url(config, NULL, "https://mcp.test/x", error));
    CHECK(hf_config_url(config, "other", "https://mcp.test/x", error));
    CHECK_STR(hf_config_server_name(config, 0), "mcp.test");
    CHECK_STR(hf_config_server_name(config, 1), "other");
    CHECK(!hf_config_server_name(config, 2) && hf_config_server_count(config) == 2);
    CHECK(hf_config_url(config, NULL, "mcp.test", error)); /* the server says that it is none */
    CHECK(strstr(hf_config_server_problem(config, 2), "a URL begins with a scheme"));
    hf_config_free(config);
}

TEST(headers_of_the_command_line_may_hold_variables)
{
    static const struct {
        const char *header, *value, *says;
    } rows[] = {
        { "X-Key: a=b: c", "a=b: c", NULL },
        { "X-Key:plain", "plain", NULL },
        { "X-Key: \t${HF_TEST_SECRET}", "s3cret", NULL },
        { "X-Key: ${HF_TEST_UNSET}", NULL, "the variable HF_TEST_UNSET is not set" },
        { "X-Key: ${HF_TEST_BREAK}", NULL, "holds a line break" },
        { "X-Key", NULL, "a header looks like \"Name: value\"" },
        { ": x", NULL, "a name is empty" },
        { "X Key: x", NULL, "the name of a header is made of" },
        { "X-Key=a: b", "a: b", NULL },
        { "X-Key=${HF_TEST_SECRET}", "s3cret", NULL },
        { "accept: x", NULL, "this header is holdfast's own to set" },
        { "X-Key:", NULL, "the value of a header is empty" },
    };
    (void)setenv("HF_TEST_SECRET", "s3cret", 1);
    (void)setenv("HF_TEST_BREAK", "s3cret\r\n", 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char error[HF_ERROR_SIZE] = "";
        struct hf_config *config = hf_config_new();
        REQUIRE(hf_config_url(config, NULL, "https://mcp.test/x", error));
        const bool taken = hf_config_header(config, rows[i].header, error);
        const struct hf_server_config *server = &config->servers[0];
        if (taken != !rows[i].says || (rows[i].says && !strstr(error, rows[i].says)))
            printf("# %s: %s\n", rows[i].header, error);
        CHECK(taken == !rows[i].says && server->headers_count == taken);
        CHECK(!taken || strcmp(server->headers[0].value, rows[i].value) == 0);
        CHECK(taken || (strstr(error, rows[i].says) && !strstr(error, "s3cret")));
        hf_config_free(config);
    }
}

TEST(a_check_says_what_it_found_about_every_server_and_the_front)
{
    static const char text[] =
        "{\"mcpServers\":{\"a\":{\"command\":\"sh\"},\"b\":{\"command\":\"/no/such\"},"
        "\"c\":{\"url\":\"https://h.test:1/s3cret?s3cret\",\"odd\":1},"
        "\"d\":{\"url\":\"https://h.test\",\"disabled\":true},"
        "\"e\":{\"url\":\"https://h.test\",\"ca\":\"/no/ca\"}},"
        "\"holdfast\":{\"listen\":\"0.0.0.0:1\"}}";
    char error[HF_ERROR_SIZE];
    struct heard heard = { "" };
    struct hf_config *config = hf_config_new();
    REQUIRE(hf_config_read(config, text, sizeof text - 1, error));
    CHECK_EQ(hf_config_check(config, hear, &heard), 3);
    CHECK_STR(heard.text,
              "warning: line 1: mcpServers.c.odd: not a key of ours; ignored\n"
              "a: ok\n"
              "b: cannot start: there is no file \"/no/such\": correct the path of the command\n"
              "c: ok, https://h.test:1\n"
              "d: disabled, https://h.test\n"
              "e: cannot start: the CA file \"/no/ca\": No such file or directory\n"
              "holdfast serve: cannot start: other machines can reach 0.0.0.0:1, and there are no "
              "tokens: everybody there could use your servers. Make a token with `holdfast token` "
              "and put its entry into holdfast.tokens, or listen on 127.0.0.1 or unix:PATH\n");
    hf_config_free(config);
}

TEST(a_new_token_comes_with_its_entry)
{
    char token[HF_TOKEN_SIZE], entry[HF_ERROR_SIZE], error[HF_ERROR_SIZE] = "";
    REQUIRE(hf_token_make("ci", token, entry, error));
    CHECK(strlen(token) == 67 && strncmp(token, "hf_", 3) == 0);
    CHECK(strstr(entry, "{ \"name\": \"ci\", \"hash\": \"sha256:") == entry && strlen(entry) > 90);
    CHECK(!hf_token_make("a b", token, entry, error) && *error && !*entry);
}
