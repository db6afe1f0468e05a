/*
 * config_plain.h - the comments and trailing commas that people have in their files, blanked out.
 *
 * What is left has the same length and the same lines, so every place in it is a place in the file.
 * Text that is JSON already comes out as it went in. The parser of the wire stays strict: only a
 * config file goes through here.
 */
#ifndef HF_OPS_CONFIG_PLAIN_H
#define HF_OPS_CONFIG_PLAIN_H

#include "base/span.h"

/* In `text`, in place: // and block comments, and a comma between an item and its closing bracket,
 * become spaces. A block comment that does not end stays, for the parser to point at. */
void hf_config_plain(char *text, size_t length);

#endif
