/*
 * strings.h - owned lists of strings that end in a NULL, as execve and people's configs have them.
 *
 * Made for lists of tens to a thousand: adding walks the list. A NULL list counts as an empty one.
 */
#ifndef HF_BASE_STRINGS_H
#define HF_BASE_STRINGS_H

#include <stdbool.h>
#include <stddef.h>

char **hf_strings_new(void); /* empty: one NULL */
void hf_strings_free(char **list);
char **hf_strings_copy(char *const *list);

void hf_strings_add(char ***list, char *owned); /* takes the string over */

size_t hf_strings_count(char *const *list);
bool hf_strings_same(char *const *a, char *const *b);

/* The character that stands for `c` in the prefix of a server's names: itself, or '_'. */
char hf_prefix_char(char c);

#endif
