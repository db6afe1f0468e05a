/* adopt.c - see adopt.h. Like the guard it signals direct children only, and again after each
 * death, because a death is what makes new orphans. */
#include "io/adopt.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/mem.h"
#include "guard/children.h"

/* At most so many descriptors; the others are met in the sweep after the next death. */
enum { VICTIMS_MAX = 64, ENVIRONMENT_MAX = 4 << 20 };

struct victim {
    struct hf_link link;
    struct hf_adoption *adoption;
    pid_t pid;
    int pidfd;
    struct hf_watch *watch;
};

struct hf_adoption {
    struct hf_loop *loop;
    pid_t guard;
    bool is_held;
    char *mark;
    const struct hf_adoption_events *events;
    void *context;
    struct hf_link victims;
    int victim_count;
};

bool hf_adoption_is_possible(void)
{
    int is_subreaper = 0;
    return prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper) == 0 && is_subreaper;
}

struct hf_adoption *hf_adoption_new(struct hf_loop *loop, pid_t guard, bool is_held,
                                    const char *mark, const struct hf_adoption_events *events,
                                    void *context)
{
    struct hf_adoption *adoption = hf_new(struct hf_adoption);
    *adoption = (struct hf_adoption) { .loop = loop,
                                       .guard = guard,
                                       .is_held = is_held,
                                       .mark = hf_strdup(mark),
                                       .events = events,
                                       .context = context };
    hf_link_init(&adoption->victims);
    return adoption;
}

static void drop_victim(struct victim *victim)
{
    hf_watch_free(victim->watch);
    close(victim->pidfd);
    hf_unlink(&victim->link);
    victim->adoption->victim_count--;
    hf_free(victim);
}

void hf_adoption_free(struct hf_adoption *adoption)
{
    if (!adoption)
        return;
    struct victim *victim;
    while ((victim = HF_LIST_FIRST(&adoption->victims, struct victim, link)))
        drop_victim(victim);
    hf_free(adoption->mark);
    hf_free(adoption);
}

/* Entries end in NUL, so the mark is found as a whole entry or not at all. An environment can be
 * megabytes, and the mark anywhere in it: shells sort. */
static bool has_mark(pid_t pid, const char *mark)
{
    char path[40], text[4096];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t matched = 0, seen = 0;
    bool found = false, is_entry_start = true;
    ssize_t n;
    while (!found && seen < ENVIRONMENT_MAX && (n = read(fd, text, sizeof text)) > 0) {
        seen += (size_t)n;
        for (ssize_t i = 0; i < n && !found; i++) {
            const bool goes_on = (is_entry_start || matched > 0) && text[i] == mark[matched];
            found = goes_on && text[i] == '\0';
            matched = goes_on ? matched + 1 : 0;
            is_entry_start = text[i] == '\0';
        }
    }
    close(fd);
    return found;
}

static bool belongs(const struct hf_adoption *adoption, pid_t pid)
{
    return (adoption->is_held && getsid(pid) == adoption->guard) || has_mark(pid, adoption->mark);
}

static bool is_known(const struct hf_adoption *adoption, pid_t pid)
{
    struct victim *victim;
    HF_LIST_EACH (victim, &adoption->victims, struct victim, link)
        if (victim->pid == pid)
            return true;
    return false;
}

static void on_victim_dead(void *context, unsigned events)
{
    (void)events;
    struct victim *victim = context;
    struct hf_adoption *adoption = victim->adoption;
    const pid_t pid = victim->pid;
    int status;
    const bool is_ours = waitpid(pid, &status, WNOHANG | __WALL) == pid;
    drop_victim(victim);
    if (is_ours)
        adoption->events->reaped(adoption->context, pid, status);
    hf_adoption_sweep(adoption);
}

/* The descriptor is opened first and the process examined after: if the pid changes hands in
 * between, the signal goes to a process that is dead already. */
static void consider(void *context, pid_t pid)
{
    struct hf_adoption *adoption = context;
    if (pid == adoption->guard || adoption->victim_count == VICTIMS_MAX || is_known(adoption, pid))
        return;
    const int pidfd = pidfd_open(pid, 0);
    if (!belongs(adoption, pid)) {
        if (pidfd >= 0)
            close(pidfd);
        return;
    }
    if (pidfd < 0) {
        adoption->events->kill_failed(adoption->context, pid);
        return;
    }
    struct victim *victim = hf_new(struct victim);
    *victim = (struct victim) { .adoption = adoption, .pid = pid, .pidfd = pidfd };
    victim->watch = hf_watch_new(adoption->loop, pidfd, on_victim_dead, victim);
    hf_watch_set(victim->watch, HF_READABLE);
    hf_list_push(&adoption->victims, &victim->link);
    adoption->victim_count++;
    if (pidfd_send_signal(pidfd, SIGKILL, NULL, 0) != 0 && errno == EPERM)
        adoption->events->kill_failed(adoption->context, pid);
}

void hf_adoption_sweep(struct hf_adoption *adoption)
{
    (void)hf_children_each(consider, adoption);
    if (adoption->victim_count == 0)
        adoption->events->all_gone(adoption->context);
}
