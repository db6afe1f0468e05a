/*
 * config_expand.h - ${NAME} in a string of the config.
 *
 *   ${NAME}        the variable; missing is an error
 *   ${env:NAME}    the same, as some clients write it
 *   ${NAME:-text}  `text` (up to the next brace) if the variable is unset or empty
 *   $${            a literal ${
 *
 * A '$' before anything else is only itself. The value of a variable is never expanded again. A
 * reference that only another program can resolve (${input:…} of VS Code) is an error that says
 * what to write.
 */
#ifndef HF_OPS_CONFIG_EXPAND_H
#define HF_OPS_CONFIG_EXPAND_H

#include "base/buf.h"
#include "base/err.h"
#include "ops/config.h"

/* Appends to `out`, whose maximum is the longest allowed result. `env` may be NULL: no variables.
 * An error names the variable, never a value. */
HF_MUST_CHECK bool hf_expand(struct hf_span text, hf_getenv env, void *env_context,
                             struct hf_buf *out, struct hf_err *err);

#endif
