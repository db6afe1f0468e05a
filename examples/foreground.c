/* foreground.c - see foreground.h. */
#include "foreground.h"
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t child;

static void pass_on(int signum)
{
    const int before = errno;
    if (child > 0)
        (void)kill((pid_t)child, signum);
    errno = before;
}

/* Not from the background: whoever gives the terminal away without having it is stopped. */
static void give_terminal(pid_t group)
{
    if (isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) != group)
        (void)tcsetpgrp(STDIN_FILENO, group);
}

static pid_t start(char *const *argv)
{
    const pid_t pid = fork();
    if (pid != 0) {
        if (pid > 0)
            (void)setpgid(pid, pid); /* the child does the same: whoever comes first */
        return pid;
    }
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    (void)signal(SIGTTOU, SIG_DFL);
    (void)execv(argv[0], argv);
    (void)fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

int run_in_foreground(char *const *argv)
{
    static const int passed_on[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
    const bool has_terminal = isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp();
    struct sigaction action = { .sa_handler = pass_on, .sa_flags = SA_RESTART };
    int status = 0;
    const pid_t pid = start(argv);
    if (pid < 0)
        return -1;
    child = (sig_atomic_t)pid;
    (void)signal(SIGTTOU, SIG_IGN);
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
        (void)sigaction(passed_on[i], &action, NULL);
    if (has_terminal)
        give_terminal(pid);

    pid_t ended;
    while ((ended = waitpid(pid, &status, WUNTRACED)) == pid && WIFSTOPPED(status)) {
        /* Ctrl-Z stops all of us, and what `fg` does goes on with all of us. */
        if (has_terminal)
            give_terminal(getpgrp());
        (void)kill(0, SIGTSTP);
        if (has_terminal)
            give_terminal(pid);
        (void)kill(-pid, SIGCONT);
    }
    child = 0;
    if (has_terminal)
        give_terminal(getpgrp());
    if (ended != pid)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
