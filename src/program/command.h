/*
 * command.h - one command of the program: a const struct, one per cmd_*.c.
 *
 * Exit: 0 well, 1 failed or `check` found something, 2 wrong usage.
 */
#ifndef HF_PROGRAM_COMMAND_H
#define HF_PROGRAM_COMMAND_H

enum { EXIT_WELL = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct command {
    const char *name, *usage, *summary;
    const char *help; /* paragraphs printed under the usage by `holdfast NAME --help` */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name */
};

extern const struct command command_version;

#endif
