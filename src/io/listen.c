/* listen.c - see listen.h. */
#include "io/listen.h"
#include <arpa/inet.h>
#include <stdio.h>
#include "base/url.h"

static const char allowed[] =
    "an address to listen on looks like 127.0.0.1:7332, [::1]:7332 or unix:PATH";

static bool read_unix(const char *path, struct hf_listen *ret, struct hf_err *err)
{
    if (!*path)
        return hf_fail(err, "%s", allowed);
    if (strlen(path) >= sizeof ret->address)
        return hf_fail(err, "the path of a socket has at most %zu bytes", sizeof ret->address - 1);
    *ret = (struct hf_listen) { .is_unix = true, .is_loopback = true };
    memcpy(ret->address, path, strlen(path) + 1);
    return true;
}

static bool read_ipv4(const char *text, struct hf_listen *ret)
{
    struct in_addr a;
    if (inet_pton(AF_INET, text, &a) != 1)
        return false;
    ret->is_loopback = ntohl(a.s_addr) >> 24 == 127;
    return inet_ntop(AF_INET, &a, ret->address, sizeof ret->address) != NULL;
}

static bool read_ipv6(const char *text, struct hf_listen *ret)
{
    struct in6_addr a;
    if (inet_pton(AF_INET6, text, &a) != 1)
        return false;
    ret->is_ipv6 = true;
    ret->is_loopback =
        IN6_IS_ADDR_LOOPBACK(&a) || (IN6_IS_ADDR_V4MAPPED(&a) && a.s6_addr[12] == 127);
    return inet_ntop(AF_INET6, &a, ret->address, sizeof ret->address) != NULL;
}

bool hf_listen_read(const char *text, struct hf_listen *ret, struct hf_err *err)
{
    struct hf_authority a;
    struct hf_listen found = { 0 };
    char host[HF_LISTEN_ADDRESS_MAX];
    if (hf_span_starts(hf_span_of(text), HF_SPAN("unix:")))
        return read_unix(text + 5, ret, err);
    if (!hf_authority_read(hf_span_of(text), &a) || a.host.n >= sizeof host)
        return hf_fail(err, "%s", allowed);
    if (a.port < 0)
        return hf_fail(err, "it has no port; %s", allowed);

    const bool is_literal = a.host.p[0] == '[';
    if (is_literal)
        a.host = (struct hf_span) { a.host.p + 1, a.host.n - 2 };
    else if (hf_span_is(a.host, "localhost"))
        a.host = HF_SPAN("127.0.0.1");
    (void)snprintf(host, sizeof host, "%.*s", HF_FMT(a.host));
    if (is_literal ? !read_ipv6(host, &found) : !read_ipv4(host, &found))
        return hf_fail(err, "names are not looked up; %s", allowed);
    found.port = (uint16_t)a.port;
    *ret = found;
    return true;
}
