/* serve.c - the process around a front: signals, logs, and the end. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include "command.h"

struct reload {
    struct hf *hf;
    const struct line *line;
    const char *who;
};

/* A file that is wrong changes nothing: what runs goes on, and the log says why. */
static void on_hangup(void *context)
{
    const struct reload *reload = context;
    struct line again;
    if (line_read(&again, reload->who, reload->line->argc, reload->line->argv) &&
        line_read_file(&again, reload->who))
        hf_reload(reload->hf, again.config);
    line_done(&again);
}

/* NULL after saying why not. */
static struct hf *start(const struct line *line, const char *who)
{
    char error[HF_ERROR_SIZE];
    (void)signal(SIGPIPE, SIG_IGN);
    /* What a killed guard leaves behind falls to us, so that nothing outlives us. */
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
        fprintf(stderr, "holdfast %s: signals cannot be watched; they end it at once\n", who);
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

int serve_stdio(const struct line *line, const char *server, const char *who)
{
    char error[HF_ERROR_SIZE];
    struct reload reload = { start(line, who), line, who };
    if (!reload.hf)
        return EXIT_FAILED;
    watch_signals(&reload, !server);
    const bool serves = hf_serve_stdio(reload.hf, server, STDIN_FILENO, STDOUT_FILENO, error);
    if (serves)
        hf_run(reload.hf);
    return stop(reload.hf, who, serves, error);
}

int serve_http(const struct line *line, const char *who,
               void (*on_listening)(const struct hf_config *config, const char *url))
{
    char url[HF_ERROR_SIZE], error[HF_ERROR_SIZE];
    struct reload reload = { start(line, who), line, who };
    if (!reload.hf)
        return EXIT_FAILED;
    watch_signals(&reload, true); /* before somebody hears that we listen and sends one */
    const bool serves = hf_serve_http(reload.hf, line->config, url, error);
    if (serves) {
        on_listening(line->config, url);
        hf_run(reload.hf);
    }
    return stop(reload.hf, who, serves, error);
}
