/*
 * option_checks.h - checks of strings, for the rows of the option table that name them.
 *
 * `err` says what is allowed, and never quotes the string: URLs and headers hold secrets.
 */
#ifndef HF_OPS_OPTION_CHECKS_H
#define HF_OPS_OPTION_CHECKS_H

#include "base/err.h"

bool hf_check_variable_name(const char *text, struct hf_err *err);
bool hf_check_path(const char *text, struct hf_err *err); /* not empty; nothing is opened */

/* ---- remote servers ---- */

bool hf_check_url(const char *text, struct hf_err *err);
bool hf_check_proxy(const char *text, struct hf_err *err); /* "": no proxy */
bool hf_check_header_name(const char *text, struct hf_err *err);
bool hf_check_header_value(const char *text, struct hf_err *err);

/* ---- the HTTP front ---- */

bool hf_check_listen(const char *text, struct hf_err *err);
bool hf_check_host(const char *text, struct hf_err *err);    /* host, host:port, or a glob */
bool hf_check_network(const char *text, struct hf_err *err); /* 192.0.2.7, 10.0.0.0/8 */
bool hf_check_origin(const char *text, struct hf_err *err);  /* scheme://host[:port], or "*" */
bool hf_check_token_name(const char *text, struct hf_err *err);

#endif
