/* cmd_stdio.c - `holdfast stdio`: many servers behind one client. */
#include <stdio.h>
#include "command.h"

static int run(int argc, char **argv)
{
    struct line line;
    int code = EXIT_USAGE;
    if (line_read(&line, "stdio", argc, argv)) {
        if (line.command || line.name)
            fprintf(stderr, "holdfast stdio: takes its servers from -c FILE; "
                            "`holdfast run -- CMD` takes one from the command line\n");
        else if (!line_read_file(&line, "stdio"))
            code = EXIT_FAILED;
        else
            code = serve_stdio(&line, NULL, "stdio");
    }
    line_done(&line);
    return code;
}

const struct command command_stdio = {
    .name = "stdio",
    .usage = "holdfast stdio [-c FILE] [OPTIONS]",
    .summary = "the servers of a config file, over stdio",
    .help =
        "Starts every server of the `mcpServers` object in FILE and offers them to the client on\n"
        "stdin and stdout under names like server__tool. One server's trouble is not another's.\n"
        "Without -c the file is $XDG_CONFIG_HOME/holdfast/config.json. SIGHUP reads it again and\n"
        "touches only what changed.\n",
    .takes_options = true,
    .run = run,
};
