/* cmd_version.c - `holdfast version`. */
#include "command.h"
#include <stdio.h>
#include "holdfast/holdfast.h"

static int run(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        fprintf(stderr, "holdfast version: takes no arguments\n");
        return EXIT_USAGE;
    }
    printf("holdfast %s\n", hf_version());
    return EXIT_WELL;
}

const struct command command_version = {
    .name = "version",
    .usage = "holdfast version",
    .summary = "print the version",
    .help = "Prints the program's name and version on one line.\n",
    .example = "    holdfast version\n",
    .run = run,
};
