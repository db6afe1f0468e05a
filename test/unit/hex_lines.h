/* hex_lines.h - texts in hex, one per line of stdin: how the differential tests hand them over. */
#ifndef HF_TEST_HEX_LINES_H
#define HF_TEST_HEX_LINES_H

#include <stdio.h>
#include <stdlib.h>
#include "base/span.h"

static inline int hex_value(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

static inline int each_hex_line(void (*judge)(struct hf_span text))
{
    char *line = NULL;
    size_t cap = 0;
    for (ssize_t n; (n = getline(&line, &cap, stdin)) > 0;) {
        const size_t length = (size_t)(n - 1) / 2;
        for (size_t i = 0; i < length; i++)
            line[i] = (char)(hex_value(line[2 * i]) << 4 | hex_value(line[2 * i + 1]));
        judge((struct hf_span) { line, length });
    }
    free(line);
    return 0;
}

#endif
