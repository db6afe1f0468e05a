/*
 * state_dir.h - the one directory in which holdfast keeps things between its runs.
 *
 * What was given (--state-dir, `stateDir`), else $HOLDFAST_STATE_DIR, else
 * $XDG_STATE_HOME/holdfast, else ~/.local/state/holdfast. It is made when it is first needed, for
 * its owner alone; one that belongs to somebody else is not used.
 */
#ifndef HF_OPS_STATE_DIR_H
#define HF_OPS_STATE_DIR_H

#include "base/err.h"
#include "ops/config.h"

enum { HF_STATE_PATH_SIZE = 4096 };

/* Which one. `given` may be NULL. False if nothing says where. */
HF_MUST_CHECK bool hf_state_dir_find(const char *given, hf_getenv env, void *env_context,
                                     char ret_path[HF_STATE_PATH_SIZE], struct hf_err *err);
/* Makes it and what is missing above it, with mode 0700. */
HF_MUST_CHECK bool hf_state_dir_make(const char *path, struct hf_err *err);
/* A file in it: `kind-NAME.ending`, or `kind.ending` if `name` is NULL. What a file should not be
 * called by becomes "_". */
HF_MUST_CHECK bool hf_state_dir_file(const char *directory, const char *kind, const char *name,
                                     const char *ending, char ret_path[HF_STATE_PATH_SIZE],
                                     struct hf_err *err);

#endif
