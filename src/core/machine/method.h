/*
 * method.h - the MCP methods that we treat in a way of their own, as one table.
 *
 * What is not in it is unknown to us: passed through where there is one server, refused by name
 * where there are many.
 */
#ifndef HF_CORE_METHOD_H
#define HF_CORE_METHOD_H

#include <stdbool.h>
#include "base/span.h"

enum hf_method_id {
    HF_METHOD_UNKNOWN,
    HF_METHOD_INITIALIZE,
    HF_METHOD_PING,
    HF_METHOD_TOOLS_LIST,
    HF_METHOD_PROMPTS_LIST,
    HF_METHOD_RESOURCES_LIST,
    HF_METHOD_TEMPLATES_LIST,
    HF_METHOD_TOOLS_CALL,
    HF_METHOD_PROMPTS_GET,
    HF_METHOD_RESOURCES_READ,
    HF_METHOD_SUBSCRIBE,
    HF_METHOD_UNSUBSCRIBE,
    HF_METHOD_COMPLETE,
    HF_METHOD_SET_LEVEL,
    HF_METHOD_DISCOVER,
    HF_METHOD_LISTEN,
    HF_METHOD_TASKS_LIST,
    HF_METHOD_TASKS_GET,
    HF_METHOD_TASKS_UPDATE,
    HF_METHOD_TASKS_CANCEL,
    HF_METHOD_TASKS_RESULT,
    /* towards clients */
    HF_METHOD_SAMPLING,
    HF_METHOD_ELICITATION,
    HF_METHOD_ROOTS,
    /* notifications */
    HF_METHOD_INITIALIZED,
    HF_METHOD_CANCELLED,
    HF_METHOD_PROGRESS,
    HF_METHOD_MESSAGE,
    HF_METHOD_TOOLS_CHANGED,
    HF_METHOD_PROMPTS_CHANGED,
    HF_METHOD_RESOURCES_CHANGED,
    HF_METHOD_RESOURCE_UPDATED,
    HF_METHOD_ROOTS_CHANGED,
    HF_METHOD_LISTENS, /* the server acknowledges a subscription */
    HF_METHOD_COUNT,
};

struct hf_method {
    enum hf_method_id id;
    const char *name;
    size_t length;   /* bytes of the name */
    bool only_reads; /* repeatable although dispatched (DESIGN 4) */
};

/* Never NULL: an unknown name has the row HF_METHOD_UNKNOWN. */
const struct hf_method *hf_method_find(struct hf_span name);
const struct hf_method *hf_method(enum hf_method_id id);

/* The log levels of MCP, from debug (0) to emergency. */
int hf_level_of(struct hf_span raw_string); /* -1: no level that we know */
const char *hf_level_name(int level);

/* The lists that make up a server's catalog. */
#define HF_PARTS(X) /* id, member, list method, list_changed, capability, what names an item */    \
    X(TOOLS, "tools", TOOLS_LIST, TOOLS_CHANGED, "tools", "name")                                  \
    X(PROMPTS, "prompts", PROMPTS_LIST, PROMPTS_CHANGED, "prompts", "name")                        \
    X(RESOURCES, "resources", RESOURCES_LIST, RESOURCES_CHANGED, "resources", "uri")               \
    X(TEMPLATES, "resourceTemplates", TEMPLATES_LIST, RESOURCES_CHANGED, "resources", "uriTemplate")
#define HF_PART_ENUM(id, ...) HF_PART_##id,
enum hf_part_id { HF_PARTS(HF_PART_ENUM) HF_PART_COUNT };

struct hf_part_traits {
    struct hf_span member;
    enum hf_method_id list, changed;
    struct hf_span capability;
    struct hf_span key; /* the member of an item that names it */
};
const struct hf_part_traits *hf_part_traits(enum hf_part_id part);

#endif
