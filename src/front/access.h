/*
 * access.h - which HTTP requests are admitted, decided from the head of the request alone.
 *
 * Three questions, in this order: does the request name us (Host), does it come from a web page of
 * another site (Origin), and whose is it (a bearer token)? The first two keep out web pages that a
 * browser on this machine shows: names of theirs that resolve to our address (DNS rebinding), and
 * requests that their reader did not ask for. Does no I/O. Owns copies of its arguments.
 *
 * 1. A Host is ours if it is localhost, 127.0.0.1, [::1] or the address we listen on, with our port
 *    (none, if ours is what the scheme means), or matches one of `hosts`: as host:port, or as host
 *    with no port or with ours. On a unix socket any Host is good: no client gets there by a name.
 * 2. An Origin is good if there is none, if it is the Host of this request, if it would be a good
 *    Host, or if it is one of `origins`. A "*" in `hosts` makes no Origin good.
 * 3. Looking for a token takes the same time wherever it stands in the list, and if it is not
 * there.
 * 4. The address of a client is the peer's, or, if that is a trusted proxy, the last address in
 *    X-Forwarded-For that is no trusted proxy: what stands before it, any client could have
 * written.
 */
#ifndef HF_FRONT_ACCESS_H
#define HF_FRONT_ACCESS_H

#include "base/sha256.h"
#include "base/span.h"
#include "core/engine.h"
#include "io/address.h"
#include "wire/http_head.h"

struct hf_access;

struct hf_token {
    char *name;
    uint8_t hash[HF_SHA256_SIZE];
    struct hf_policy *policy; /* NULL: everything is allowed */
    enum hf_errors_as errors_as;
    struct hf_token_limits limits;
};

enum hf_admission {
    HF_ADMITTED,
    HF_BAD_HOST,
    HF_BAD_ORIGIN,
    HF_NO_TOKEN,
    HF_WRONG_TOKEN,
    HF_UNDECIDED, /* the authorizer will decide; never returned by functions of this file */
};

/* Lists that end in NULL: `hosts` are globs in lower case, `origins` exact or "*". */
struct hf_access *hf_access_new(char *const *hosts, char *const *origins);
/* Takes `policy` over. Once there is a token, every request needs one. */
void hf_access_add_token(struct hf_access *access, const char *name,
                         const uint8_t hash[HF_SHA256_SIZE], struct hf_policy *policy,
                         enum hf_errors_as errors_as);
/* Of the token that was added last. */
void hf_access_set_limits(struct hf_access *access, const struct hf_token_limits *limits);
/* Proxies whose X-Forwarded-For is believed: addresses and networks, a list that ends in NULL. */
void hf_access_trust(struct hf_access *access, char *const *proxies);
/* Where we listen, as hf_http_server_url has it. Call it before the first decision. */
void hf_access_set_url(struct hf_access *access, const char *url);
void hf_access_free(struct hf_access *access); /* NULL accepted */

/* All three questions; a request with two Host, Origin or Authorization headers is refused. The
 * token is NULL if none is needed or the request is refused; it lives as long as `access`. */
enum hf_admission hf_access_decide(struct hf_access *access, const struct hf_http_head *head,
                                   const struct hf_token **ret_token);
/* Only Host and Origin. A header that is not there has p == NULL. */
enum hf_admission hf_access_place(struct hf_access *access, struct hf_span host,
                                  struct hf_span origin);
/* Only the token. */
enum hf_admission hf_access_token(const struct hf_access *access, struct hf_span authorization,
                                  const struct hf_token **ret_token);
/* The token of that hash, or NULL. */
const struct hf_token *hf_access_find(const struct hf_access *access,
                                      const uint8_t hash[HF_SHA256_SIZE]);
bool hf_access_needs_token(const struct hf_access *access);
/* The token after `before`; the first one if that is NULL. NULL: there is none. */
const struct hf_token *hf_access_next_token(const struct hf_access *access,
                                            const struct hf_token *before);
/* The address of the client. `head` NULL: as far as it is known before there is one. `peer` NULL: a
 * unix socket. False: the address does not tell clients apart: it is this machine, a unix socket or
 * a proxy. */
bool hf_access_address(const struct hf_access *access, const struct hf_address *peer,
                       const struct hf_http_head *head, struct hf_address *ret);

/* The status of a refusal, 403 or 401, and a sentence that says what to do. */
int hf_admission_status(enum hf_admission admission);
const char *hf_admission_text(enum hf_admission admission);

#endif
