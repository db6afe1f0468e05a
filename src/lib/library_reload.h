/*
 * library_reload.h - what a reload changed, for the log: servers and tokens by name.
 */
#ifndef HF_LIB_LIBRARY_RELOAD_H
#define HF_LIB_LIBRARY_RELOAD_H

#include "base/buf.h"
#include "lib/library_log.h"
#include "ops/config.h"

enum hf_reload_part {
    HF_RELOAD_ADDED,
    HF_RELOAD_REMOVED,
    HF_RELOAD_CHANGED,
    HF_RELOAD_UNCHANGED,
    HF_RELOAD_TOKENS_ADDED,
    HF_RELOAD_TOKENS_REMOVED,
    HF_RELOAD_TOKENS_CHANGED, /* same name, another secret or other rights */
    HF_RELOAD_PART_COUNT,
};

struct hf_library_reload {
    struct hf_buf names[HF_RELOAD_PART_COUNT]; /* "a, b" */
};

/* The tokens in use, as far as a later reload is compared with them. Without secrets. */
struct hf_library_tokens {
    char **names, **prints; /* NULL-terminated; `prints` differ where anything of a token does */
};

void hf_library_tokens_keep(struct hf_library_tokens *tokens, const struct hf_config *config);
void hf_library_tokens_done(struct hf_library_tokens *tokens);

void hf_library_reload_init(struct hf_library_reload *reload);
void hf_library_reload_add(struct hf_library_reload *reload, enum hf_reload_part part,
                           const char *name);
/* Adds what differs from `tokens`, and keeps those of the config in their place. */
void hf_library_reload_tokens(struct hf_library_reload *reload, struct hf_library_tokens *tokens,
                              const struct hf_config *config);
/* The tokens of before stay, since the new config has none and other machines can connect. */
void hf_library_reload_keeps_tokens(struct hf_library_log *log);
/* Writes the entry, and frees what was collected. */
void hf_library_reload_done(struct hf_library_reload *reload, struct hf_library_log *log);

#endif
