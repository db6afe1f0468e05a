/* access.c - see access.h. */
#include "front/access.h"
#include "base/fold.h"
#include "base/glob.h"
#include "base/strings.h"
#include "base/url.h"

enum { AUTHORITY_MAX = 255 + 6 }; /* a host and ":65535" */

struct hf_access {
    char **hosts, **origins;
    struct hf_token *tokens;
    size_t token_count;
    struct hf_network *trusted;
    size_t trusted_count;
    bool is_unix, is_tls;
    char *address; /* what we listen on, as a URL has it: "127.0.0.1", "[::1]"; NULL: nothing yet */
    int port;
    /* The last Host that was found to be ours, as it was written. Clients write theirs in one way,
     * so that few have to be read. */
    char known[AUTHORITY_MAX];
    size_t known_length; /* 0: none yet */
};

/* ---- lifetime ---- */

struct hf_access *hf_access_new(char *const *hosts, char *const *origins)
{
    struct hf_access *access = hf_new(struct hf_access);
    access->hosts = hf_strings_copy(hosts);
    access->origins = hf_strings_copy(origins);
    return access;
}

void hf_access_add_token(struct hf_access *access, const char *name,
                         const uint8_t hash[HF_SHA256_SIZE], struct hf_policy *policy,
                         enum hf_errors_as errors_as)
{
    access->tokens = hf_realloc(access->tokens, (access->token_count + 1) * sizeof *access->tokens);
    struct hf_token *token = &access->tokens[access->token_count++];
    *token =
        (struct hf_token) { .name = hf_strdup(name), .policy = policy, .errors_as = errors_as };
    memcpy(token->hash, hash, sizeof token->hash);
}

void hf_access_set_limits(struct hf_access *access, const struct hf_token_limits *limits)
{
    access->tokens[access->token_count - 1].limits = *limits;
}

void hf_access_trust(struct hf_access *access, char *const *proxies)
{
    for (; proxies && *proxies; proxies++) {
        struct hf_network network;
        if (!hf_network_read(hf_span_of(*proxies), &network)) /* the options were checked before */
            continue;
        access->trusted =
            hf_realloc(access->trusted, (access->trusted_count + 1) * sizeof *access->trusted);
        access->trusted[access->trusted_count++] = network;
    }
}

void hf_access_set_url(struct hf_access *access, const char *text)
{
    struct hf_url url;
    hf_free(access->address);
    access->address = NULL;
    access->known_length = 0;
    access->is_unix = hf_span_starts(hf_span_of(text), HF_SPAN("unix:"));
    if (access->is_unix || !hf_url_read(hf_span_of(text), &url, NULL))
        return;
    access->is_tls = hf_span_is(url.scheme, "https");
    access->address = hf_span_dup(url.authority.host);
    access->port = url.authority.port >= 0 ? url.authority.port : hf_scheme_port(url.scheme);
}

void hf_access_free(struct hf_access *access)
{
    if (!access)
        return;
    for (size_t i = 0; i < access->token_count; i++) {
        hf_free(access->tokens[i].name);
        hf_policy_unref(access->tokens[i].policy);
    }
    hf_free(access->tokens);
    hf_strings_free(access->hosts);
    hf_strings_free(access->origins);
    hf_free(access->trusted);
    hf_free(access->address);
    hf_free(access);
}

/* ---- hosts ---- */

/* A Host, or the part of an Origin after its scheme. */
struct place {
    char text[AUTHORITY_MAX]; /* in lower case */
    size_t length;
    struct hf_authority authority; /* in text */
};

static bool read_place(struct hf_span from, struct place *ret)
{
    if (from.n == 0 || from.n > sizeof ret->text)
        return false;
    for (size_t i = 0; i < from.n; i++)
        ret->text[i] = hf_lower(from.p[i]);
    ret->length = from.n;
    return hf_authority_read((struct hf_span) { ret->text, from.n }, &ret->authority);
}

static int port_of(const struct place *place, int usual)
{
    return place->authority.port >= 0 ? place->authority.port : usual;
}

static bool matches(const struct hf_access *access, const struct place *place, const char *pattern)
{
    const int port = place->authority.port;
    return hf_glob(pattern, (struct hf_span) { place->text, place->length }) ||
           ((port < 0 || port == access->port) && hf_glob(pattern, place->authority.host));
}

/* `usual` is the port of the scheme, for text without one. */
static bool is_ours(const struct hf_access *access, const struct place *place, int usual,
                    bool by_any_name)
{
    static const char *const local[] = { "localhost", "127.0.0.1", "[::1]" };
    const struct hf_span host = place->authority.host;
    bool is_here = access->address && hf_span_is(host, access->address);
    for (size_t i = 0; i < sizeof local / sizeof local[0]; i++)
        is_here = is_here || hf_span_is(host, local[i]);
    if (is_here && port_of(place, usual) == access->port)
        return true;
    for (size_t i = 0; access->hosts[i]; i++)
        if ((by_any_name || strcmp(access->hosts[i], "*") != 0) &&
            matches(access, place, access->hosts[i]))
            return true;
    return false;
}

/* ---- origins ---- */

static bool is_listed(const struct hf_access *access, struct hf_span origin)
{
    for (size_t i = 0; access->origins[i]; i++) {
        const struct hf_span listed = hf_span_of(access->origins[i]);
        if (hf_span_is(listed, "*") || hf_fold_is(origin, listed))
            return true;
    }
    return false;
}

static bool is_good_origin(const struct hf_access *access, const struct place *host,
                           struct hf_span origin)
{
    struct hf_url url;
    struct place place;
    if (is_listed(access, origin))
        return true;
    if (!hf_url_read(origin, &url, NULL) || url.rest.n > 0 || hf_scheme_port(url.scheme) < 0)
        return false;
    const int usual = hf_scheme_port(url.scheme);
    if (!read_place(hf_span_from(origin, url.scheme.n + 3), &place))
        return false;
    if (host && hf_span_eq(place.authority.host, host->authority.host) &&
        port_of(&place, usual) == port_of(host, usual))
        return true;
    return !access->is_unix && is_ours(access, &place, usual, false);
}

static bool is_known(const struct hf_access *access, struct hf_span host)
{
    return host.n > 0 && host.n == access->known_length &&
           memcmp(host.p, access->known, host.n) == 0;
}

static void set_known(struct hf_access *access, struct hf_span host)
{
    memcpy(access->known, host.p, host.n);
    access->known_length = host.n;
}

enum hf_admission hf_access_place(struct hf_access *access, struct hf_span host,
                                  struct hf_span origin)
{
    struct place place;
    if (!origin.p && is_known(access, host))
        return HF_ADMITTED;
    const bool is_host = read_place(host, &place);
    if (!access->is_unix && !(is_host && is_ours(access, &place, access->is_tls ? 443 : 80, true)))
        return HF_BAD_HOST;
    if (is_host && !access->is_unix)
        set_known(access, host);
    return !origin.p || is_good_origin(access, is_host ? &place : NULL, origin) ? HF_ADMITTED
                                                                                : HF_BAD_ORIGIN;
}

/* ---- tokens ---- */

/* The token after "Bearer "; p == NULL: the header is something else. */
static struct hf_span bearer(struct hf_span authorization)
{
    const struct hf_span scheme = HF_SPAN("bearer ");
    if (!hf_fold_starts(authorization, scheme))
        return (struct hf_span) { NULL, 0 };
    struct hf_span token = hf_span_from(authorization, scheme.n);
    while (token.n > 0 && token.p[0] == ' ')
        token = hf_span_from(token, 1);
    return token;
}

const struct hf_token *hf_access_find(const struct hf_access *access,
                                      const uint8_t hash[HF_SHA256_SIZE])
{
    const struct hf_token *found = NULL;
    for (size_t i = 0; i < access->token_count; i++) {
        const bool same = hf_digest_same(hash, access->tokens[i].hash);
        found = same ? &access->tokens[i] : found;
    }
    return found;
}

enum hf_admission hf_access_token(const struct hf_access *access, struct hf_span authorization,
                                  const struct hf_token **ret_token)
{
    uint8_t digest[HF_SHA256_SIZE];
    const struct hf_span given = bearer(authorization);
    *ret_token = NULL;
    if (access->token_count == 0)
        return HF_ADMITTED;
    if (!given.p)
        return HF_NO_TOKEN;
    hf_sha256(given, digest);
    *ret_token = hf_access_find(access, digest);
    return *ret_token ? HF_ADMITTED : HF_WRONG_TOKEN;
}

enum hf_admission hf_access_decide(struct hf_access *access, const struct hf_http_head *head,
                                   const struct hf_token **ret_token)
{
    *ret_token = NULL;
    if (head->counts[HF_HTTP_ORIGIN] > 1)
        return HF_BAD_ORIGIN;
    const enum hf_admission place = hf_access_place(access, hf_http_header(head, HF_HTTP_HOST),
                                                    hf_http_header(head, HF_HTTP_ORIGIN));
    if (place != HF_ADMITTED)
        return place;
    if (access->token_count > 0 && head->counts[HF_HTTP_AUTHORIZATION] > 1)
        return HF_WRONG_TOKEN;
    return hf_access_token(access, hf_http_header(head, HF_HTTP_AUTHORIZATION), ret_token);
}

bool hf_access_needs_token(const struct hf_access *access)
{
    return access->token_count > 0;
}

const struct hf_token *hf_access_next_token(const struct hf_access *access,
                                            const struct hf_token *before)
{
    const size_t at = before ? (size_t)(before - access->tokens) + 1 : 0;
    return at < access->token_count ? &access->tokens[at] : NULL;
}

/* ---- addresses ---- */

static bool is_trusted(const struct hf_access *access, const struct hf_address *address)
{
    for (size_t i = 0; i < access->trusted_count; i++)
        if (hf_network_has(&access->trusted[i], address))
            return true;
    return false;
}

/* Cuts the last word off a list with commas. */
static struct hf_span take_last(struct hf_span *list)
{
    const char *comma = list->n ? memrchr(list->p, ',', list->n) : NULL;
    struct hf_span word = comma ? hf_span_from(*list, (size_t)(comma - list->p) + 1) : *list;
    list->n = comma ? (size_t)(comma - list->p) : 0;
    while (word.n && (word.p[0] == ' ' || word.p[0] == '\t'))
        word = hf_span_from(word, 1);
    while (word.n && (word.p[word.n - 1] == ' ' || word.p[word.n - 1] == '\t'))
        word.n--;
    return word;
}

/* Sets `*address` to the last hop that is no trusted proxy, or to the first hop of all. At a word
 * that is no address the search ends, with the hop after it. */
static void follow(const struct hf_access *access, const struct hf_http_head *head,
                   struct hf_address *address)
{
    for (size_t i = head->header_count; i-- > 0;) {
        if (!hf_fold_is(head->headers[i].name, HF_SPAN("x-forwarded-for")))
            continue;
        struct hf_span list = head->headers[i].value;
        while (list.n) {
            struct hf_address hop;
            if (!hf_address_read(take_last(&list), &hop))
                return;
            *address = hop;
            if (!is_trusted(access, &hop))
                return;
        }
    }
}

bool hf_access_address(const struct hf_access *access, const struct hf_address *peer,
                       const struct hf_http_head *head, struct hf_address *ret)
{
    if (!peer)
        return false;
    *ret = *peer;
    if (is_trusted(access, ret)) {
        if (!head)
            return false;
        follow(access, head, ret);
    }
    return !is_trusted(access, ret) && !hf_address_is_loopback(ret);
}

/* ---- refusals ---- */

int hf_admission_status(enum hf_admission admission)
{
    if (admission == HF_ADMITTED)
        return 200;
    return admission == HF_NO_TOKEN || admission == HF_WRONG_TOKEN ? 401 : 403;
}

const char *hf_admission_text(enum hf_admission admission)
{
    static const char *const texts[] = {
        [HF_ADMITTED] = "welcome",
        [HF_BAD_HOST] = "the Host of this request is no name of this holdfast; further names are "
                        "listed in holdfast.hosts",
        [HF_BAD_ORIGIN] = "web pages of this Origin are not allowed; allowed ones are listed in "
                          "holdfast.origins",
        [HF_NO_TOKEN] = "a token is needed: Authorization: Bearer TOKEN",
        [HF_WRONG_TOKEN] = "the token is not known here",
        [HF_UNDECIDED] = "it is not decided yet",
    };
    return texts[admission];
}
