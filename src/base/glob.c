/* glob.c - see glob.h. */
#include "base/glob.h"

/* The position after one UTF-8 character; bytes that are no UTF-8 count one by one. */
static size_t after_character(struct hf_span name, size_t at)
{
    at++;
    while (at < name.n && ((unsigned char)name.p[at] & 0xc0) == 0x80)
        at++;
    return at;
}

bool hf_glob(const char *pattern, struct hf_span name)
{
    /* Only the last star ever needs another try: whatever an earlier one could still take, the
     * last one can take as well. */
    const char *after_star = NULL;
    size_t at = 0, star_end = 0;

    while (at < name.n) {
        if (*pattern == '*') {
            after_star = ++pattern;
            star_end = at;
        } else if (*pattern == '?') {
            pattern++;
            at = after_character(name, at);
        } else if (*pattern && *pattern == name.p[at]) {
            pattern++;
            at++;
        } else if (after_star) {
            pattern = after_star;
            at = star_end = after_character(name, star_end);
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

bool hf_glob_any(char *const *patterns, struct hf_span text)
{
    for (size_t i = 0; patterns && patterns[i]; i++)
        if (hf_glob(patterns[i], text))
            return true;
    return false;
}
