/* rig.c - see rig.h. */
#include "rig.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { IDLE_LOOK_MS = 20 };

const char *path_name(enum path path)
{
    static const char *const names[PATH_COUNT] = { "direct", "relay", "holdfast" };
    return names[path];
}

const char *style_name(enum style style)
{
    static const char *const names[STYLE_COUNT] = { "each", "batch" };
    return names[style];
}

void give_up(const char *what)
{
    fprintf(stderr, "bench: %s%s%s\n", what, errno ? ": " : "", errno ? strerror(errno) : "");
    exit(1);
}

struct ends {
    int read, write;
};

static struct ends make_pipe(void)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0)
        give_up("pipe");
    return (struct ends) { fds[0], fds[1] };
}

/* Starts a program between two descriptors, which are its own from now on. */
static pid_t start(struct rig *rig, const char *const *argv, int in, int out)
{
    pid_t pid;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    errno = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
    if (errno)
        give_up(argv[0]);
    posix_spawn_file_actions_destroy(&actions);
    close(in);
    close(out);
    rig->ours[rig->our_count++] = pid;
    return pid;
}

static void add_output(posix_spawn_file_actions_t *actions, int fd, int out, const char *log)
{
    if (out >= 0)
        posix_spawn_file_actions_adddup2(actions, out, fd);
    else if (log)
        posix_spawn_file_actions_addopen(actions, fd, log, O_WRONLY | O_CREAT | O_APPEND, 0644);
}

pid_t start_apart(const char *const *argv, int in, int out, const char *log)
{
    pid_t pid;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    if (log)
        (void)unlink(log);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_init(&actions);
    if (in >= 0)
        posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    else
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    add_output(&actions, STDOUT_FILENO, out, log);
    add_output(&actions, STDERR_FILENO, -1, log);
    errno =
        posix_spawnp(&pid, argv[0], &actions, &attributes, (char *const *)(uintptr_t)argv, environ);
    if (errno)
        give_up(argv[0]);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return pid;
}

void rig_start(struct rig *rig, enum path path, enum style style, const char *holdfast,
               const char *echo)
{
    static const char *const cat[] = { "cat", NULL };
    const char *const server[] = { echo, style_name(style), NULL };
    const char *const proxy[] = { holdfast, "run", "--log-level",     "warn",
                                  "--",     echo,  style_name(style), NULL };
    const struct ends down = make_pipe(), up = make_pipe();
    *rig = (struct rig) { .to = down.write, .from = up.read };
    if (path == RELAY) {
        const struct ends in = make_pipe(), out = make_pipe();
        rig->between[0] = start(rig, cat, down.read, in.write);
        rig->server = start(rig, server, in.read, out.write);
        rig->between[1] = start(rig, cat, out.read, up.write);
        rig->between_count = 2;
    } else {
        const pid_t pid = start(rig, path == DIRECT ? server : proxy, down.read, up.write);
        rig->server = path == DIRECT ? pid : 0;
        rig->between[0] = pid;
        rig->between_count = path == HOLDFAST;
    }
}

pid_t only_child(pid_t parent)
{
    char path[64];
    int pid = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent, (int)parent);
    FILE *file = fopen(path, "re");
    if (!file || fscanf(file, "%d", &pid) != 1)
        give_up(path);
    fclose(file);
    return pid;
}

void rig_find_processes(struct rig *rig, enum path path)
{
    if (path != HOLDFAST)
        return;
    rig->between[1] = only_child(rig->between[0]);
    rig->between_count = 2;
    rig->server = only_child(rig->between[1]);
}

void rig_stop(struct rig *rig)
{
    close(rig->to);
    close(rig->from);
    for (unsigned i = 0; i < rig->our_count; i++)
        (void)waitpid(rig->ours[i], NULL, 0);
}

static uint64_t cpu_of(clockid_t clock)
{
    struct timespec used;
    if (clock_gettime(clock, &used) != 0)
        give_up("a process is gone");
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

uint64_t cpu_of_process(pid_t pid)
{
    clockid_t clock;
    errno = clock_getcpuclockid(pid, &clock);
    if (errno)
        give_up("a process is gone");
    return cpu_of(clock);
}

void wait_until_idle(pid_t pid)
{
    uint64_t before = cpu_of_process(pid), now;
    for (;; before = now) {
        (void)usleep(IDLE_LOOK_MS * 1000);
        now = cpu_of_process(pid);
        if (now - before < IDLE_LOOK_MS * 1000000u / 20)
            return;
    }
}

struct cpu rig_cpu(const struct rig *rig)
{
    struct cpu cpu = { .client = cpu_of(CLOCK_PROCESS_CPUTIME_ID),
                       .server = cpu_of_process(rig->server) };
    for (unsigned i = 0; i < rig->between_count; i++)
        cpu.between += cpu_of_process(rig->between[i]);
    return cpu;
}

long private_dirty_kb(pid_t pid)
{
    char path[64], line[256];
    long kb = -1;
    (void)snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && kb < 0 && fgets(line, sizeof line, file))
        (void)sscanf(line, "Private_Dirty: %ld kB", &kb);
    if (kb < 0)
        give_up(path);
    fclose(file);
    return kb;
}
