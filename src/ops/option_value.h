/*
 * option_value.h - moves the value of one option: from JSON or the command line into its field,
 * from field to field, out of it.
 *
 * `root` is the struct that the row's offset belongs to. Each field owns its memory; zeroed memory
 * is a valid empty value, so a fresh struct may be filled row by row.
 *
 * 1. A value that is refused leaves the field as it was.
 * 2. Setting replaces the old value; in PAIRS only members of the same name are replaced.
 */
#ifndef HF_OPS_OPTION_VALUE_H
#define HF_OPS_OPTION_VALUE_H

#include "base/err.h"
#include "ops/config.h"
#include "ops/options.h"

enum { HF_OPTION_ITEMS_MAX = 1000, HF_OPTION_STRING_MAX = 128 * 1024 - 1 };

/* Variables for options that expand. If a string of a server cannot be expanded, or is wrong
 * afterwards, the first such mistake is written to `problem` (owned by the caller): it concerns the
 * server, not the file. Outside a server, with `refuses`, it refuses the file. */
struct hf_option_variables {
    hf_getenv env;
    void *env_context;
    bool refuses;
    char *problem;
};

/* What is wrong with a value, and with which part of it. */
struct hf_option_fault {
    const char *at; /* in the JSON text */
    char item[80];  /* "", "[2]" or ".NAME" */
    char text[320];
};

/* `json` is checked text. Without `variables` nothing expands. */
HF_MUST_CHECK bool hf_option_set(const struct hf_option *option, void *root, struct hf_span json,
                                 struct hf_option_variables *variables,
                                 struct hf_option_fault *ret_fault);
void hf_option_set_initial(const struct hf_option *option, void *root);

/* The JSON for a value of the command line; false if it cannot be one. */
HF_MUST_CHECK bool hf_option_json_of_text(const struct hf_option *option, const char *text,
                                          struct hf_buf *ret_json, struct hf_err *err);

/* The end of the name in NAME=VALUE on the command line; headers may also be NAME: VALUE. NULL: the
 * text has no such form. */
const char *hf_option_cut(const struct hf_option *option, const char *text);

/* The type of a JSON value in words: "an array", "null". */
const char *hf_option_kind_of(struct hf_span json);

void hf_option_copy(const struct hf_option *option, void *to_root, const void *from_root);
bool hf_option_same(const struct hf_option *option, const void *a_root, const void *b_root);
void hf_option_clear(const struct hf_option *option, void *root); /* back to zeroed */

#endif
