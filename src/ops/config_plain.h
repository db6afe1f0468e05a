/*
 * config_plain.h - replaces comments and trailing commas of a config file with spaces.
 *
 * The result has the same length and the same lines, so every position in it is a position in the
 * file. Text that is JSON already does not change. Only config files go through here: the parser of
 * messages stays strict.
 */
#ifndef HF_OPS_CONFIG_PLAIN_H
#define HF_OPS_CONFIG_PLAIN_H

#include "base/span.h"

/* In `text`, in place: // and block comments, and a comma between an item and its closing bracket,
 * become spaces. A block comment that does not end stays, for the parser to point at. */
void hf_config_plain(char *text, size_t length);

#endif
