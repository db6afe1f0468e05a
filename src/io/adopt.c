/*
 * adopt.c - see adopt.h.
 *
 * One sweep: reap the dead members, find processes that belong to the tree, kill the new ones. A
 * death makes new orphans, so every death is followed by another sweep; a sweep that finds nothing
 * ends the adoption.
 *
 * Every member is known by a pidfd, opened before it is examined: if its pid is used again in
 * between, the signal goes to the dead process, never to the new one.
 */
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

/* At most so many members, each with a descriptor; others are found after the next death. */
enum { MEMBERS_MAX = 64, ENVIRONMENT_MAX = 4 << 20 };

struct member {
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
    struct hf_link members;
    int member_count;
};

/* Of the whole process; written once, before the first guard. */
static bool owns_all;
static struct hf_link spared = { &spared, &spared };

void hf_adoption_of_all(void)
{
    owns_all = prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

void hf_adoption_spare(struct hf_adoption_guard *guard, pid_t pid)
{
    guard->pid = pid;
    hf_link_init(&guard->link);
    if (owns_all)
        hf_list_push(&spared, &guard->link);
}

void hf_adoption_spare_no_more(struct hf_adoption_guard *guard)
{
    if (guard->pid)
        hf_unlink(&guard->link);
    guard->pid = 0;
}

static bool is_spared(pid_t pid)
{
    const struct hf_adoption_guard *guard;
    HF_LIST_EACH (guard, &spared, struct hf_adoption_guard, link)
        if (guard->pid == pid)
            return true;
    return false;
}

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
    hf_link_init(&adoption->members);
    return adoption;
}

static void drop(struct member *member)
{
    hf_watch_free(member->watch);
    close(member->pidfd);
    hf_unlink(&member->link);
    member->adoption->member_count--;
    hf_free(member);
}

void hf_adoption_free(struct hf_adoption *adoption)
{
    if (!adoption)
        return;
    struct member *member;
    while ((member = HF_LIST_FIRST(&adoption->members, struct member, link)))
        drop(member);
    hf_free(adoption->mark);
    hf_free(adoption);
}

static bool exists(const struct member *member) /* also as a zombie */
{
    return pidfd_send_signal(member->pidfd, 0, NULL, 0) == 0 || errno == EPERM;
}

/* By the pidfd, so that no other child is ever reaped. A member that is still the child of another
 * member becomes our child when that one dies. */
static void reap(struct member *member)
{
    struct hf_adoption *adoption = member->adoption;
    const pid_t pid = member->pid;
    siginfo_t end = { 0 };
    const int options = WEXITED | WNOHANG | __WALL;
    if (waitid(P_PIDFD, (id_t)member->pidfd, &end, options) == 0 && end.si_pid == pid) {
        const int status = end.si_code == CLD_EXITED   ? (end.si_status & 0xff) << 8
                           : end.si_code == CLD_DUMPED ? end.si_status | WCOREFLAG
                                                       : end.si_status;
        drop(member);
        adoption->events->reaped(adoption->context, pid, status);
    } else if (!exists(member)) {
        drop(member); /* its own parent has reaped it */
    }
}

static void on_dead(void *context, unsigned events)
{
    (void)events;
    struct member *member = context;
    hf_watch_set(member->watch, 0);
    hf_adoption_sweep(member->adoption);
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

static bool is_known(const struct hf_adoption *adoption, pid_t pid)
{
    struct member *member;
    HF_LIST_EACH (member, &adoption->members, struct member, link)
        if (member->pid == pid)
            return true;
    return false;
}

/* `parent` is a member, or NULL for a child of ours. That the parent exists is checked last: then
 * its pid was not used again before the child named it. */
static bool belongs(const struct hf_adoption *adoption, pid_t pid, const struct member *parent)
{
    if (parent)
        return hf_parent_of(pid) == parent->pid && exists(parent);
    if (owns_all)
        return !is_spared(pid);
    return (adoption->is_held && getsid(pid) == adoption->guard) || has_mark(pid, adoption->mark);
}

static void consider(struct hf_adoption *adoption, pid_t pid, const struct member *parent)
{
    if (pid == adoption->guard || adoption->member_count == MEMBERS_MAX || is_known(adoption, pid))
        return;
    const int pidfd = pidfd_open(pid, 0);
    const bool is_gone = pidfd < 0 && errno == ESRCH;
    if (is_gone || !belongs(adoption, pid, parent)) {
        if (pidfd >= 0)
            close(pidfd);
        return;
    }
    if (pidfd < 0) {
        adoption->events->kill_failed(adoption->context, pid);
        return;
    }
    struct member *member = hf_new(struct member);
    *member = (struct member) { .adoption = adoption, .pid = pid, .pidfd = pidfd };
    member->watch = hf_watch_new(adoption->loop, pidfd, on_dead, member);
    hf_watch_set(member->watch, HF_READABLE);
    hf_list_push(&adoption->members, &member->link);
    adoption->member_count++;
}

static void on_own_child(void *context, pid_t pid)
{
    consider(context, pid, NULL);
}

static void on_child_of_member(void *context, pid_t pid)
{
    const struct member *parent = context;
    consider(parent->adoption, pid, parent);
}

static void kill_member(const struct member *member)
{
    const struct hf_adoption *adoption = member->adoption;
    if (pidfd_send_signal(member->pidfd, SIGKILL, NULL, 0) != 0 && errno == EPERM)
        adoption->events->kill_failed(adoption->context, member->pid);
}

void hf_adoption_sweep(struct hf_adoption *adoption)
{
    struct member *member;
    HF_LIST_EACH_SAFE (member, &adoption->members, struct member, link)
        reap(member);
    struct hf_link *const known = adoption->members.prev;
    (void)hf_children_each(getpid(), on_own_child, adoption);
    HF_LIST_EACH (member, &adoption->members, struct member, link)
        (void)hf_children_each(member->pid, on_child_of_member, member);
    for (struct hf_link *at = known->next; at != &adoption->members; at = at->next)
        kill_member(HF_ITEM(at, struct member, link));
    if (hf_list_empty(&adoption->members))
        adoption->events->all_gone(adoption->context);
}
