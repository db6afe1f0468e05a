/*
 * state_dir.h - the directory in which holdfast keeps files between its runs.
 *
 * --state-dir or `stateDir`, else $HOLDFAST_STATE_DIR, else $XDG_STATE_HOME/holdfast, else
 * ~/.local/state/holdfast. It is made when it is first needed, for its owner alone; a directory of
 * another user is not used.
 */
#ifndef HF_OPS_STATE_DIR_H
#define HF_OPS_STATE_DIR_H

#include "base/err.h"
#include "ops/config.h"

enum { HF_STATE_PATH_SIZE = 4096 };

/* Finds its path. `given` is that of the option, or NULL. False: none of the above is set. */
HF_MUST_CHECK bool hf_state_dir_find(const char *given, hf_getenv env, void *env_context,
                                     char ret_path[HF_STATE_PATH_SIZE], struct hf_err *err);
/* Makes the directory and its missing parents, with mode 0700. */
HF_MUST_CHECK bool hf_state_dir_make(const char *path, struct hf_err *err);
/* The path of a file in it: `kind-NAME.ending`, or `kind.ending` if `name` is NULL. Characters that
 * do not belong in a file's name become "_". */
HF_MUST_CHECK bool hf_state_dir_file(const char *directory, const char *kind, const char *name,
                                     const char *ending, char ret_path[HF_STATE_PATH_SIZE],
                                     struct hf_err *err);

#endif
