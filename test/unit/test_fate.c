/* test_fate.c - what can be seen of a process whose end is on its way. */
#include "io/fate.h"
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "test.h"

static pid_t start_sleeper(void)
{
    const pid_t pid = fork();
    if (pid == 0)
        for (;;)
            (void)pause();
    return pid;
}

/* Waits inside vfork until its child ends: signals reach it, but it cannot take them yet. */
static pid_t start_one_that_cannot_be_stopped_yet(int gate, int news)
{
    const pid_t pid = fork();
    if (pid == 0) {
        if (vfork() == 0) {
            char byte;
            _exit(write(news, "x", 1) == 1 && read(gate, &byte, 1) == 1 ? 0 : 1);
        }
        for (;;)
            (void)pause();
    }
    return pid;
}

static void wait_until(int fd, enum hf_fate fate)
{
    while (hf_fate_look(fd) != fate)
        (void)sched_yield();
}

static void end(pid_t pid, int fd)
{
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    (void)close(fd);
}

TEST(a_process_that_sleeps_or_has_stopped_may_be_written_to)
{
    const pid_t pid = start_sleeper();
    const int fd = hf_fate_open(pid);
    REQUIRE(fd >= 0);
    CHECK_EQ(hf_fate_look(fd), HF_FATE_NONE);
    CHECK_EQ(kill(pid, SIGSTOP), 0);
    CHECK_EQ(waitpid(pid, NULL, WUNTRACED), pid);
    CHECK_EQ(hf_fate_look(fd), HF_FATE_NONE);
    end(pid, fd);
}

TEST(a_process_that_is_dead_is_dying_whether_or_not_it_was_reaped)
{
    const pid_t pid = start_sleeper();
    const int fd = hf_fate_open(pid);
    siginfo_t info;
    REQUIRE(fd >= 0);
    CHECK_EQ(kill(pid, SIGKILL), 0);
    CHECK_EQ(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    CHECK_EQ(hf_fate_look(fd), HF_FATE_DYING);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    CHECK_EQ(hf_fate_look(fd), HF_FATE_DYING);
    (void)close(fd);
    CHECK_EQ(hf_fate_open(pid), -1);
}

TEST(a_stop_that_is_on_its_way_is_seen_before_it_is_taken_and_gone_when_it_has_been)
{
    int gate[2], news[2];
    char byte;
    REQUIRE(pipe(gate) == 0 && pipe(news) == 0);
    const pid_t pid = start_one_that_cannot_be_stopped_yet(gate[0], news[1]);
    const int fd = hf_fate_open(pid);
    REQUIRE(fd >= 0);
    CHECK_EQ(read(news[0], &byte, 1), 1);
    CHECK_EQ(kill(pid, SIGSTOP), 0);
    CHECK_EQ(hf_fate_look(fd), HF_FATE_STOPPING);
    CHECK_EQ(write(gate[1], "x", 1), 1);
    wait_until(fd, HF_FATE_NONE);
    end(pid, fd);
    for (int i = 0; i < 2; i++) {
        (void)close(gate[i]);
        (void)close(news[i]);
    }
}
