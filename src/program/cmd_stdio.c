/* cmd_stdio.c - `holdfast stdio`: many servers behind one client. */
#include "command.h"

static int run(int argc, char **argv)
{
    struct command_line line;
    int code = EXIT_USAGE;
    if (command_line_read(&line, "stdio", argc, argv) && command_line_is_plain(&line, "stdio"))
        code = command_line_read_file(&line, "stdio") ? serve_stdio(&line, NULL, "stdio")
                                                      : EXIT_FAILED;
    command_line_done(&line);
    return code;
}

const struct command command_stdio = {
    .name = "stdio",
    .usage = "holdfast stdio [-c FILE] [OPTIONS]",
    .summary = "the servers of a config file, over stdio",
    .help =
        "Starts every server of the `mcpServers` object in FILE and offers them to the client on\n"
        "stdin and stdout under names like server__tool. A server that fails does not affect the\n"
        "others. Without -c the file is $XDG_CONFIG_HOME/holdfast/config.json. SIGHUP reads it\n"
        "again and changes only the servers whose entries changed.\n",
    .example = "    holdfast stdio -c servers.json --start lazy\n",
    .own_options = OPTION_FILE,
    .takes_options = true,
    .run = run,
};
