/* cmd_check.c - `holdfast check`: what is wrong with a config file, before anything is started. */
#include <stdio.h>
#include "command.h"

static void say(void *context, const char *text)
{
    (void)context;
    printf("%s\n", text);
}

static int run(int argc, char **argv)
{
    struct line line;
    int code = EXIT_USAGE;
    if (line_read(&line, "check", argc, argv) && line_is_plain(&line, "check")) {
        const bool is_good =
            line_read_file(&line, "check") && hf_config_check(line.config, say, NULL) == 0;
        code = is_good ? EXIT_WELL : EXIT_FAILED;
    }
    line_done(&line);
    return code;
}

const struct command command_check = {
    .name = "check",
    .usage = "holdfast check [-c FILE]",
    .summary = "say what is wrong with a config file",
    .help = "Reads FILE as `holdfast stdio` would and prints one line for each server: ok, "
            "disabled, or\n"
            "why it cannot start. Ends with 1 if the file or one of its servers has a problem.\n",
    .takes_options = true,
    .run = run,
};
