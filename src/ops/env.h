/*
 * env.h - the environment of a server's process: the usual variables, what `inheritEnv` adds, its
 * own `env` over both.
 *
 * Our own HOLDFAST_* variables are never passed on, whatever inheritEnv says; a server gets such a
 * variable only if its own `env` names it.
 */
#ifndef HF_OPS_ENV_H
#define HF_OPS_ENV_H

#include "ops/config.h"

char **hf_env_build(const struct hf_server_config *server, char *const *our_environ);
void hf_env_free(char **env);

#endif
