/* main.c - finds the command and runs it. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "command.h"

static const struct command *const commands[] = { &command_run,    &command_stdio, &command_serve,
                                                  &command_bridge, &command_check, &command_token,
                                                  &command_version };
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static bool asks_for_help(const char *word)
{
    return !strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help");
}

static void print_overview(FILE *to)
{
    fprintf(to,
            "holdfast keeps MCP servers connected and gives every tool call one truthful answer.\n"
            "\nUsage:\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(to, "  %-44s %s\n", commands[i]->usage, commands[i]->summary);
    fprintf(to, "\n`holdfast COMMAND --help` tells more about one of them.\n");
}

static int run_command(const struct command *command, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            printf("%s\n    %s\n\n%s", command->usage, command->summary, command->help);
            if (command->takes_options)
                printf("\n%s", hf_options_text());
            return EXIT_WELL;
        }
    return command->run(argc, argv);
}

/* A descriptor that we open must never become somebody's stdin, stdout or stderr by accident. */
static void fill_missing_descriptors(void)
{
    for (int fd = open("/dev/null", O_RDWR); fd >= 0; fd = open("/dev/null", O_RDWR))
        if (fd > STDERR_FILENO) {
            (void)close(fd);
            return;
        }
}

int main(int argc, char **argv)
{
    fill_missing_descriptors();
    if (argc < 2) {
        print_overview(stderr);
        return EXIT_USAGE;
    }
    if (asks_for_help(argv[1])) {
        print_overview(stdout);
        return EXIT_WELL;
    }
    const char *name = !strcmp(argv[1], "--version") ? "version" : argv[1];
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (!strcmp(commands[i]->name, name))
            return run_command(commands[i], argc - 1, argv + 1);
    const char *names[COMMAND_COUNT + 1] = { NULL };
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        names[i] = commands[i]->name;
    const char *near = hf_did_you_mean(argv[1], names);
    if (near)
        fprintf(stderr, "holdfast: there is no command \"%s\"; did you mean `holdfast %s`?\n",
                argv[1], near);
    else
        fprintf(stderr, "holdfast: there is no command \"%s\"; `holdfast --help` lists them\n",
                argv[1]);
    return EXIT_USAGE;
}
