/* main.c - finds the command and runs it. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
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
            "\nCommands:\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(to, "  %-9s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(to, "\nIn front of one server:  holdfast run -- npx -y @scope/some-server\n"
                "`holdfast COMMAND --help` tells more about one of them.\n");
}

static int print_help(const struct command *command, bool all)
{
    size_t left_out = 0;
    printf("%s\n    %s\n\n%s\nExample:\n%s", command->usage, command->summary, command->help,
           command->example);
    const char *options =
        command->takes_options ? hf_options_text(command->name, all, &left_out) : "";
    if (command->own_options || *options)
        printf("\nOptions:\n%s%s", command->own_options ? command->own_options : "", options);
    if (left_out)
        printf("\n`holdfast %s --help all` lists %zu more.\n", command->name, left_out);
    return fflush(stdout) == 0 ? EXIT_WELL : EXIT_FAILED;
}

static int run_command(const struct command *command, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (!strcmp(argv[i], "--help=all"))
            return print_help(command, true);
        else if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            return print_help(command, argv[i + 1] && !strcmp(argv[i + 1], "all"));
    return command->run(argc, argv);
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (!strcmp(commands[i]->name, name))
            return commands[i];
    return NULL;
}

/* If one of 0, 1 and 2 is closed, the next file that we open must not become stdin, stdout or
 * stderr. */
static void fill_missing_descriptors(void)
{
    for (int fd = open("/dev/null", O_RDWR); fd >= 0; fd = open("/dev/null", O_RDWR))
        if (fd > STDERR_FILENO) {
            (void)close(fd);
            return;
        }
}

/* Our memory holds the tokens and headers of every server: no other process of this user may read
 * it, and it goes into no core dump. Processes that we start are not affected: execve undoes it.
 * Not with the leak sanitizer, which attaches to its own process, and not with HOLDFAST_DUMPABLE,
 * for debugging. */
static void keep_memory_private(void)
{
#ifndef HF_SANITIZED
    if (!getenv("HOLDFAST_DUMPABLE"))
        (void)prctl(PR_SET_DUMPABLE, 0);
#endif
}

static int say_unknown(const char *word)
{
    const char *names[COMMAND_COUNT + 2] = { NULL };
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        names[i] = commands[i]->name;
    names[COMMAND_COUNT] = "--help";
    const char *closest = hf_did_you_mean(word, names);
    if (closest)
        fprintf(stderr, "holdfast: there is no command \"%s\"; did you mean `holdfast %s`?\n", word,
                closest);
    else
        fprintf(stderr, "holdfast: there is no command \"%s\"; `holdfast --help` lists them\n",
                word);
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    keep_memory_private();
    fill_missing_descriptors();
    if (argc < 2) {
        print_overview(stderr);
        return EXIT_USAGE;
    }
    const struct command *command = find_command(argc > 2 ? argv[2] : "");
    if (asks_for_help(argv[1]) && command)
        return print_help(command, argc > 3 && !strcmp(argv[3], "all"));
    if (asks_for_help(argv[1]) && argc > 2 && strcmp(argv[2], "all") != 0)
        return say_unknown(argv[2]);
    if (asks_for_help(argv[1])) {
        print_overview(stdout);
        return EXIT_WELL;
    }
    command = find_command(!strcmp(argv[1], "--version") ? "version" : argv[1]);
    if (command)
        return run_command(command, argc - 1, argv + 1);
    return say_unknown(argv[1]);
}
