/* json_verdict.c - one text in hex per line in, "accept" or "reject" per line out; for
 * test/e2e/json_differential.test.mjs. */
#include "wire/json.h"
#include <stdio.h>
#include <stdlib.h>

static int hex_value(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

int main(void)
{
    char *line = NULL;
    size_t cap = 0;
    for (ssize_t n; (n = getline(&line, &cap, stdin)) > 0;) {
        const size_t length = (size_t)(n - 1) / 2;
        for (size_t i = 0; i < length; i++)
            line[i] = (char)(hex_value(line[2 * i]) << 4 | hex_value(line[2 * i + 1]));
        puts(hf_json_check((struct hf_span) { line, length }, 512, NULL) ? "accept" : "reject");
    }
    free(line);
    return 0;
}
