/*
 * options_doc.c - prints docs/OPTIONS.md from the option table; with --check FILE it only says
 * whether that file is what it would print.
 */
#include <stdio.h>
#include <string.h>
#include "base/buf.h"
#include "ops/options.h"

static bool is_same(const char *path, struct hf_span page)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return false;
    }
    struct hf_buf found;
    hf_buf_init(&found, 1 << 20);
    while (hf_buf_reserve(&found, 4096)) {
        const size_t n = fread(found.p + found.end, 1, 4096, file);
        found.end += n;
        if (n == 0)
            break;
    }
    fclose(file);
    const bool same = hf_span_eq(hf_buf_span(&found), page);
    if (!same)
        fprintf(stderr, "%s is not what the option table says: make it anew\n", path);
    hf_buf_done(&found);
    return same;
}

int main(int argc, char **argv)
{
    struct hf_buf page;
    hf_buf_init(&page, 1 << 20);
    hf_options_markdown(&page);
    bool good = true;
    if (argc == 3 && strcmp(argv[1], "--check") == 0)
        good = is_same(argv[2], hf_buf_span(&page));
    else if (argc == 1)
        good = fwrite(page.p + page.start, hf_buf_len(&page), 1, stdout) == 1;
    else
        fprintf(stderr, "usage: options_doc [--check FILE]\n");
    hf_buf_done(&page);
    return argc == 1 || argc == 3 ? !good : 2;
}
