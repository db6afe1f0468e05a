/* strings.c - see strings.h. */
#include "base/strings.h"
#include <string.h>
#include "base/mem.h"

char **hf_strings_new(void)
{
    return hf_new_array(char *, 1);
}

void hf_strings_free(char **list)
{
    for (size_t i = 0; list && list[i]; i++)
        hf_free(list[i]);
    hf_free(list);
}

size_t hf_strings_count(char *const *list)
{
    size_t n = 0;
    while (list && list[n])
        n++;
    return n;
}

void hf_strings_add(char ***list, char *owned)
{
    const size_t n = hf_strings_count(*list);
    *list = hf_realloc(*list, (n + 2) * sizeof **list);
    (*list)[n] = owned;
    (*list)[n + 1] = NULL;
}

char **hf_strings_copy(char *const *list)
{
    const size_t n = hf_strings_count(list);
    char **copy = hf_new_array(char *, n + 1);
    for (size_t i = 0; i < n; i++)
        copy[i] = hf_strdup(list[i]);
    return copy;
}

bool hf_strings_same(char *const *a, char *const *b)
{
    const size_t n = hf_strings_count(a);
    if (n != hf_strings_count(b))
        return false;
    for (size_t i = 0; i < n; i++)
        if (strcmp(a[i], b[i]) != 0)
            return false;
    return true;
}

char hf_prefix_char(char c)
{
    const bool stays = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-';
    return stays ? c : '_';
}
