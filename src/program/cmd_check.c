/* cmd_check.c - `holdfast check`: what is wrong with a config file, before anything is started. */
#include <stdio.h>
#include "command.h"

static void say(void *context, const char *text)
{
    (void)context;
    printf("%s\n", text);
}

/* hf_config_check reports all mistakes, so the error of hf_config_read_file is not printed. */
static int check(struct command_line *line)
{
    char room[CONFIG_PATH_SIZE], error[HF_ERROR_SIZE];
    const char *file = command_line_find_file(line, "check", room);
    if (!file)
        return EXIT_FAILED;
    printf("%s\n", hf_plain_text(file, error));
    const bool is_read = hf_config_read_file(line->config, file, error);
    const bool is_good = hf_config_check(line->config, say, NULL) == 0 && is_read;
    return is_good && fflush(stdout) == 0 ? EXIT_WELL : EXIT_FAILED;
}

static int run(int argc, char **argv)
{
    struct command_line line;
    int code = EXIT_USAGE;
    if (command_line_read(&line, "check", argc, argv)) {
        if (line.file && line.word) {
            fprintf(stderr, "holdfast check: one file at a time: %s, or -c %s\n", line.word,
                    line.file);
        } else {
            line.file = line.word ? line.word : line.file;
            line.word = NULL;
            code = command_line_is_plain(&line, "check") ? check(&line) : EXIT_USAGE;
        }
    }
    command_line_done(&line);
    return code;
}

const struct command command_check = {
    .name = "check",
    .usage = "holdfast check [FILE] [OPTIONS]",
    .summary = "say what is wrong with a config file",
    .help =
        "Reads FILE as `holdfast stdio` and `holdfast serve` would, and prints every error in it\n"
        "with its line, and one line for each server: ok, disabled, or why it cannot start.\n"
        "Ends with 1 if the file or one of its servers has a problem. Without FILE it is\n"
        "$XDG_CONFIG_HOME/holdfast/config.json.\n",
    .example = "    holdfast check servers.json\n",
    .own_options = OPTION_FILE,
    .takes_options = true,
    .run = run,
};
