/* cmd_bridge.c - `holdfast bridge`: a remote server for a client that speaks stdio only. */
#include <stdio.h>
#include "command.h"

static int run(int argc, char **argv)
{
    struct command_line line;
    char error[HF_ERROR_SIZE];
    int code = EXIT_USAGE;
    if (command_line_read(&line, "bridge", argc, argv)) {
        if (!line.word || line.command)
            fprintf(stderr, "holdfast bridge: which server? holdfast bridge URL\n");
        else if (line.file)
            fprintf(stderr, "holdfast bridge: takes no -c FILE; `holdfast stdio -c FILE` does\n");
        else if (!hf_config_url(line.config, line.name, line.word, error))
            fprintf(stderr, "holdfast bridge: %s\n", error);
        else
            code = serve_stdio(&line, hf_config_server_name(line.config, 0), "bridge");
    }
    command_line_done(&line);
    return code;
}

const struct command command_bridge = {
    .name = "bridge",
    .usage = "holdfast bridge URL [OPTIONS]",
    .summary = "a remote server over stdio",
    .help =
        "Connects to the MCP server at URL and stands between it and the client on stdin and\n"
        "stdout, as `holdfast run` does for a command: the client keeps its connection and its\n"
        "tools while the server is redeployed or forgets its sessions. Names pass unchanged.\n"
        "\n"
        "--headers 'Name: value' may be repeated; ${VAR} in its value is replaced, so that a "
        "secret\n"
        "can stay in the environment. Without --name the server is named after its host.\n",
    .example = "    holdfast bridge https://wiki.example.com/mcp \\\n"
               "        --headers 'Authorization: Bearer ${WIKI_TOKEN}'\n",
    .own_options = OPTION_NAME,
    .takes_options = true,
    .run = run,
};
