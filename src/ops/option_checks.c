/* option_checks.c - see option_checks.h. */
#include "ops/option_checks.h"
#include "base/fold.h"
#include "base/url.h"
#include "io/address.h"
#include "io/listen.h"

enum { TOKEN_NAME_MAX = 64 };

bool hf_check_variable_name(const char *text, struct hf_err *err)
{
    return !strchr(text, '=') || hf_fail(err, "the name of a variable holds a \"=\"");
}

bool hf_check_path(const char *text, struct hf_err *err)
{
    return *text || hf_fail(err, "the path of a file is empty");
}

/* ---- remote servers ---- */

bool hf_check_url(const char *text, struct hf_err *err)
{
    struct hf_url url;
    if (!*text)
        return true; /* reported as a server that has neither command nor url */
    if (!hf_url_read(hf_span_of(text), &url, err))
        return false;
    return hf_scheme_port(url.scheme) > 0 ||
           hf_fail(err, "a remote server is reached by http:// or https:// only");
}

/* Unlike other URLs it may hold a user name and may lack the scheme, as curl has it. */
bool hf_check_proxy(const char *text, struct hf_err *err)
{
    static const char *const schemes[] = { "http://",    "https://",  "socks4://",
                                           "socks4a://", "socks5://", "socks5h://" };
    static const char allowed[] = "a proxy looks like http://proxy.example.com:3128 or "
                                  "socks5h://127.0.0.1:1080; \"\" is none";
    struct hf_authority authority;
    struct hf_span rest = hf_span_of(text);
    for (size_t i = 0; i < rest.n; i++)
        if (rest.p[i] <= ' ' || rest.p[i] > '~')
            return hf_fail(err, "%s", allowed);
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        if (hf_span_starts(rest, hf_span_of(schemes[i]))) {
            rest = hf_span_from(rest, strlen(schemes[i]));
            break;
        }
    const char *at = rest.n ? memrchr(rest.p, '@', rest.n) : NULL;
    if (at)
        rest = hf_span_from(rest, (size_t)(at - rest.p) + 1);
    if (rest.n > 1 && rest.p[rest.n - 1] == '/')
        rest.n--;
    return !*text || hf_authority_read(rest, &authority) || hf_fail(err, "%s", allowed);
}

/* Headers that we set ourselves, or that would break the framing. Not `Host`: behind a tunnel it is
 * the only way to name the server. */
static bool is_our_header(const char *name)
{
    static const char *const ours[] = {
        "Accept",
        "Accept-Encoding",
        "Connection",
        "Content-Length",
        "Content-Type",
        "Expect",
        "Keep-Alive",
        "Last-Event-ID",
        "MCP-Protocol-Version",
        "Mcp-Method",
        "Mcp-Name",
        "Mcp-Session-Id",
        "Proxy-Connection",
        "TE",
        "Trailer",
        "Transfer-Encoding",
        "Upgrade",
    };
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        if (hf_fold_same(hf_span_of(name), hf_span_of(ours[i])))
            return true;
    return hf_fold_starts(hf_span_of(name), HF_SPAN("mcp-param-"));
}

bool hf_check_header_name(const char *text, struct hf_err *err)
{
    for (const char *c = text; *c; c++) {
        const bool is_letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
        if (!is_letter && !(*c >= '0' && *c <= '9') && !strchr("!#$%&'*+-.^_`|~", *c))
            return hf_fail(err, "the name of a header is made of letters, digits and "
                                "!#$%%&'*+-.^_`|~");
    }
    return !is_our_header(text) || hf_fail(err, "this header is holdfast's own to set");
}

bool hf_check_header_value(const char *text, struct hf_err *err)
{
    if (!*text)
        return hf_fail(err, "the value of a header is empty");
    for (; *text; text++)
        if (((unsigned char)*text < ' ' && *text != '\t') || *text == 0x7f)
            return hf_fail(err, "the value of a header holds a line break or another control "
                                "character");
    return true;
}

/* ---- the HTTP front ---- */

bool hf_check_listen(const char *text, struct hf_err *err)
{
    struct hf_listen listen;
    return hf_listen_read(text, &listen, err);
}

bool hf_check_host(const char *text, struct hf_err *err)
{
    struct hf_authority authority;
    const bool is_glob = strpbrk(text, "*?") != NULL;
    const bool good =
        is_glob ? text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789._-:[]*?")] == '\0'
                : hf_authority_read(hf_span_of(text), &authority);
    return good || hf_fail(err, "a host looks like mcp.example.com, mcp.example.com:8443 or "
                                "*.example.com, without http://");
}

bool hf_check_origin(const char *text, struct hf_err *err)
{
    struct hf_url url;
    if (strcmp(text, "*") == 0)
        return true;
    return (hf_url_read(hf_span_of(text), &url, NULL) && url.rest.n == 0) ||
           hf_fail(err, "an origin looks like https://app.example.com or http://localhost:3000, "
                        "without a path; \"*\" is any");
}

bool hf_check_network(const char *text, struct hf_err *err)
{
    struct hf_network network;
    return hf_network_read(hf_span_of(text), &network) ||
           hf_fail(err, "a proxy is an address or a network: 192.0.2.7, 10.0.0.0/8, 2001:db8::/32");
}

bool hf_check_token_name(const char *text, struct hf_err *err)
{
    bool is_plain = *text && strlen(text) <= TOKEN_NAME_MAX; /* the name is in logs and metrics */
    for (; *text; text++)
        is_plain = is_plain && *text > ' ' && *text <= '~' && !strchr("\"\\", *text);
    return is_plain || hf_fail(err,
                               "the name of a token has 1 to %d visible ASCII characters, and "
                               "no quotes and backslashes among them",
                               TOKEN_NAME_MAX);
}
