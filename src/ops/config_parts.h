/*
 * config_parts.h - functions of ops/config.c for the parser of the file. Private to ops/config*.c.
 */
#ifndef HF_OPS_CONFIG_PARTS_H
#define HF_OPS_CONFIG_PARTS_H

#include "ops/config.h"

enum { HF_CONFIG_SERVERS_MAX = 1000, HF_CONFIG_NAME_MAX = 128 };

/* Whether one more server may have this name: not too long, not in use, and with a prefix of its
 * own. */
HF_MUST_CHECK bool hf_config_name_check(const struct hf_config *config, const char *name,
                                        struct hf_err *err);
/* A new last server with the config's defaults; the pointer is valid until the next call. */
struct hf_server_config *hf_config_add_server(struct hf_config *config, const char *name);

/* Sets the options of the command line for one server, or for the process. */
HF_MUST_CHECK bool hf_config_override_server(const struct hf_config *config,
                                             struct hf_server_config *server, struct hf_err *err);
HF_MUST_CHECK bool hf_config_override_process(struct hf_config *config, struct hf_err *err);

#endif
