/* policy.h - what a client may see and use, by its token. */
#ifndef HF_CORE_CLIENT_POLICY_H
#define HF_CORE_CLIENT_POLICY_H

#include <stdbool.h>
#include "base/filter.h"
#include "base/span.h"

struct hf_server;

struct hf_policy {
    unsigned refs;
    struct hf_filter servers; /* by their names; only ever `allow` */
    struct hf_filter names;   /* server__name of tools and prompts */
};

/* `own_name`: the server's own name of a tool or prompt, as plain text and not as JSON. */
bool hf_policy_allows(const struct hf_policy *policy, const struct hf_server *server,
                      struct hf_span own_name);

#endif
