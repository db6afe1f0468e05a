/* test_store_instance.c - who is there: names, locks, and what the dead leave. */
#include "store/instance.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "store_fixture.h"
#include "test.h"

struct names {
    unsigned count;
    char last[HF_INSTANCE_NAME_SIZE];
};

static void on_name(void *context, const char *name)
{
    struct names *names = context;
    names->count++;
    (void)snprintf(names->last, sizeof names->last, "%s", name);
}

static struct names names_there(void)
{
    struct names names = { 0 };
    hf_instances_each(fixture_directory(), on_name, &names);
    return names;
}

static void touch(const char *name)
{
    char path[FIXTURE_PATH_SIZE];
    fixture_path(name, path);
    const int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
}

TEST(a_process_that_lives_cannot_be_taken_over_and_leaves_nothing_when_it_ends_well)
{
    struct hf_err err;
    struct hf_estate estate;
    char ring[32];
    struct hf_instance *one = hf_instance_new(fixture_directory(), &err);
    struct hf_instance *two = hf_instance_new(fixture_directory(), &err);
    REQUIRE(one && two);
    CHECK(strcmp(hf_instance_name(one), hf_instance_name(two)) != 0);
    CHECK_EQ(strlen(hf_instance_name(one)), HF_INSTANCE_NAME_SIZE - 1);
    CHECK_EQ(names_there().count, 2);
    CHECK(!hf_estate_take(fixture_directory(), hf_instance_name(one), &estate));
    (void)snprintf(ring, sizeof ring, "%s.ring", hf_instance_name(one));
    touch(ring);
    hf_instance_free(one, false);
    CHECK(!fixture_has(ring));
    CHECK_EQ(names_there().count, 1);
    hf_instance_free(two, true); /* it has marks whose rows could not be written */
    CHECK_EQ(names_there().count, 1);
    CHECK(hf_estate_take(fixture_directory(), names_there().last, &estate));
    hf_estate_remove(&estate);
    CHECK_EQ(fixture_count("lock"), 0);
}

TEST(only_files_that_are_called_like_locks_count)
{
    static const char *const others[] = { "holdfast.db",   "abc.lock",       "ABCDEFGH.lock",
                                          "aaaaaaaa.ring", "aaaaaaaaa.lock", "aaaaaaa1.lock",
                                          ".lock" };
    struct hf_estate estate;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        touch(others[i]);
    CHECK_EQ(names_there().count, 0);
    touch("aaaaaaaa.lock");
    CHECK_EQ(names_there().count, 1);
    CHECK(!hf_estate_take(fixture_directory(), "bbbbbbbb", &estate));
    CHECK(!hf_estate_take(fixture_directory(), "../x", &estate));
    CHECK(hf_instance_exists(fixture_directory(), "aaaaaaaa"));
    CHECK(!hf_instance_exists(fixture_directory(), "bbbbbbbb"));
    hf_instances_each("/nowhere", on_name, &(struct names) { 0 });
    struct hf_err err;
    CHECK(!hf_instance_new("/nowhere", &err) && strstr(err.text, "No such file"));
}

/* ---- kill -9 ---- */

struct child {
    pid_t pid;
    char name[HF_INSTANCE_NAME_SIZE];
};

static struct child start(void)
{
    struct child child = { 0 };
    struct hf_err err;
    int fds[2];
    (void)fixture_directory(); /* before the fork: it is for both */
    if (pipe2(fds, O_CLOEXEC) != 0)
        abort();
    (void)fflush(NULL);
    child.pid = fork();
    if (child.pid == 0) {
        struct hf_instance *instance = hf_instance_new(fixture_directory(), &err);
        if (!instance || write(fds[1], hf_instance_name(instance), sizeof child.name) < 0)
            _exit(1);
        for (;;)
            (void)pause();
    }
    close(fds[1]);
    if (read(fds[0], child.name, sizeof child.name) != sizeof child.name)
        abort();
    close(fds[0]);
    return child;
}

static void end(struct child *child)
{
    CHECK(kill(child->pid, SIGKILL) == 0 && waitpid(child->pid, NULL, 0) == child->pid);
}

TEST(what_a_killed_process_left_can_be_taken_by_exactly_one)
{
    struct hf_estate mine, theirs;
    struct child child = start(), other = start();
    CHECK(!hf_estate_take(fixture_directory(), child.name, &mine));
    end(&child);
    CHECK(hf_estate_take(fixture_directory(), child.name, &mine));
    CHECK(!hf_estate_take(fixture_directory(), child.name, &theirs));
    hf_estate_leave(&mine);
    CHECK(hf_estate_take(fixture_directory(), child.name, &mine)); /* left for who comes next */
    CHECK(!hf_estate_take(fixture_directory(), other.name, &theirs));
    hf_estate_remove(&mine);
    CHECK(!hf_estate_take(fixture_directory(), child.name, &mine));
    CHECK_EQ(names_there().count, 1);
    end(&other);
}

/* Many lookers, each in its own process, at many dead: each is removed by exactly one. */
static int take_all(void *context)
{
    struct child *dead = context;
    int taken = 0;
    for (int i = 0; i < 10; i++) {
        struct hf_estate estate;
        if (hf_estate_take(fixture_directory(), dead[i].name, &estate)) {
            hf_estate_remove(&estate);
            taken++;
        }
    }
    return taken;
}

TEST(lookers_at_the_same_time_share_the_dead_among_them)
{
    struct child dead[10];
    pid_t lookers[4];
    int taken = 0;
    for (int i = 0; i < 10; i++)
        dead[i] = start();
    for (int i = 0; i < 10; i++)
        end(&dead[i]);
    (void)fflush(NULL);
    for (int i = 0; i < 4; i++)
        if ((lookers[i] = fork()) == 0)
            _exit(take_all(dead));
    for (int i = 0; i < 4; i++) {
        int status = 0;
        CHECK(waitpid(lookers[i], &status, 0) == lookers[i] && WIFEXITED(status));
        taken += WEXITSTATUS(status);
    }
    CHECK_EQ(taken, 10);
    CHECK_EQ(fixture_count("lock"), 0);
}
