/* test_tree.c - whole process trees: nothing of them is left, whoever dies first. */
#include "io/adopt.h"
#include "proc_fixture.h"

TEST(term_reaches_the_whole_process_group)
{
    struct world w;
    REQUIRE(BEGIN(&w, "sh", "-c", "sleep 1000 & echo up; wait"));
    WAIT(&w, w.out.length == 3);
    hf_proc_term(w.proc);
    WAIT(&w, w.is_all_gone);
    CHECK(WIFSIGNALED(w.status) && WTERMSIG(w.status) == SIGTERM);
    end(&w);
}

TEST(a_term_after_the_exit_reaches_what_is_left_in_the_tree)
{
    struct world w;
    REQUIRE(BEGIN(&w, TREE, "bequeath"));
    WAIT(&w, w.has_exited && w.out.length > 0);
    CHECK(!w.is_all_gone);
    hf_proc_term(w.proc);
    WAIT(&w, w.is_all_gone);
    end(&w);
}

/* Until the last process of the tree is gone, it holds `h` open. */
static bool start_tree(struct world *w, struct hold *h, const char *how)
{
    hold_open(h);
    begin(w);
    return START(w, TREE, how, h->path) && hold_is_ready(h);
}

TEST(kill_takes_a_deaf_daemon_that_left_the_session_with_it)
{
    struct world w;
    struct hold h;
    REQUIRE(start_tree(&w, &h, "deaf"));
    hf_proc_term(w.proc);
    hf_proc_kill(w.proc);
    WAIT(&w, w.is_all_gone);
    CHECK_STR(w.log, "started exited all_gone");
    CHECK_EQ(WTERMSIG(w.status), SIGKILL);
    CHECK(hold_ended(&h));
    end(&w);
}

TEST(freeing_a_proc_kills_its_tree_and_leaves_no_zombie)
{
    struct world w;
    struct hold h;
    REQUIRE(start_tree(&w, &h, "deaf"));
    end(&w);
    CHECK(hold_ended(&h));
    CHECK_EQ(count_children(), 0);
    CHECK(w.log[0] == '\0' || strcmp(w.log, "started") == 0); /* nothing after the free */
}

TEST(processes_that_only_make_successors_are_outrun)
{
    struct world w;
    struct hold h;
    REQUIRE(start_tree(&w, &h, "storm"));
    hf_proc_kill(w.proc);
    WAIT(&w, w.is_all_gone);
    CHECK(hold_ended(&h));
    end(&w);
}

static bool start_deaf_tree_and_wait(void *context)
{
    struct hold *h = context;
    struct world w;
    close(h->ends[1]);
    if (BEGIN(&w, TREE, "deaf", h->path))
        WAIT(&w, false);
    return false;
}

TEST(a_tree_does_not_survive_its_engine_being_killed)
{
    struct hold h;
    hold_open(&h);
    fflush(stdout);
    const pid_t engine = fork();
    if (engine == 0)
        _exit(start_deaf_tree_and_wait(&h));
    CHECK(hold_is_ready(&h));
    kill(engine, SIGKILL);
    waitpid(engine, NULL, 0);
    CHECK(hold_ended(&h));
}

TEST(the_exit_is_told_while_a_descendant_lives_and_still_has_the_pipe)
{
    struct world w;
    struct hold h;
    REQUIRE(start_tree(&w, &h, "desert"));
    WAIT(&w, w.has_exited);
    CHECK(w.status == 3 << 8 && !w.is_all_gone && !w.out.has_ended);
    hf_proc_kill(w.proc);
    WAIT(&w, w.is_all_gone && w.out.has_ended);
    CHECK(hold_ended(&h));
    end(&w);
}

TEST(a_loop_freed_too_early_still_ends_the_tree)
{
    struct world w;
    struct hold h;
    REQUIRE(start_tree(&w, &h, "deaf"));
    free_proc(&w);
    hf_loop_free(w.loop);
    CHECK(hold_ended(&h));
    while (waitpid(-1, NULL, 0) > 0)
        ; /* nobody may be left to reap its guard */
}

/* --- those who kill the guard, and those who cannot be killed --- */

static pid_t start_bystander(void)
{
    fflush(stdout);
    const pid_t pid = fork();
    while (pid == 0)
        pause();
    return pid;
}

TEST(the_tree_of_a_killed_guard_falls_to_a_subreaper_who_kills_it_and_nobody_else)
{
    struct world w, other;
    struct hold h;
    const pid_t bystander = start_bystander();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    REQUIRE(BEGIN(&other, "cat") && start_tree(&w, &h, "deaf"));
    WAIT(&w, w.has_started);
    kill(hf_proc_guard_pid(w.proc), SIGKILL);
    WAIT(&w, w.is_all_gone);
    CHECK_STR(w.log, "started guard_lost exited all_gone");
    CHECK_EQ(WTERMSIG(w.status), SIGKILL);
    CHECK(hold_ended(&h));
    CHECK_EQ(waitpid(bystander, NULL, WNOHANG), 0);
    REQUIRE(write_all(&other, "!", 1));
    WAIT(&other, other.out.length == 1);
    CHECK(!other.has_exited);
    end(&w);
    end(&other);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    kill(bystander, SIGKILL);
    waitpid(bystander, NULL, 0);
    CHECK_EQ(count_children(), 0);
}

/* Of two proofs that a process came from the tree, each tree here leaves only one. */
TEST(the_tree_of_a_killed_guard_is_recognised_by_its_session_and_by_its_parents_too)
{
    static const char *const commands[] = {
        "exec env -i " TREE " take 0",                /* no mark: by the session */
        "env -i setsid " TREE " take 0 & wait; echo", /* neither: by its parent */
    };
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        struct world w;
        REQUIRE(BEGIN(&w, "sh", "-c", commands[i]));
        WAIT(&w, w.has_started && w.out.length == 1);
        kill(hf_proc_guard_pid(w.proc), SIGKILL);
        WAIT(&w, w.is_all_gone);
        WAIT(&w, w.out.has_ended);
        CHECK_STR(w.log, "started guard_lost exited all_gone");
        end(&w);
        CHECK_EQ(count_children(), 0);
    }
    prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST(a_guard_whose_death_is_noticed_after_its_proc_was_freed_leaves_no_tree_either)
{
    struct world w;
    struct hold h;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    REQUIRE(start_tree(&w, &h, "deaf"));
    stop(hf_proc_guard_pid(w.proc)); /* so that it cannot do its work */
    const pid_t guard = hf_proc_guard_pid(w.proc);
    kill(guard, SIGKILL);
    free_proc(&w); /* before anybody has noticed */
    end(&w);
    CHECK(hold_ended(&h));
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    CHECK_EQ(count_children(), 0);
}

/* --- those who speak for their guard, and those who stop it --- */

TEST(a_server_that_says_nonsense_on_its_guards_socket_is_not_heard)
{
    struct world w;
    REQUIRE(BEGIN(&w, TREE, "forge"));
    WAIT(&w, w.has_started && w.out.length == 1);
    if (w.out.text[0] != '!')
        printf("# skipped: a process may not take its parent's descriptors here\n");
    hf_proc_kill(w.proc);
    WAIT(&w, w.is_all_gone);
    CHECK_STR(w.log, "started exited all_gone");
    end(&w);
}

TEST(a_stopped_guard_is_woken_to_kill)
{
    struct world w;
    struct hold h;
    REQUIRE(start_tree(&w, &h, "deaf"));
    stop(hf_proc_guard_pid(w.proc));
    hf_proc_kill(w.proc);
    WAIT(&w, w.is_all_gone);
    CHECK_STR(w.log, "started exited all_gone");
    CHECK(hold_ended(&h));
    end(&w);
}

TEST(a_stopped_guard_is_woken_by_its_engine_letting_go)
{
    struct world w;
    struct hold h;
    REQUIRE(start_tree(&w, &h, "deaf"));
    stop(hf_proc_guard_pid(w.proc));
    end(&w);
    CHECK(hold_ended(&h));
    CHECK_EQ(count_children(), 0);
}

TEST(a_guard_that_its_server_keeps_stopping_is_killed_and_its_tree_adopted)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int told = 0; told < 2; told++) {
        struct world w;
        struct hold h;
        REQUIRE(start_tree(&w, &h, "jail"));
        if (told)
            hf_proc_kill(w.proc);
        end(&w); /* at once, or when its patience is over */
        CHECK(hold_ended(&h));
        CHECK_EQ(count_children(), 0);
    }
    prctl(PR_SET_CHILD_SUBREAPER, 0);
}

/* `told` is where it tells the pid of the guard. */
static bool start_deaf_tree_and_tell(struct hold *h, int told)
{
    struct world w;
    close(h->ends[1]);
    if (!BEGIN(&w, TREE, "deaf", h->path))
        return false;
    const pid_t guard = hf_proc_guard_pid(w.proc);
    if (write(told, &guard, sizeof guard) == (ssize_t)sizeof guard)
        WAIT(&w, false);
    return false;
}

TEST(a_tree_behind_a_stopped_guard_does_not_survive_its_engine_being_killed)
{
    struct hold h;
    int told[2];
    pid_t guard = 0;
    hold_open(&h);
    REQUIRE_EQ(pipe2(told, O_CLOEXEC), 0);
    fflush(stdout);
    const pid_t engine = fork();
    if (engine == 0)
        _exit(start_deaf_tree_and_tell(&h, told[1]));
    CHECK_EQ(read(told[0], &guard, sizeof guard), (ssize_t)sizeof guard);
    CHECK(hold_is_ready(&h));
    stop(guard);
    kill(engine, SIGKILL);
    waitpid(engine, NULL, 0);
    CHECK(hold_ended(&h));
    close(told[0]);
    close(told[1]);
}

/* In a process of its own, which has no children but guards and what falls to it. */
static bool adopts_all(void)
{
    struct world w, other;
    struct hold h;
    hf_adoption_of_all();
    if (!BEGIN(&other, "cat") || !start_tree(&w, &h, "vanish"))
        return false;
    kill(hf_proc_guard_pid(w.proc), SIGKILL);
    WAIT(&w, w.is_all_gone);
    const bool has_ended = hold_ended(&h);
    const bool is_written = write_all(&other, "!", 1);
    WAIT(&other, other.out.length == 1 || other.has_exited);
    const bool is_spared = !other.has_exited && !other.is_guard_lost;
    end(&w);
    end(&other);
    return has_ended && is_written && is_spared && count_children() == 0;
}

TEST(a_process_that_owns_all_its_children_kills_an_orphan_without_session_and_environment)
{
    int status = -1;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0)
        _exit(adopts_all() ? 0 : 1);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

TEST(without_a_subreaper_a_lost_guard_is_a_failed_close)
{
    struct world w;
    REQUIRE(BEGIN(&w, "cat"));
    WAIT(&w, w.has_started);
    kill(hf_proc_guard_pid(w.proc), SIGKILL);
    WAIT(&w, w.close_failed);
    CHECK_STR(w.log, "started guard_lost close_failed");
    CHECK_EQ(w.close_failed, w.pid);
    end(&w); /* closes its stdin: cat ends by itself */
    CHECK_EQ(count_children(), 0);
}

/* In a directory with a name nobody can guess, for the moment of one test. */
static bool make_set_user_id_copy(char directory[], char path[64])
{
    char command[512];
    if (geteuid() != 0 || !mkdtemp(directory) || chmod(directory, 0711) != 0)
        return false;
    snprintf(path, 64, "%s/root", directory);
    snprintf(command, sizeof command, "cp %s %s && chmod 4711 %s", TREE, path, path);
    return system(command) == 0;
}

/* In a process of its own, without privileges; `told` is where it tells the pid it cannot kill. */
static bool cannot_kill_root(const char *program, int told)
{
    struct world w;
    struct hold h;
    if (setgid(65534) != 0 || setuid(65534) != 0)
        return false;
    hold_open(&h);
    if (!BEGIN(&w, program, "root", h.path) || !hold_is_ready(&h))
        return false;
    hf_proc_kill(w.proc);
    WAIT(&w, w.close_failed);
    hf_proc_kill(w.proc); /* fails again, and is not told again */
    const bool is_told = write(told, &w.close_failed, sizeof w.close_failed) > 0;
    WAIT(&w, w.is_all_gone); /* the test, which may, kills it */
    end(&w);
    return is_told && !w.is_late && strcmp(w.log, "started close_failed exited all_gone") == 0;
}

TEST(a_descendant_that_became_another_user_is_reported_and_reaped_when_it_ends)
{
    int told[2], status = -1;
    pid_t pid = 0;
    char directory[] = "/tmp/holdfast-XXXXXX", program[64];
    if (!make_set_user_id_copy(directory, program)) {
        printf("# skipped: needs root\n");
        return;
    }
    REQUIRE_EQ(pipe2(told, O_CLOEXEC), 0);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0)
        _exit(cannot_kill_root(program, told[1]) ? 0 : 1);
    close(told[1]);
    CHECK(read(told[0], &pid, sizeof pid) == (ssize_t)sizeof pid && pid > 0);
    if (pid > 0)
        kill(pid, SIGKILL);
    waitpid(child, &status, 0);
    CHECK_EQ(status, 0);
    close(told[0]);
    unlink(program);
    rmdir(directory);
}

struct pids {
    pid_t list[32];
    int count;
};

static void collect(void *context, pid_t pid)
{
    struct pids *pids = context;
    if (pids->count < 32)
        pids->list[pids->count++] = pid;
}

TEST(both_ways_to_list_children_find_the_same)
{
    struct pids tasks = { 0 }, stat = { 0 };
    const pid_t first = start_bystander(), second = start_bystander();
    CHECK(hf_children_from_tasks(getpid(), collect, &tasks) &&
          hf_children_from_stat(getpid(), collect, &stat));
    CHECK(tasks.count == 2 && stat.count == 2);
    CHECK(tasks.list[0] == first && tasks.list[1] == second);
    CHECK(memcmp(tasks.list, stat.list, sizeof tasks.list) == 0);
    kill(first, SIGKILL);
    kill(second, SIGKILL);
    waitpid(first, NULL, 0);
    waitpid(second, NULL, 0);
}
