/*
 * option_parts.h - what the files that set options share. Private to ops/option_*.c.
 */
#ifndef HF_OPS_OPTION_PARTS_H
#define HF_OPS_OPTION_PARTS_H

#include "ops/option_value.h"

struct hf_setting {
    const struct hf_option *option;
    void *root;
    struct hf_option_variables *variables;
    struct hf_option_fault *fault;
};

static inline void *hf_option_field(const struct hf_option *o, void *root)
{
    return (char *)root + o->at;
}

static inline const void *hf_option_field_const(const struct hf_option *o, const void *root)
{
    return (const char *)root + o->at;
}

/* Fills `fault` with what is wrong, and where in the text; returns false. */
bool hf_setting_refuse(struct hf_setting *s, const char *at, const char *format, ...)
    HF_PRINTF(3, 4);
bool hf_setting_wrong(struct hf_setting *s, struct hf_span value); /* "found …; allowed is …" */

/* The text of a string value, which the caller owns, or NULL after filling `fault`. Values may be
 * secrets, so only their JSON type is told. Names are not changed; other strings are expanded and
 * checked. */
char *hf_setting_name(struct hf_setting *s, struct hf_span value);
char *hf_setting_string(struct hf_setting *s, struct hf_span value);
/* The strings of an array, which the caller owns (an empty list if the value is no array), or NULL
 * after filling `fault`. */
char **hf_setting_strings(struct hf_setting *s, struct hf_span value);

/* ---- option_pairs.c ---- */

bool hf_setting_pairs(struct hf_setting *s, struct hf_span value);
void hf_pairs_copy(const struct hf_option *o, void *to_root, const void *from_root);
bool hf_pairs_same(const struct hf_option *o, const void *a_root, const void *b_root);
void hf_pairs_clear(const struct hf_option *o, void *root);

/* ---- option_tokens.c ---- */

bool hf_setting_tokens(struct hf_setting *s, struct hf_span value);
void hf_tokens_clear(const struct hf_option *o, void *root);

#endif
