/*
 * command.h - one command of the program: a const struct, one per cmd_*.c.
 *
 * Exit: 0 well, 1 failed or `check` found something, 2 wrong usage.
 */
#ifndef HF_PROGRAM_COMMAND_H
#define HF_PROGRAM_COMMAND_H

#include <stdbool.h>
#include "holdfast/holdfast.h"

enum { EXIT_WELL = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* Lines of --help, aligned with those of the option table. */
#define OPTION_FILE "  -c, --config <file>                   the config file\n"
#define OPTION_NAME                                                                                \
    "  --name <name>                         what the server is called in logs and errors\n"

struct command {
    const char *name, *usage, *summary;
    const char *help;        /* paragraphs printed under the usage by `holdfast NAME --help` */
    const char *example;     /* lines to type, each indented by four */
    const char *own_options; /* lines for options that are no keys of the file; NULL: none */
    bool takes_options;      /* keys of the file as options: `--help` lists the common ones */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name */
};

extern const struct command command_run, command_stdio, command_serve, command_bridge,
    command_check, command_token, command_version;

/* ---- for commands with options ---- */

struct command_line {
    struct hf_config *config;
    const char *file; /* -c FILE */
    const char *name; /* --name N */
    const char *word; /* the one argument that is no option */
    char **command;   /* after "--", ended by NULL */
    int argc;         /* the whole command line: a reload reads it again */
    char **argv;
};

/* Options into `config`; what is wrong is said on stderr and false returned. Free with
 * command_line_done.
 */
bool command_line_read(struct command_line *line, const char *who, int argc, char **argv);
/* Whether there is nothing but -c FILE and options; if not, it says so on stderr. */
bool command_line_is_plain(const struct command_line *line, const char *who);
void command_line_done(struct command_line *line);
/* The file of -c, else the default one; NULL after a message that there is none. */
enum { CONFIG_PATH_SIZE = 4096 };
const char *command_line_find_file(const struct command_line *line, const char *who,
                                   char room[CONFIG_PATH_SIZE]);
/* Reads that file into the config. */
bool command_line_read_file(struct command_line *line, const char *who);

/* Serves stdin and stdout until the client has gone or a signal comes. `server` NULL: all servers
 * of the file, which SIGHUP reads again. */
int serve_stdio(const struct command_line *line, const char *server, const char *who);
/* Serves HTTP until a signal comes; SIGHUP reads the file again. `on_listening` is called with the
 * URL, `on_settled` when each server is connected or has failed once, or after some seconds. */
struct serving {
    const struct hf_config *config;
    struct hf *hf;
    char url[HF_ERROR_SIZE];
};
int serve_http(const struct command_line *line, const char *who,
               void (*on_listening)(const struct serving *serving),
               void (*on_settled)(const struct serving *serving));

#endif
