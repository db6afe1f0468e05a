/* method.c - see method.h. */
#include "core/machine/method.h"
#include <assert.h>
#include "wire/json.h"

#define ROW(id, name, only_reads)                                                                  \
    [HF_METHOD_##id] = { HF_METHOD_##id, name, sizeof name - 1, only_reads }
static const struct hf_method methods[HF_METHOD_COUNT] = {
    ROW(UNKNOWN, "", false),
    ROW(INITIALIZE, "initialize", false),
    ROW(PING, "ping", true),
    ROW(TOOLS_LIST, "tools/list", true),
    ROW(PROMPTS_LIST, "prompts/list", true),
    ROW(RESOURCES_LIST, "resources/list", true),
    ROW(TEMPLATES_LIST, "resources/templates/list", true),
    ROW(TOOLS_CALL, "tools/call", false),
    ROW(PROMPTS_GET, "prompts/get", true),
    ROW(RESOURCES_READ, "resources/read", true),
    ROW(SUBSCRIBE, "resources/subscribe", false),
    ROW(UNSUBSCRIBE, "resources/unsubscribe", false),
    ROW(COMPLETE, "completion/complete", true),
    ROW(SET_LEVEL, "logging/setLevel", false),
    ROW(DISCOVER, "server/discover", true),
    ROW(LISTEN, "subscriptions/listen", false),
    ROW(TASKS_LIST, "tasks/list", true),
    ROW(TASKS_GET, "tasks/get", true),
    ROW(TASKS_UPDATE, "tasks/update", false),
    ROW(TASKS_CANCEL, "tasks/cancel", false),
    ROW(TASKS_RESULT, "tasks/result", true),
    ROW(SAMPLING, "sampling/createMessage", false),
    ROW(ELICITATION, "elicitation/create", false),
    ROW(ROOTS, "roots/list", false),
    ROW(INITIALIZED, "notifications/initialized", false),
    ROW(CANCELLED, "notifications/cancelled", false),
    ROW(PROGRESS, "notifications/progress", false),
    ROW(MESSAGE, "notifications/message", false),
    ROW(TOOLS_CHANGED, "notifications/tools/list_changed", false),
    ROW(PROMPTS_CHANGED, "notifications/prompts/list_changed", false),
    ROW(RESOURCES_CHANGED, "notifications/resources/list_changed", false),
    ROW(RESOURCE_UPDATED, "notifications/resources/updated", false),
    ROW(ROOTS_CHANGED, "notifications/roots/list_changed", false),
    ROW(LISTENS, "notifications/subscriptions/acknowledged", false),
};

const struct hf_method *hf_method_find(struct hf_span name)
{
    for (int id = HF_METHOD_UNKNOWN + 1; id < HF_METHOD_COUNT; id++)
        if (hf_span_eq(name, (struct hf_span) { methods[id].name, methods[id].length }))
            return &methods[id];
    return &methods[HF_METHOD_UNKNOWN];
}

const struct hf_method *hf_method(enum hf_method_id id)
{
    assert(id < HF_METHOD_COUNT);
    return &methods[id];
}

static const char *const levels[] = { "debug", "info",     "notice", "warning",
                                      "error", "critical", "alert",  "emergency" };

int hf_level_of(struct hf_span raw_string)
{
    for (int i = 0; i < (int)(sizeof levels / sizeof *levels); i++)
        if (hf_json_string_is(raw_string, hf_span_of(levels[i])))
            return i;
    return -1;
}

const char *hf_level_name(int level)
{
    assert(level >= 0 && level < (int)(sizeof levels / sizeof *levels));
    return levels[level];
}

#define SPAN(text)                                                                                 \
    {                                                                                              \
        text, sizeof text - 1                                                                      \
    }
#define TRAITS(id, member, list, changed, capability, key)                                         \
    { SPAN(member), HF_METHOD_##list, HF_METHOD_##changed, SPAN(capability), SPAN(key) },
static const struct hf_part_traits parts[] = { HF_PARTS(TRAITS) };

const struct hf_part_traits *hf_part_traits(enum hf_part_id part)
{
    assert(part < HF_PART_COUNT);
    return &parts[part];
}
