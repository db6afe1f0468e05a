/* cmd_run.c - `holdfast run`: one server over stdio, no config. */
#include <stdio.h>
#include "command.h"

static int run(int argc, char **argv)
{
    struct command_line line;
    char error[HF_ERROR_SIZE];
    int code = EXIT_USAGE;
    if (command_line_read(&line, "run", argc, argv)) {
        if (line.word)
            fprintf(stderr,
                    "holdfast run: what is meant by %s? The command comes after --, as in "
                    "holdfast run -- CMD ARGS…\n",
                    line.word);
        else if (!line.command || !line.command[0])
            fprintf(stderr, "holdfast run: which server? holdfast run -- CMD ARGS…\n");
        else if (line.file)
            fprintf(stderr, "holdfast run: takes no -c FILE; `holdfast stdio -c FILE` does\n");
        else if (!hf_config_command(line.config, line.name, line.command, error))
            fprintf(stderr, "holdfast run: %s\n", error);
        else
            code = serve_stdio(&line, hf_config_server_name(line.config, 0), "run");
    }
    command_line_done(&line);
    return code;
}

const struct command command_run = {
    .name = "run",
    .usage = "holdfast run [--name N] [OPTIONS] -- CMD...",
    .summary = "one server over stdio, kept alive",
    .help =
        "Starts CMD as an MCP server and stands between it and the client on stdin and stdout.\n"
        "The client keeps its connection and its tools while the server crashes and restarts;\n"
        "every call gets one truthful answer, and none is run twice. Names pass unchanged, and\n"
        "the server gets holdfast's whole environment. Without --name it is named after what CMD\n"
        "starts: `npx -y @scope/server-foo` is a server-foo.\n",
    .example = "    holdfast run -- npx -y @modelcontextprotocol/server-everything\n"
               "    holdfast run --env TOKEN=x --wait-ms 5000 -- python3 -m my_server\n",
    .own_options = OPTION_NAME,
    .takes_options = true,
    .run = run,
};
