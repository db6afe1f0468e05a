/*
 * pidfd_open.c - a pidfd_open() for holdfast under a valgrind that does not know that system call
 * (Debian 12's 3.19), preloaded by `turns`.
 *
 * A program that valgrind does not run opens it and sends it back: BENCH_PIDFD names it, it gets
 * the process's number as its argument and a socket as its stdin.
 */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int receive(int socket)
{
    int fd = -1;
    char byte, control[CMSG_SPACE(sizeof fd)];
    struct iovec part = { &byte, 1 };
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control
    };
    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1)
        return -1;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return fd;
}

__attribute__((visibility("default"))) int pidfd_open(pid_t pid, unsigned flags)
{
    char number[16];
    int ends[2], fd = -1;
    pid_t helper;
    posix_spawn_file_actions_t actions;
    char *program = getenv("BENCH_PIDFD");
    char *const argv[] = { program, number, NULL };
    (void)flags;
    (void)snprintf(number, sizeof number, "%d", (int)pid);
    if (!program || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    if (posix_spawn(&helper, program, &actions, NULL, argv, environ) == 0) {
        close(ends[1]);
        fd = receive(ends[0]);
        (void)waitpid(helper, NULL, 0);
    } else {
        close(ends[1]);
    }
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]);
    if (fd < 0)
        errno = ESRCH;
    return fd;
}
