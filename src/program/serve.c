/* serve.c - the process around a stdio front: signals, logs, and the end. */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "command.h"

int serve_stdio(const struct hf_config *config, const char *server, const char *who)
{
    char error[HF_ERROR_SIZE];
    (void)signal(SIGPIPE, SIG_IGN);
    /* What a killed guard leaves behind falls to us, so that nothing outlives us. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    struct hf *hf = hf_open(config, error);
    if (!hf || !hf_log_to(hf, STDERR_FILENO, error) ||
        !hf_serve_stdio(hf, server, STDIN_FILENO, STDOUT_FILENO, error)) {
        fprintf(stderr, "holdfast %s: %s\n", who, error);
        hf_close(hf);
        return EXIT_FAILED;
    }
    if (!hf_stop_on_signal(hf, SIGTERM) || !hf_stop_on_signal(hf, SIGINT))
        fprintf(stderr, "holdfast %s: signals cannot be watched; they end it at once\n", who);
    hf_run(hf);
    hf_close(hf);
    return EXIT_WELL;
}
