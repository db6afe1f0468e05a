/* log_level.c - the log level that clients set, and what servers are told of it: a server that
 * several clients share is told the lowest of their levels. */
#include "core/client/log_level.h"
#include "core/call/call.h"
#include "core/client/audience.h"
#include "core/outbox.h"
#include "core/server/handshake.h"
#include "core/state/runtime.h"
#include "core/state/session.h"

void hf_session_set_level(struct hf_session *session, int level)
{
    if (session->level >= 0)
        session->audience->levels[session->level]--;
    session->level = level;
    if (level >= 0)
        session->audience->levels[level]++;
}

int hf_audiences_lowest_level(const struct hf_server *server)
{
    int lowest = -1;
    const struct hf_audience *audience;
    HF_LIST_EACH (audience, &server->engine->audiences, struct hf_audience, link) {
        for (int i = 0; i < HF_LEVEL_COUNT && (lowest < 0 || i < lowest); i++)
            if (audience->levels[i] && hf_audience_sees(audience, server))
                lowest = i;
    }
    return lowest;
}

void hf_log_level_restore(struct hf_runtime *runtime)
{
    const struct hf_session *owner = runtime->slot->owner;
    const int level = owner ? owner->level : hf_audiences_lowest_level(runtime->server);
    if (level < 0 || !runtime->has_logging || hf_runtime_is_renewing(runtime) || runtime->is_modern)
        return;
    struct hf_buf params = hf_draft();
    hf_buf_printf(&params, "{\"level\":\"%s\"}", hf_level_name(level));
    (void)hf_call_ours(runtime, &hf_restore_owner, hf_method(HF_METHOD_SET_LEVEL),
                       hf_buf_span(&params));
    hf_buf_done(&params);
}
