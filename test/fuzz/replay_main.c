/*
 * replay_main.c - feeds every file of the given directories to a fuzz target, without a fuzzer.
 *
 * Prints TAP. A target that fails ends the process, and the missing plan tells the runner.
 */
#include "fuzz/fuzz.h"
#include <dirent.h>
#include <string.h>

static uint8_t *slurp(const char *path, size_t *ret_size)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        return NULL;
    const long size = ftell(file);
    if (size < 0)
        return NULL;
    rewind(file);
    /* Exactly as long as the file, so that the address sanitizer sees a read behind it. */
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
    *ret_size = data ? fread(data, 1, (size_t)size, file) : 0;
    (void)fclose(file);
    return data;
}

static int is_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int replay(const char *directory, int count)
{
    struct dirent **entries = NULL;
    const int n = scandir(directory, &entries, is_file, alphasort);
    if (n < 0)
        perror(directory);
    for (int i = 0; i < n; i++) {
        char path[4096];
        size_t size = 0;
        (void)snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name);
        uint8_t *data = slurp(path, &size);
        if (data)
            (void)LLVMFuzzerTestOneInput(data, size);
        printf("%sok %d - %s\n", data ? "" : "not ", ++count, entries[i]->d_name);
        (void)fflush(stdout);
        free(data);
        free(entries[i]);
    }
    free(entries);
    return count;
}

int main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++)
        count = replay(argv[i], count);
    printf("1..%d\n", count);
    return count > 0 ? 0 : 1;
}
