/* test_proc.c - servers under their guards: real processes, real pipes. */
#include <dirent.h>
#include <errno.h>
#include <sys/resource.h>
#include "io/guard_blob.h"
#include "io/nofile.h"
#include "proc_fixture.h"

static void read_guard_exe(const struct world *w, char text[256])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)hf_proc_guard_pid(w->proc));
    const ssize_t n = readlink(path, text, 255);
    text[n > 0 ? n : 0] = '\0';
}

static void forbid_writing_files(void)
{
    const struct rlimit none = { 0, 0 };
    (void)signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &none); /* so nothing can be written into the memory file */
}

static void take_memory_file_away(void)
{
    int fd = -1;
    if (sscanf(hf_guard_paths()[0], "/proc/self/fd/%d", &fd) == 1)
        close(fd);
}

static bool runs_installed_guard(void (*sabotage)(void))
{
    char exe[256];
    struct world w;
    begin(&w);
    sabotage();
    if (!START(&w, TREE, "exit", "7"))
        return false;
    read_guard_exe(&w, exe);
    WAIT(&w, w.is_all_gone);
    end(&w);
    return !strstr(exe, "memfd") && strstr(exe, "holdfast-guard") && w.status == 7 << 8;
}

/* The first test: the memory file is made once in a process, so each way has one of its own. */
TEST(without_a_memory_file_that_can_be_run_the_installed_guard_is_used)
{
    static void (*const sabotages[])(void) = { forbid_writing_files, take_memory_file_away };
    for (size_t i = 0; i < sizeof sabotages / sizeof *sabotages; i++) {
        int status = -1;
        fflush(stdout);
        const pid_t pid = fork();
        if (pid == 0)
            _exit(runs_installed_guard(sabotages[i]) ? 0 : 1);
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    }
}

TEST(the_guard_comes_out_of_the_library_itself)
{
    char exe[256];
    struct world w;
    REQUIRE(BEGIN(&w, "cat"));
    read_guard_exe(&w, exe);
    CHECK(strstr(exe, "memfd:holdfast-guard"));
    end(&w);
}

TEST(a_command_that_does_not_exist_is_reported_as_an_errno)
{
    struct world w;
    REQUIRE(BEGIN(&w, "/nowhere/no-such-command"));
    CHECK_EQ(w.log[0], '\0'); /* nothing from inside the call */
    WAIT(&w, w.is_all_gone);
    CHECK_STR(w.log, "exec_failed all_gone");
    CHECK(w.error == ENOENT && w.failed_step == HF_START_EXECUTE);
    end(&w);
}

TEST(a_file_that_may_not_be_run_is_reported_as_an_errno)
{
    struct world w;
    REQUIRE(BEGIN(&w, "/etc/passwd"));
    WAIT(&w, w.is_all_gone);
    CHECK_EQ(w.error, EACCES);
    end(&w);
}

TEST(a_directory_that_does_not_exist_is_told_from_a_missing_command)
{
    struct world w;
    begin(&w);
    REQUIRE(start_in(&w, "/no/such/place", (const char *const[]) { "cat", NULL }));
    WAIT(&w, w.is_all_gone);
    CHECK_STR(w.log, "exec_failed all_gone");
    CHECK(w.error == ENOENT && w.failed_step == HF_START_ENTER);
    end(&w);
}

TEST(what_is_written_comes_back_and_closing_stdin_ends_cat_with_status_0)
{
    struct world w;
    REQUIRE(BEGIN(&w, "cat"));
    REQUIRE(write_all(&w, "hello\n", 6));
    WAIT(&w, w.out.length == 6);
    CHECK(memcmp(w.out.text, "hello\n", 6) == 0);
    CHECK(!w.has_exited);
    hf_proc_close_stdin(w.proc);
    CHECK_EQ(hf_proc_stdin_fd(w.proc), -1);
    WAIT(&w, w.is_all_gone && w.out.has_ended);
    CHECK_EQ(w.status, 0);
    CHECK_STR(w.log, "started exited all_gone");
    end(&w);
}

TEST(an_exit_status_and_a_signal_are_reported_as_they_were)
{
    struct world w;
    REQUIRE(BEGIN(&w, TREE, "exit", "42"));
    WAIT(&w, w.is_all_gone);
    CHECK(WIFEXITED(w.status) && WEXITSTATUS(w.status) == 42);
    end(&w);
    REQUIRE(BEGIN(&w, "cat"));
    WAIT(&w, w.has_started);
    kill(w.pid, SIGUSR2);
    WAIT(&w, w.is_all_gone);
    CHECK(WIFSIGNALED(w.status) && WTERMSIG(w.status) == SIGUSR2);
    end(&w);
}

TEST(stderr_is_a_stream_of_its_own)
{
    struct world w;
    REQUIRE(BEGIN(&w, "sh", "-c", "echo out; echo err >&2"));
    WAIT(&w, w.is_all_gone && w.out.has_ended && w.err.has_ended);
    CHECK(strcmp(w.out.text, "out\n") == 0 && strcmp(w.err.text, "err\n") == 0);
    end(&w);
}

TEST(a_server_is_born_clean_whatever_its_engine_ignores_blocks_or_left_open)
{
    struct world w;
    sigset_t usr1, before;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigprocmask(SIG_BLOCK, &usr1, &before);
    (void)signal(SIGPIPE, SIG_IGN);
    const int careless = fcntl(STDIN_FILENO, F_DUPFD, 50); /* not close-on-exec */
    begin(&w);
    REQUIRE(start_in(&w, "/usr", (const char *const[]) { TREE, "tell", NULL }));
    WAIT(&w, w.is_all_gone && w.out.has_ended);
    CHECK_STR(w.out.text, "nonblock=0 blocked=0 ignored=0 extra=0 leads=1 session=1 "
                          "cwd=/usr\n");
    if (test_failed)
        printf("# %s", w.out.text);
    CHECK(fcntl(hf_proc_stdin_fd(w.proc), F_GETFL) & O_NONBLOCK);
    end(&w);
    close(careless);
    (void)signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

TEST(a_signal_in_its_first_moment_does_not_end_the_guard)
{
    struct world w;
    REQUIRE(BEGIN(&w, "cat"));
    kill(hf_proc_guard_pid(w.proc), SIGINT);
    kill(hf_proc_guard_pid(w.proc), SIGTERM);
    REQUIRE(write_all(&w, "!", 1));
    WAIT(&w, w.out.length == 1 || w.is_guard_lost);
    CHECK(!w.is_guard_lost);
    end(&w);
}

TEST(the_guard_does_not_show_the_command_line_of_its_server)
{
    char path[64], text[256] = "";
    struct world w;
    REQUIRE(BEGIN(&w, TREE, "hello", "--token-on-the-command-line"));
    WAIT(&w, w.has_started);
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)hf_proc_guard_pid(w.proc));
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(read(fd, text, sizeof text) > 20);
    close(fd);
    CHECK_STR(text, "holdfast-guard");
    for (size_t i = strlen(text); i < sizeof text; i++)
        CHECK_EQ(text[i], '\0');
    end(&w);
}

TEST(a_server_starts_also_when_our_own_standard_descriptors_are_closed)
{
    struct world w;
    int saved[3];
    begin(&w);
    fflush(stdout);
    for (int fd = 0; fd < 3; fd++) {
        saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
        close(fd);
    }
    const bool is_started = START(&w, "sh", "-c", "cat; echo err >&2");
    const bool is_written = is_started && write_all(&w, "hello\n", 6);
    if (is_started)
        hf_proc_close_stdin(w.proc);
    WAIT(&w, !is_started || (w.is_all_gone && w.out.has_ended && w.err.has_ended));
    free_proc(&w);
    for (int fd = 0; fd < 3; fd++) {
        dup2(saved[fd], fd);
        close(saved[fd]);
    }
    CHECK(is_written);
    CHECK(strcmp(w.out.text, "hello\n") == 0 && strcmp(w.err.text, "err\n") == 0);
    end(&w);
}

TEST(the_end_of_stdout_is_seen_while_the_server_lives)
{
    struct world w;
    REQUIRE(BEGIN(&w, TREE, "shut"));
    WAIT(&w, w.out.has_ended);
    CHECK(!w.has_exited && !w.err.has_ended);
    hf_proc_close_stdin(w.proc);
    WAIT(&w, w.is_all_gone);
    CHECK_EQ(w.status, 0);
    end(&w);
}

TEST(a_proc_may_be_freed_inside_its_own_event)
{
    struct world w;
    begin(&w);
    w.frees_on_exit = true;
    REQUIRE(START(&w, TREE, "exit", "0"));
    WAIT(&w, w.has_exited && !hf_loop_has_guests(w.loop));
    CHECK_STR(w.log, "started exited");
    end(&w);
}

static int count_fds(void)
{
    int count = 0;
    DIR *fds = opendir("/proc/self/fd");
    while (readdir(fds))
        count++;
    closedir(fds);
    return count;
}

TEST(two_hundred_starts_leave_no_descriptor_and_no_zombie)
{
    struct world w;
    begin(&w);
    const int before = count_fds();
    for (int i = 0; i < 200; i++) {
        REQUIRE(START(&w, i % 4 ? TREE : "no-such-command", "hello"));
        if (i % 3)
            WAIT(&w, w.out.length > 0 || w.error);
        free_proc(&w);
        memset(&w.out, 0, sizeof w.out);
        memset(&w.err, 0, sizeof w.err);
        w.error = 0;
    }
    WAIT(&w, !hf_loop_has_guests(w.loop));
    hf_loop_step(w.loop, false);
    CHECK_EQ(count_fds(), before);
    CHECK_EQ(count_children(), 0);
    end(&w);
}

TEST(a_start_without_descriptors_fails_with_a_sentence_and_leaves_nothing)
{
    struct world w;
    struct rlimit before, tight;
    begin(&w);
    const int fds = count_fds();
    getrlimit(RLIMIT_NOFILE, &before);
    int failures = 0;
    for (rlim_t more = 1; more < 9; more++) {
        tight = (struct rlimit) { (rlim_t)fds + more, before.rlim_max };
        setrlimit(RLIMIT_NOFILE, &tight);
        failures += !START(&w, TREE, "hello");
        setrlimit(RLIMIT_NOFILE, &before);
        free_proc(&w);
    }
    CHECK(failures > 3);
    WAIT(&w, !hf_loop_has_guests(w.loop));
    CHECK_EQ(count_fds(), fds);
    CHECK_EQ(count_children(), 0);
    end(&w);
}

/* --- taking back --- */

static ssize_t steal_from(struct world *w)
{
    char *bytes;
    const ssize_t n = hf_proc_steal(w->proc, &bytes);
    hf_free(bytes);
    return n;
}

TEST(what_a_stopped_server_did_not_read_is_taken_back_to_the_byte)
{
    struct world w;
    static const char request[1000] = "{";
    REQUIRE(BEGIN(&w, "cat"));
    WAIT(&w, w.has_started);
    stop(w.pid);
    REQUIRE(write_all(&w, request, sizeof request));
    CHECK_EQ(steal_from(&w), (ssize_t)sizeof request);
    hf_proc_close_stdin(w.proc);
    kill(w.pid, SIGCONT);
    WAIT(&w, w.is_all_gone && w.out.has_ended);
    CHECK_EQ(w.out.length, 0);
    end(&w);
}

TEST(a_full_pipe_is_taken_back_whole)
{
    struct world w;
    static const char block[4096];
    ssize_t written = 0, n;
    REQUIRE(BEGIN(&w, "cat"));
    WAIT(&w, w.has_started);
    stop(w.pid);
    while ((n = write(hf_proc_stdin_fd(w.proc), block, sizeof block)) > 0)
        written += n;
    CHECK(errno == EAGAIN && written >= 65536);
    CHECK_EQ(steal_from(&w), written);
    end(&w);
}

TEST(of_what_a_server_began_to_read_the_rest_is_taken_back)
{
    struct world w;
    static const char request[1000];
    REQUIRE(BEGIN(&w, TREE, "take", "250"));
    REQUIRE(write_all(&w, request, sizeof request));
    WAIT(&w, w.out.length == 1);
    CHECK_EQ(steal_from(&w), 750);
    end(&w);
}

TEST(nothing_is_taken_back_from_an_empty_pipe_open_or_closed)
{
    struct world w;
    REQUIRE(BEGIN(&w, TREE, "take", "5"));
    REQUIRE(write_all(&w, "12345", 5));
    WAIT(&w, w.out.length == 1);
    CHECK_EQ(steal_from(&w), 0);
    end(&w);
    REQUIRE(BEGIN(&w, "cat"));
    hf_proc_close_stdin(w.proc);
    WAIT(&w, w.is_all_gone);
    CHECK_EQ(steal_from(&w), 0);
    end(&w);
}

TEST(writing_to_a_dead_server_raises_nothing_and_is_all_taken_back)
{
    struct world w;
    REQUIRE(BEGIN(&w, TREE, "exit", "1"));
    WAIT(&w, w.is_all_gone);
    CHECK(write_all(&w, "{}\n", 3)); /* SIGPIPE would end the test */
    CHECK_EQ(steal_from(&w), 3);
    end(&w);
}

TEST(a_grandchild_that_holds_the_pipe_reads_nothing_of_what_was_taken_back)
{
    struct world w;
    REQUIRE(BEGIN(&w, TREE, "bequeath"));
    WAIT(&w, w.has_exited && memchr(w.out.text, '\n', w.out.length));
    REQUIRE(write_all(&w, "{\"id\":1}\n", 9));
    CHECK_EQ(steal_from(&w), 9);
    hf_proc_close_stdin(w.proc);
    const int heir = atoi(w.out.text);
    REQUIRE(heir > 1); /* 0 would be our own process group */
    kill((pid_t)heir, SIGUSR1);
    WAIT(&w, w.is_all_gone && w.out.has_ended);
    CHECK(strstr(w.out.text, "\nread 0\n"));
    end(&w);
}

TEST(a_server_may_have_as_many_descriptors_as_we_were_started_with_not_as_we_took)
{
    struct world w;
    struct rlimit limit, now;
    REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max > 300);
    limit.rlim_cur = 300;
    REQUIRE_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    hf_nofile_raise();
    CHECK(getrlimit(RLIMIT_NOFILE, &now) == 0 && now.rlim_cur == limit.rlim_max);
    REQUIRE(BEGIN(&w, "sh", "-c", "ulimit -Sn; ulimit -Hn"));
    WAIT(&w, w.is_all_gone && w.out.has_ended);
    char expected[64];
    snprintf(expected, sizeof expected, "300\n%llu\n", (unsigned long long)limit.rlim_max);
    CHECK_STR(w.out.text, expected);
    end(&w);
}
