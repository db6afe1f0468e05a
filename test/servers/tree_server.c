/*
 * tree_server.c - processes that behave badly, for the tests of the guard.
 *
 * `tree_server MODE [ARGUMENT...]`. HOLD is a path that opens the writing end of a pipe of the
 * test's: whoever has it open writes one 'r' when he is ready and then keeps it until he dies, so
 * that the end of that pipe proves his death.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void wait_for_ever(void)
{
    for (;;)
        pause();
}

static void hold(const char *path)
{
    const int fd = open(path, O_WRONLY);
    if (fd < 0 || write(fd, "r", 1) != 1)
        _exit(99);
}

static void ignore_all(void)
{
    for (int number = 1; number <= SIGRTMAX; number++)
        (void)signal(number, SIG_IGN);
}

/* A daemon by the book: own session, twice forked, deaf, and it never reads. */
static void leave_daemon(const char *path)
{
    if (fork() != 0)
        return;
    setsid();
    if (fork() != 0)
        _exit(0);
    ignore_all();
    hold(path);
    wait_for_ever();
}

/* Nothing of it is left to recognise it by: own session, no environment, and its parents are gone.
 */
static int vanish(char **arguments)
{
    char self[] = "/proc/self/exe", name[] = "tree_server", mode[] = "cling";
    if (fork() == 0) {
        setsid();
        if (fork() != 0)
            _exit(0);
        char *const argv[] = { name, mode, arguments[0], NULL };
        char *const none[] = { NULL };
        execve(self, argv, none);
        _exit(97);
    }
    wait(NULL);
    wait_for_ever();
}

static int cling(char **arguments)
{
    ignore_all();
    hold(arguments[0]);
    wait_for_ever();
}

/* Stops its guard again and again, whoever wakes it. */
static int jail(char **arguments)
{
    const pid_t guard = getppid();
    ignore_all();
    kill(guard, SIGSTOP);
    if (fork() == 0)
        hold(arguments[0]);
    while (kill(guard, SIGSTOP) == 0)
        ;
    wait_for_ever();
}

/* Takes its guard's socket and says things on it that no guard says; '!' when it could, else '?'.
 */
static int forge(char **arguments)
{
    (void)arguments;
    enum { CONTROL = 3, STARTED = 1, EXEC_FAILED = 2 }; /* see guard/protocol.h */
    const uint32_t reports[][4] = {
        { 0, 0, 0, 0 },
        { 99, 0, 0, 0 },
        { UINT32_MAX, 0, 0, 0 },
        { STARTED, 0, 1, 0 },
    };
    const int guard = pidfd_open(getppid(), 0);
    const int control = guard < 0 ? -1 : pidfd_getfd(guard, CONTROL, 0);
    bool is_said = control >= 0;
    for (size_t i = 0; is_said && i < sizeof reports / sizeof *reports; i++)
        is_said = send(control, reports[i], sizeof reports[i], 0) == (ssize_t)sizeof reports[i];
    if (write(STDOUT_FILENO, is_said ? "!" : "?", 1) != 1)
        return 1;
    wait_for_ever();
}

static void on_usr1(int number)
{
    (void)number;
}

static int hello(char **arguments)
{
    (void)arguments;
    char byte;
    if (write(STDOUT_FILENO, "!", 1) != 1)
        return 1;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    return 0;
}

static int leave_with(char **arguments)
{
    return atoi(arguments[0]);
}

static int deaf(char **arguments)
{
    leave_daemon(arguments[0]);
    ignore_all();
    wait_for_ever();
}

static int desert(char **arguments)
{
    leave_daemon(arguments[0]);
    return 3;
}

static int take(char **arguments)
{
    char byte;
    for (int left = atoi(arguments[0]); left > 0; left--)
        if (read(STDIN_FILENO, &byte, 1) != 1)
            return 1;
    if (write(STDOUT_FILENO, "t", 1) != 1)
        return 1;
    wait_for_ever();
}

/* Ends and leaves a child that has the same stdin and reads it only after SIGUSR1. */
static int bequeath(char **arguments)
{
    (void)arguments;
    sigset_t usr1, before;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigprocmask(SIG_BLOCK, &usr1, &before);
    (void)signal(SIGUSR1, on_usr1);
    if (fork() != 0)
        return 0;
    int count = 0;
    char byte;
    printf("%d\n", (int)getpid());
    fflush(stdout);
    sigsuspend(&before);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        count++;
    printf("read %d\n", count);
    return 0;
}

static int shut(char **arguments)
{
    (void)arguments;
    char byte;
    close(STDOUT_FILENO);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    return 0;
}

static int count_ignored(void)
{
    int count = 0;
    for (int number = 1; number <= SIGRTMAX; number++) {
        struct sigaction now;
        count += sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
    }
    return count;
}

static int count_blocked(void)
{
    int count = 0;
    sigset_t mask;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    for (int number = 1; number <= SIGRTMAX; number++)
        count += sigismember(&mask, number) == 1;
    return count;
}

/* What it was born with, in one line. */
static int tell(char **arguments)
{
    (void)arguments;
    char cwd[512];
    int extra = -1; /* opendir has one of its own */
    DIR *open_fds = opendir("/proc/self/fd");
    for (struct dirent *entry; (entry = readdir(open_fds));)
        extra += entry->d_name[0] != '.' && atoi(entry->d_name) > 2;
    closedir(open_fds);
    printf("nonblock=%d blocked=%d ignored=%d extra=%d leads=%d session=%d cwd=%s\n",
           (fcntl(0, F_GETFL) | fcntl(1, F_GETFL) | fcntl(2, F_GETFL)) & O_NONBLOCK ? 1 : 0,
           count_blocked(), count_ignored(), extra, getpgrp() == getpid(), getsid(0) == getppid(),
           getcwd(cwd, sizeof cwd));
    return 0;
}

/* Lines of processes that live only long enough to make their successor. */
static int storm(char **arguments)
{
    const int fd = open(arguments[0], O_WRONLY);
    for (int line = 0; line < 8; line++) {
        if (fork() != 0)
            continue;
        setsid();
        for (;;)
            if (fork() > 0)
                _exit(0);
    }
    if (fd < 0 || write(fd, "r", 1) != 1)
        return 1;
    wait_for_ever();
}

/* With the set-user-id bit of root: then nobody else may kill it. */
static int become_root(char **arguments)
{
    if (setuid(0) != 0)
        return 1;
    hold(arguments[0]);
    wait_for_ever();
}

static const struct {
    const char *name;
    int (*run)(char **arguments);
} modes[] = {
    { "hello", hello },       { "exit", leave_with },  { "deaf", deaf },     { "desert", desert },
    { "take", take },         { "shut", shut },        { "tell", tell },     { "storm", storm },
    { "bequeath", bequeath }, { "root", become_root }, { "vanish", vanish }, { "cling", cling },
    { "jail", jail },         { "forge", forge },
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
        if (strcmp(modes[i].name, argv[1]) == 0)
            return modes[i].run(argv + 2);
    return 98;
}
