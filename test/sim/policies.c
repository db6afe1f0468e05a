/* policies.c - what clients may see and use, by their tokens; written down twice: as globs for the
 * engine, and as plain conditions for the checks. */
#include "sim.h"

static const struct {
    const char *const *servers, *const *allow, *const *deny;
} globs[] = {
    { NULL, NULL, NULL },
    { (const char *const[]) { "alpha", "g*", NULL }, NULL, NULL },
    { NULL, NULL, (const char *const[]) { "*__idem", NULL } },
    { NULL, (const char *const[]) { "*__put", "alpha__*", NULL }, NULL },
    { (const char *const[]) { "b*", NULL }, (const char *const[]) { "*", NULL },
      (const char *const[]) { "beta__p*", NULL } },
};

static const char *policy_sentence(unsigned policy)
{
    static const char *const sentences[] = { "", "no beta", "no idem", "only put, and all of alpha",
                                             "only beta, and nothing that begins with p" };
    return sentences[policy];
}

bool policy_allows(const struct client *client, const struct instance *instance, const char *own)
{
    const int seat = instance->seat;
    switch (client->policy) {
    case 1: return seat != 1;
    case 2: return !own || strcmp(own, "idem") != 0;
    case 3: return !own || seat == 0 || strcmp(own, "put") == 0;
    case 4: return seat == 1 && (!own || own[0] != 'p');
    default: return true;
    }
}

void policy_give(struct sim *sim, struct client *client)
{
    client->policy = sim->is_run || !chance(sim, 20) ? 0 : 1 + below(sim, 4);
    if (client->only && !policy_allows(client, client->only, NULL))
        client->policy = 0; /* its front would not have let it in */
    if (!client->policy)
        return;
    TRACE(sim, "client %d has a policy: %s", (int)(client - sim->clients),
          policy_sentence(client->policy));
    struct hf_policy *policy = hf_policy_new(
        globs[client->policy].servers, globs[client->policy].allow, globs[client->policy].deny);
    hf_session_set_policy(client->session, policy);
    hf_policy_unref(policy);
}
