/* test_fate.c - what can be seen of a process whose end is on its way. */
#include "io/fate.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "test.h"

typedef struct hf_fate opener(pid_t pid);
static opener *const ways[] = { hf_fate_open, hf_fate_open_status };
#define EACH_WAY(way) for (size_t way = 0; way < sizeof ways / sizeof *ways; way++)

static pid_t start_sleeper(void)
{
    const pid_t pid = fork();
    if (pid == 0)
        for (;;)
            (void)pause();
    return pid;
}

static void end(pid_t pid, struct hf_fate *fate)
{
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    hf_fate_close(fate);
}

TEST(a_process_that_sleeps_or_has_stopped_may_be_written_to)
{
    EACH_WAY(way)
    {
        const pid_t pid = start_sleeper();
        struct hf_fate fate = ways[way](pid);
        REQUIRE(fate.fd >= 0);
        CHECK(!hf_fate_is_dying(&fate));
        CHECK_EQ(kill(pid, SIGSTOP), 0);
        CHECK_EQ(waitpid(pid, NULL, WUNTRACED), pid);
        CHECK(!hf_fate_is_dying(&fate));
        end(pid, &fate);
    }
}

TEST(a_process_that_is_dead_is_dying_whether_or_not_it_was_reaped)
{
    EACH_WAY(way)
    {
        const pid_t pid = start_sleeper();
        struct hf_fate fate = ways[way](pid);
        siginfo_t info;
        REQUIRE(fate.fd >= 0);
        CHECK_EQ(kill(pid, SIGKILL), 0);
        CHECK_EQ(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
        CHECK(hf_fate_is_dying(&fate));
        CHECK_EQ(waitpid(pid, NULL, 0), pid);
        CHECK(hf_fate_is_dying(&fate));
        hf_fate_close(&fate);
        CHECK_EQ(ways[way](pid).fd, -1);
    }
}

/* Whether the signal has been taken by then or not. */
TEST(a_process_is_dying_from_the_moment_in_which_kill_returns)
{
    EACH_WAY(way)
    for (int i = 0; i < 50; i++) {
        const pid_t pid = start_sleeper();
        struct hf_fate fate = ways[way](pid);
        REQUIRE(fate.fd >= 0);
        CHECK(!hf_fate_is_dying(&fate));
        CHECK_EQ(kill(pid, SIGKILL), 0);
        CHECK(hf_fate_is_dying(&fate));
        end(pid, &fate);
    }
}

TEST(a_process_that_cannot_be_looked_at_is_not_called_dying)
{
    struct hf_fate fate = HF_FATE_NONE;
    CHECK(!hf_fate_is_dying(&fate));
    hf_fate_close(&fate);
}
