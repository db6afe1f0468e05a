/* policy.h - what a client may see and use, by its token. */
#ifndef HF_CORE_CLIENT_POLICY_H
#define HF_CORE_CLIENT_POLICY_H

#include <stdbool.h>
#include "base/filter.h"
#include "base/span.h"

struct hf_item;
struct hf_server;

struct hf_policy {
    unsigned refs;
    struct hf_filter servers; /* by their names; only ever `allow` */
    struct hf_filter names;   /* server__name of tools, prompts, resources and templates; URIs */
};

/* `own_name`: the server's own name of a tool or prompt, as plain text and not as JSON. */
bool hf_policy_allows(const struct hf_policy *policy, const struct hf_server *server,
                      struct hf_span own_name);
/* A resource or a template of the server. */
bool hf_policy_allows_resource(const struct hf_policy *policy, const struct hf_server *server,
                               const struct hf_item *item);
/* A URI that the server may be asked for, listed or not; or a template. */
bool hf_policy_allows_uri(const struct hf_policy *policy, const struct hf_server *server,
                          struct hf_span raw_uri);

#endif
