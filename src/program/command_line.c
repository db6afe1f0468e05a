/* command_line.c - command lines: `holdfast COMMAND [WORD] [-c FILE] [--OPTION VALUE]… [-- CMD…]`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "command.h"

static bool complain(const char *who, const char *what, const char *which)
{
    const char *last = *which ? which : what;
    const bool asks = last[strlen(last) - 1] == '?';
    fprintf(stderr, "holdfast %s: %s%s%s `holdfast %s --help` tells more\n", who, what, which,
            asks ? "" : ";", who);
    return false;
}

/* Options that are no keys of the file; of two that are equally close the first is suggested. */
static const char *const own_options[] = { "--config", "--name", "--help", "--header", "-c", NULL };

static bool is_known(const char *option)
{
    for (size_t i = 0; own_options[i]; i++)
        if (!strcmp(own_options[i], option))
            return true;
    return hf_config_knows(option + 2, NULL);
}

/* False, with a message, for an option of other commands. */
static bool is_of_command(const char *who, const char *option)
{
    static const char *const others[] = { "run", "bridge", "stdio", "serve" };
    if (!hf_config_knows(option + 2, NULL) || hf_config_knows(option + 2, who))
        return true;
    fprintf(stderr, "holdfast %s: it has no %s, which is for", who, option);
    for (size_t i = 0, n = 0; i < sizeof others / sizeof others[0]; i++)
        if (hf_config_knows(option + 2, others[i]))
            fprintf(stderr, "%s `holdfast %s`", n++ ? " and" : "", others[i]);
    fprintf(stderr, "\n");
    return false;
}

/* What other programs call an option of ours. */
static const char *ours_for(const char *who, const char *option)
{
    static const struct {
        const char *theirs, *key, *ours;
    } rows[] = {
        { "--port", "listen", "--listen 127.0.0.1:PORT" },
        { "--host", "listen", "--listen ADDRESS:PORT" },
        { "--timeout", "call-timeout-ms", "--call-timeout-ms" },
        { "--verbose", "log-level", "--log-level debug" },
        { "--debug", "log-level", "--log-level debug" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (!strcmp(rows[i].theirs, option) && hf_config_knows(rows[i].key, who))
            return rows[i].ours;
    return NULL;
}

static void say_unknown(const char *who, const char *option)
{
    char error[HF_ERROR_SIZE];
    const char *closest = ours_for(who, option);
    if (!closest)
        closest = hf_did_you_mean(option, own_options);
    if (closest) {
        fprintf(stderr, "holdfast %s: there is no option %s; did you mean %s?\n", who, option,
                closest);
        return;
    }
    struct hf_config *unused = hf_config_new();
    if (!hf_config_set(unused, option + 2, "", error)) /* its error names the closest option */
        complain(who, error, "");
    hf_config_free(unused);
}

/* "--wait-ms 5000" and "--wait-ms=5000" are the same. Returns how many words were used, 0 if wrong.
 */
static int read_option(struct command_line *line, const char *who, char **argv)
{
    char option[128], error[HF_ERROR_SIZE];
    const char *equals = strchr(argv[0], '=');
    const size_t length = equals ? (size_t)(equals - argv[0]) : strlen(argv[0]);
    const char *value = equals ? equals + 1 : argv[1];
    (void)snprintf(option, sizeof option, "%.*s", (int)length, argv[0]);
    if (!strcmp(option, "--header"))
        (void)snprintf(option, sizeof option, "--headers");
    if (!is_known(option)) {
        say_unknown(who, option);
        return 0;
    }
    if (!is_of_command(who, option))
        return 0;
    if (!value) {
        complain(who, "there is no value after ", option);
        return 0;
    }
    const bool is_header = !strcmp(option, "--headers");
    if (!strcmp(option, "-c") || !strcmp(option, "--config")) {
        line->file = value;
    } else if (!strcmp(option, "--name")) {
        line->name = value;
    } else if (is_header ? !hf_config_header(line->config, value, error)
                         : !hf_config_set(line->config, option + 2, value, error)) {
        fprintf(stderr, "holdfast %s: %s\n", who, error);
        return 0;
    }
    return equals ? 1 : 2;
}

bool command_line_read(struct command_line *line, const char *who, int argc, char **argv)
{
    *line = (struct command_line) { .config = hf_config_new(), .argc = argc, .argv = argv };
    for (int i = 1; i < argc;) {
        if (!strcmp(argv[i], "--")) {
            line->command = argv + i + 1;
            return true;
        }
        const bool is_option = !strcmp(argv[i], "-c") || !strncmp(argv[i], "--", 2);
        if (!is_option && (line->word || argv[i][0] == '-'))
            return complain(who, "what is meant by ", argv[i]);
        if (!is_option)
            line->word = argv[i];
        const int used = is_option ? read_option(line, who, argv + i) : 1;
        if (used == 0)
            return false;
        i += used;
    }
    return true;
}

bool command_line_is_plain(const struct command_line *line, const char *who)
{
    if (line->word)
        return complain(who, "what is meant by ", line->word);
    return !(line->command || line->name) ||
           complain(who, "takes its servers from -c FILE, and not ",
                    line->name ? "--name" : "a command");
}

void command_line_done(struct command_line *line)
{
    hf_config_free(line->config);
}

static const char *usual_file(char *room, size_t size)
{
    const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (base && *base)
        (void)snprintf(room, size, "%s/holdfast/config.json", base);
    else if (home && *home)
        (void)snprintf(room, size, "%s/.config/holdfast/config.json", home);
    else
        return NULL;
    return room;
}

const char *command_line_find_file(const struct command_line *line, const char *who,
                                   char room[CONFIG_PATH_SIZE])
{
    const char *file = line->file ? line->file : usual_file(room, CONFIG_PATH_SIZE);
    if (!file)
        complain(who, "there is no -c FILE and no HOME to look for one in", "");
    else if (!line->file && access(file, F_OK) != 0)
        fprintf(stderr, "holdfast %s: there is no -c FILE, and no %s either\n", who, file);
    else
        return file;
    return NULL;
}

bool command_line_read_file(struct command_line *line, const char *who)
{
    char room[CONFIG_PATH_SIZE], error[HF_ERROR_SIZE];
    const char *file = command_line_find_file(line, who, room);
    if (!file)
        return false;
    if (hf_config_read_file(line->config, file, error))
        return true;
    fprintf(stderr, "holdfast %s: %s: %s\n", who, file, error);
    return false;
}
