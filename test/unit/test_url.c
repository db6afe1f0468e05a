/*
 * test_url.c - URLs, hosts and addresses to listen on: what is taken apart, and what is refused.
 */
#include "test.h"
#include "base/url.h"
#include "io/listen.h"

TEST(an_authority_is_a_host_and_perhaps_a_port)
{
    static const struct {
        const char *text, *host;
        int port;
    } rows[] = {
        { "localhost", "localhost", -1 },
        { "localhost:80", "localhost", 80 },
        { "127.0.0.1:7332", "127.0.0.1", 7332 },
        { "[::1]", "[::1]", -1 },
        { "[::1]:0", "[::1]", 0 },
        { "[::ffff:127.0.0.1]:65535", "[::ffff:127.0.0.1]", 65535 },
        { "a_b-c.Example.COM.:1", "a_b-c.Example.COM.", 1 },
        { "h:00080", "h", 80 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hf_authority a;
        REQUIRE(hf_authority_read(hf_span_of(rows[i].text), &a));
        CHECK(hf_span_is(a.host, rows[i].host) && a.port == rows[i].port);
    }
}

TEST(what_is_no_authority_is_refused_and_changes_nothing)
{
    static const char *const rows[] = {
        "",    ":80", "h:",   "h:65536", "h:000080",    "h:-1",    "h: 80",  "h:8o",      "u@h",
        "a b", "h/",  "[::1", "[]",      "[]:80",       "[::1]80", "[g::1]", "::1",       "h:80:80",
        "h?",  "h#",  "a,b",  "é",       "[fe80::1%1]", "h\t",     "*.test", "[::1]:80x",
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hf_authority a = { { NULL, 7 }, 7 };
        const bool taken = hf_authority_read(hf_span_of(rows[i]), &a);
        if (taken)
            printf("# taken: %s\n", rows[i]);
        CHECK(!taken && a.port == 7 && a.host.n == 7);
    }
}

TEST(a_host_has_at_most_255_bytes)
{
    char text[256];
    struct hf_authority a;
    memset(text, 'a', sizeof text);
    CHECK(hf_authority_read((struct hf_span) { text, 255 }, &a));
    CHECK(!hf_authority_read((struct hf_span) { text, 256 }, &a));
}

TEST(a_url_is_taken_apart)
{
    static const struct {
        const char *text, *scheme, *host;
        int port;
        const char *rest;
    } rows[] = {
        { "http://x", "http", "x", -1, "" },
        { "https://mcp.example.com/mcp?a=b&c=%20", "https", "mcp.example.com", -1,
          "/mcp?a=b&c=%20" },
        { "http://[::1]:8080/", "http", "[::1]", 8080, "/" },
        { "https://h:443?q=a@b:c//d", "https", "h", 443, "?q=a@b:c//d" },
        { "chrome-extension://abc", "chrome-extension", "abc", -1, "" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hf_url url;
        struct hf_err err;
        REQUIRE(hf_url_read(hf_span_of(rows[i].text), &url, &err));
        CHECK_SPAN(url.scheme, rows[i].scheme);
        CHECK_SPAN(url.authority.host, rows[i].host);
        CHECK(url.authority.port == rows[i].port && hf_span_is(url.rest, rows[i].rest));
    }
}

TEST(what_is_no_url_is_refused_with_a_reason_that_does_not_quote_it)
{
    static const char *const rows[][2] = {
        { "", "a URL begins with a scheme" },
        { "s3cret", "a URL begins with a scheme" },
        { "s3cret.com/mcp", "a URL begins with a scheme" },
        { "http:/s3cret", "a URL begins with a scheme" },
        { "://s3cret", "a URL begins with a scheme" },
        { "1http://s3cret", "a URL begins with a scheme" },
        { "http://s3 cret", "no spaces" },
        { "http://s3cret\r\nX: y", "no spaces, control characters" },
        { "http://s3crét", "outside ASCII" },
        { "http://h/\\s3cret", "backslashes" },
        { "http://h/\"s3cret", "quotes" },
        { "http://h/s3cret#x", "no fragment" },
        { "http://me:s3cret@h/", "put it into an Authorization header" },
        { "http://s3cret@h/", "put it into an Authorization header" },
        { "http:///s3cret", "its host must be a name" },
        { "http://h:99999/s3cret", "its host must be a name" },
        { "http://h:s3cret/", "its host must be a name" },
        { "http://[s3cret/", "its host must be a name" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hf_url url;
        struct hf_err err = { "" };
        CHECK(!hf_url_read(hf_span_of(rows[i][0]), &url, &err));
        if (!strstr(err.text, rows[i][1]))
            printf("# %s: %s\n", rows[i][0], err.text);
        CHECK(strstr(err.text, rows[i][1]) && !strstr(err.text, "s3cr"));
    }
}

TEST(the_usual_port_follows_from_the_scheme)
{
    CHECK(hf_scheme_port(HF_SPAN("http")) == 80 && hf_scheme_port(HF_SPAN("https")) == 443);
    CHECK(hf_scheme_port(HF_SPAN("ftp")) == -1 && hf_scheme_port(HF_SPAN("")) == -1);
}

TEST(an_address_to_listen_on_says_who_can_reach_it)
{
    static const struct {
        const char *text, *address;
        unsigned port;
        bool is_unix, is_ipv6, is_loopback;
    } rows[] = {
        { "127.0.0.1:7332", "127.0.0.1", 7332, false, false, true },
        { "127.9.9.9:0", "127.9.9.9", 0, false, false, true },
        { "localhost:80", "127.0.0.1", 80, false, false, true },
        { "0.0.0.0:7332", "0.0.0.0", 7332, false, false, false },
        { "192.168.1.5:65535", "192.168.1.5", 65535, false, false, false },
        { "[::1]:7332", "::1", 7332, false, true, true },
        { "[0:0:0:0:0:0:0:1]:7332", "::1", 7332, false, true, true },
        { "[::ffff:127.0.0.1]:1", "::ffff:127.0.0.1", 1, false, true, true },
        { "[::ffff:10.0.0.1]:1", "::ffff:10.0.0.1", 1, false, true, false },
        { "[::]:7332", "::", 7332, false, true, false },
        { "[2001:DB8::1]:7332", "2001:db8::1", 7332, false, true, false },
        { "unix:/run/holdfast.sock", "/run/holdfast.sock", 0, true, false, true },
        { "unix:here", "here", 0, true, false, true },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hf_listen l;
        struct hf_err err;
        REQUIRE(hf_listen_read(rows[i].text, &l, &err));
        CHECK(strcmp(l.address, rows[i].address) == 0 && l.port == rows[i].port);
        CHECK(l.is_unix == rows[i].is_unix && l.is_ipv6 == rows[i].is_ipv6);
        CHECK_EQ(l.is_loopback, rows[i].is_loopback);
    }
}

TEST(an_address_to_listen_on_that_means_nothing_is_refused_with_what_it_looks_like)
{
    static const char *const rows[][2] = {
        { "", "looks like 127.0.0.1:7332, [::1]:7332 or unix:PATH" },
        { "7332", "it has no port" },
        { ":7332", "looks like" },
        { "*:7332", "looks like" },
        { "127.0.0.1", "it has no port" },
        { "[::1]", "it has no port" },
        { "::1:80", "looks like" },
        { "example.com:80", "names are not looked up" },
        { "127.0.0.1.:80", "names are not looked up" },
        { "127.1:80", "names are not looked up" },
        { "[1:2:3]:80", "names are not looked up" },
        { "[127.0.0.1]:80", "names are not looked up" },
        { "127.0.0.1:65536", "looks like" },
        { "http://127.0.0.1:80", "looks like" },
        { "unix:", "looks like" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hf_listen l = { .port = 7 };
        struct hf_err err = { "" };
        CHECK(!hf_listen_read(rows[i][0], &l, &err) && l.port == 7);
        if (!strstr(err.text, rows[i][1]))
            printf("# %s: %s\n", rows[i][0], err.text);
        CHECK(strstr(err.text, rows[i][1]));
    }
}

TEST(the_path_of_a_socket_is_as_long_as_linux_takes_it)
{
    char text[5 + 109];
    struct hf_listen l;
    struct hf_err err;
    memset(text, 'a', sizeof text);
    memcpy(text, "unix:", 5);
    text[5 + 107] = '\0';
    CHECK(hf_listen_read(text, &l, &err) && strlen(l.address) == 107);
    text[5 + 107] = 'a';
    text[5 + 108] = '\0';
    CHECK(!hf_listen_read(text, &l, &err));
    CHECK(strstr(err.text, "at most 107 bytes"));
}
