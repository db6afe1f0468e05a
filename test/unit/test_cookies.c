/* test_cookies.c - which cookies are kept, for how long, and for which requests. */
#include "test.h"
#include "wire/cookies.h"

static const uint64_t now_ms = 1700000000000; /* 14 November 2023, 22:13:20 GMT */

static struct hf_cookies jar;

static void set(const char *value)
{
    hf_cookies_take(&jar, hf_span_of(value), HF_SPAN("a.example"), HF_SPAN("/mcp/one?x=/y"), false,
                    now_ms);
}

static bool sends(const char *path, uint64_t at_ms, const char *wanted)
{
    struct hf_buf out;
    hf_buf_init(&out, HF_COOKIES_LINE_MAX);
    hf_cookies_write(&jar, hf_span_of(path), at_ms, &out);
    const bool is_it = hf_span_is(hf_buf_span(&out), wanted);
    if (!is_it)
        printf("# %.*s\n", HF_FMT(hf_buf_span(&out)));
    hf_buf_done(&out);
    return is_it;
}

TEST(a_cookie_comes_back_as_it_was_set)
{
    static const struct {
        const char *value, *sent;
    } cases[] = {
        { "a=b", "a=b" },
        { " a=b ; HttpOnly; SameSite=Lax", "a=b" },
        { "a=", "a=" },
        { "a=b=c", "a=b=c" },
        { "a=\"b c\"", "a=\"b c\"" },
        { "a=b; Domain=example", "a=b" },
        { "a=b; Domain=.A.EXAMPLE", "a=b" },
        { "a=b; Domain=", "a=b" },
        { "a=b; Max-Age=10", "a=b" },
        { "a=b; Max-Age=99999999999", "a=b" },
        { "a=b; Max-Age=x", "a=b" },
        { "a=b; Expires=Tue, 14 Nov 2023 22:13:21 GMT", "a=b" },
        { "a=b; Expires=Tue, 14-Nov-23 22:13:21 GMT", "a=b" },
        { "a=b; Expires=never", "a=b" },
        { "a=b; Max-Age=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "a=b" },
        { "a=b; Path=elsewhere", "a=b" },
        { "a", "" },
        { "=b", "" },
        { "", "" },
        { ";", "" },
        { "a=b\tc", "" },
        { "a=b; Domain=b.example", "" },
        { "a=b; Domain=xa.example", "" },
        { "a=b; Domain=deep.a.example", "" },
        { "a=b; Secure", "" },
        { "a=b; Max-Age=0", "" },
        { "a=b; Max-Age=-1", "" },
        { "a=b; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "" },
        { "a=b; Expires=Tue, 14 Nov 2023 22:13:20 GMT", "" },
        { "a=b; Expires=Sun, 06-Nov-94 08:49:37 GMT", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        set(cases[i].value);
        CHECK(sends("/mcp/one", now_ms, cases[i].sent));
        hf_cookies_done(&jar);
    }
}

TEST(a_cookie_that_wants_safety_is_kept_where_nobody_listens)
{
    hf_cookies_take(&jar, HF_SPAN("a=b; Secure"), HF_SPAN("localhost"), HF_SPAN("/"), true, now_ms);
    CHECK(sends("/", now_ms, "a=b"));
    hf_cookies_done(&jar);
}

TEST(a_cookie_is_sent_to_its_path_and_below_it)
{
    set("a=b");
    CHECK(sends("/mcp", now_ms, "a=b") && sends("/mcp/", now_ms, "a=b"));
    CHECK(sends("/mcp/two?q", now_ms, "a=b") && sends("/mcp?q", now_ms, "a=b"));
    CHECK(sends("/mcpx", now_ms, "") && sends("/", now_ms, "") && sends("/MCP", now_ms, ""));
    set("r=1; Path=/");
    set("d=2; Path=/mcp/deep/");
    CHECK(sends("/mcp/deep/x", now_ms, "d=2; a=b; r=1") && sends("/mcp/deep", now_ms, "a=b; r=1"));
    hf_cookies_done(&jar);
}

TEST(a_cookie_is_replaced_deleted_and_forgotten_in_time)
{
    set("a=1");
    set("b=1; Max-Age=5");
    set("a=2");
    CHECK(sends("/mcp", now_ms, "a=2; b=1"));
    set("b=1; Max-Age=0; Path=/");
    CHECK(sends("/mcp", now_ms + 4999, "a=2; b=1"));
    CHECK(sends("/mcp", now_ms + 5000, "a=2"));
    set("a=; Expires=Thu, 01 Jan 1970 00:00:01 GMT");
    CHECK(sends("/mcp", now_ms, "") && jar.count == 0);
    hf_cookies_done(&jar);
}

TEST(no_server_can_make_us_keep_or_send_more_than_the_limits)
{
    char text[HF_COOKIE_BYTES_MAX + 8];
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof text, "c%d=x", i);
        set(text);
    }
    CHECK(jar.count == HF_COOKIES_MAX);
    struct hf_buf out;
    hf_buf_init(&out, HF_COOKIES_LINE_MAX);
    hf_cookies_write(&jar, HF_SPAN("/mcp"), now_ms, &out);
    hf_buf_add_char(&out, '\0');
    CHECK(strstr(out.p, "c999=x") && strstr(out.p, "c950=x") && !strstr(out.p, "c949=x"));
    hf_buf_clear(&out);
    memset(text, 'x', sizeof text);
    text[1] = '=';
    text[HF_COOKIE_BYTES_MAX - 3] = '\0'; /* one byte too long with its path, "/mcp" */
    set(text);
    for (int i = 0; i < 3; i++) {
        text[0] = (char)('a' + i);
        text[HF_COOKIE_BYTES_MAX - 4] = '\0';
        set(text);
    }
    hf_cookies_write(&jar, HF_SPAN("/mcp"), now_ms, &out);
    CHECK(hf_buf_len(&out) <= HF_COOKIES_LINE_MAX);
    hf_buf_add_char(&out, '\0');
    CHECK(!strstr(out.p, "x=x") && strstr(out.p, "a=x"));
    hf_buf_done(&out);
    hf_cookies_done(&jar);
}
