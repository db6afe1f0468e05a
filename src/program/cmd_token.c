/* cmd_token.c - `holdfast token`: a new bearer token for a client of `serve`, shown once. */
#include <stdio.h>
#include <string.h>
#include "command.h"

static bool read_name(int argc, char **argv, const char **ret_name)
{
    *ret_name = "client";
    if (argc == 3 && !strcmp(argv[1], "--name"))
        *ret_name = argv[2];
    else if (argc == 2 && !strncmp(argv[1], "--name=", 7))
        *ret_name = argv[1] + 7;
    else
        return argc == 1;
    return true;
}

static int run(int argc, char **argv)
{
    char token[HF_TOKEN_SIZE], entry[HF_ERROR_SIZE], error[HF_ERROR_SIZE];
    const char *name;
    if (!read_name(argc, argv, &name)) {
        fprintf(stderr, "holdfast token: takes only --name N\n");
        return EXIT_USAGE;
    }
    if (!hf_token_make(name, token, entry, error)) {
        fprintf(stderr, "holdfast token: %s\n", error);
        return EXIT_FAILED;
    }
    printf("%s\n"
           "\n"
           "This token is not stored and not shown again. Its client sends it with every request,\n"
           "in the header \"Authorization: Bearer TOKEN\". To admit it, put this entry into\n"
           "\"holdfast\": { \"tokens\": [ … ] } of the config file:\n"
           "\n"
           "  %s\n",
           token, entry);
    return fflush(stdout) == 0 ? EXIT_WELL : EXIT_FAILED;
}

const struct command command_token = {
    .name = "token",
    .usage = "holdfast token [--name N]",
    .summary = "make a token for a client of serve",
    .help =
        "Makes a random token and prints it once, with the entry for the config file that admits\n"
        "it. The file holds only its hash. In the entry, \"servers\": [\"pay*\"] limits the token "
        "to\n"
        "some servers, \"allow\" and \"deny\" to some of their tools, as server__tool.\n",
    .example = "    holdfast token --name ci\n",
    .own_options =
        "  --name <name>                         what the client is called in logs and metrics\n",
    .run = run,
};
