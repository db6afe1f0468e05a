/* serve.c - the process around a front: signals, logs, and the end. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "command.h"

enum { SETTLE_MS = 5000, WORDS_MS = 500 };

struct reload {
    struct hf *hf;
    const struct command_line *line;
    const char *who;
};

/* A file with mistakes changes nothing: all servers go on, and a message says why. */
static void on_hangup(void *context)
{
    const struct reload *reload = context;
    struct command_line again;
    if (command_line_read(&again, reload->who, reload->line->argc, reload->line->argv) &&
        command_line_read_file(&again, reload->who))
        hf_reload(reload->hf, again.config);
    command_line_done(&again);
}

/* NULL after a message that says why. */
static struct hf *start(const struct command_line *line, const char *who)
{
    char error[HF_ERROR_SIZE];
    (void)signal(SIGPIPE, SIG_IGN);
    /* Processes that a killed guard leaves behind become our children, so that none outlives us. */
    hf_adopt_orphans();
    struct hf *hf = hf_open(line->config, error);
    if (hf && hf_log_to(hf, STDERR_FILENO, error))
        return hf;
    fprintf(stderr, "holdfast %s: %s\n", who, error);
    hf_close(hf);
    return NULL;
}

static void watch_signals(struct reload *reload, bool reloads)
{
    const char *who = reload->who;
    if (!hf_stop_on_signal(reload->hf, SIGTERM) || !hf_stop_on_signal(reload->hf, SIGINT))
        fprintf(stderr, "holdfast %s: signals cannot be watched; they end holdfast at once\n", who);
    if (reloads && !hf_on_signal(reload->hf, SIGHUP, on_hangup, reload))
        fprintf(stderr, "holdfast %s: SIGHUP cannot be watched; it will not reload the file\n",
                who);
}

static int stop(struct hf *hf, const char *who, bool served, const char *error)
{
    if (!served)
        fprintf(stderr, "holdfast %s: %s\n", who, error);
    hf_close(hf);
    return served ? EXIT_WELL : EXIT_FAILED;
}

int serve_stdio(const struct command_line *line, const char *server, const char *who)
{
    char error[HF_ERROR_SIZE];
    struct reload reload = { start(line, who), line, who };
    if (!reload.hf)
        return EXIT_FAILED;
    /* Many clients do not show what their servers write to stderr. */
    if (!hf_log_keep_as(reload.hf, line->config, who, server, error))
        fprintf(stderr, "holdfast %s: no log is kept in a file: %s\n", who, error);
    watch_signals(&reload, !server);
    const bool serves = hf_serve_stdio(reload.hf, server, STDIN_FILENO, STDOUT_FILENO, error);
    if (serves)
        hf_run(reload.hf);
    const bool has_failed = hf_has_failed(reload.hf); /* and said so in the log */
    const int code = stop(reload.hf, who, serves, error);
    return has_failed ? EXIT_FAILED : code;
}

static long clock_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool has_failed(struct hf *hf, const char *name)
{
    const char *reason = hf_reason(hf, name);
    return reason && *reason;
}

/* Each server is connected, idle, or has failed once. */
static bool is_settled(struct hf *hf, const struct hf_config *config)
{
    for (size_t i = 0; i < hf_config_server_count(config); i++) {
        const char *name = hf_config_server_name(config, i);
        const char *state = hf_state(hf, name);
        if (state && !strcmp(state, "connecting") && !has_failed(hf, name))
            return false;
    }
    return true;
}

/* A process may have exited before its stderr has been read. */
static bool has_last_words(struct hf *hf, const struct hf_config *config)
{
    for (size_t i = 0; i < hf_config_server_count(config); i++) {
        const char *name = hf_config_server_name(config, i);
        const char *words = hf_last_stderr(hf, name);
        if (has_failed(hf, name) && !hf_config_server_problem(config, i) && !(words && *words))
            return false;
    }
    return true;
}

/* Serves until the condition holds, but not for long: the rest of the banner waits for it. */
static void serve_until(bool (*is_so)(struct hf *, const struct hf_config *), struct hf *hf,
                        const struct hf_config *config, long most_ms)
{
    const long until_ms = clock_ms() + most_ms;
    for (long left_ms = most_ms; left_ms > 0 && !hf_is_stopped(hf) && !is_so(hf, config);) {
        struct pollfd poll_hf = { .fd = hf_fd(hf), .events = POLLIN };
        const int timeout_ms = hf_timeout_ms(hf);
        const bool is_sooner = timeout_ms >= 0 && timeout_ms < left_ms;
        (void)poll(&poll_hf, 1, is_sooner ? timeout_ms : (int)left_ms);
        hf_step(hf);
        left_ms = until_ms - clock_ms();
    }
}

int serve_http(const struct command_line *line, const char *who,
               void (*on_listening)(const struct serving *serving),
               void (*on_settled)(const struct serving *serving))
{
    char error[HF_ERROR_SIZE];
    struct reload reload = { start(line, who), line, who };
    if (!reload.hf)
        return EXIT_FAILED;
    struct serving serving = { .config = line->config, .hf = reload.hf };
    watch_signals(&reload, true); /* before the banner tells others that they may send one */
    if (getenv("HOLDFAST_MEASURE_TURNS"))
        hf_measure_turns(reload.hf);
    const bool serves = hf_serve_http(reload.hf, line->config, serving.url, error);
    if (serves) {
        on_listening(&serving);
        serve_until(is_settled, reload.hf, line->config, SETTLE_MS);
        serve_until(has_last_words, reload.hf, line->config, WORDS_MS);
        if (!hf_is_stopped(reload.hf))
            on_settled(&serving);
        hf_run(reload.hf);
    }
    const int code = stop(reload.hf, who, serves, error);
    if (!serves && !strncmp(error, "cannot listen on ", 17))
        fprintf(stderr,
                "Choose another address with --listen ADDRESS:PORT; port 0 is any free port.\n");
    return code;
}
