/* children.c - see children.h. */
#include "guard/children.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ssize_t read_some(int fd, char *into, size_t room)
{
    for (;;) {
        const ssize_t n = read(fd, into, room);
        if (n >= 0 || errno != EINTR)
            return n;
    }
}

/* The file is "12 345 6 ": every pid ends in a space, so one cut by our buffer's end is simply not
 * finished yet. */
static bool list_task(int fd, hf_on_child *on_child, void *context)
{
    char text[1024];
    pid_t pid = 0;
    ssize_t n;
    while ((n = read_some(fd, text, sizeof text)) > 0) {
        for (ssize_t i = 0; i < n; i++) {
            if (text[i] >= '0' && text[i] <= '9') {
                pid = pid * 10 + (text[i] - '0');
            } else if (pid) {
                on_child(context, pid);
                pid = 0;
            }
        }
    }
    return n == 0;
}

/* Children belong to the thread that made them, orphans to any living one: all are asked. */
bool hf_children_from_tasks(pid_t parent, hf_on_child *on_child, void *context)
{
    char path[320];
    snprintf(path, sizeof path, "/proc/%d/task", (int)parent);
    DIR *tasks = opendir(path);
    if (!tasks)
        return false;
    bool told = false;
    for (struct dirent *entry; (entry = readdir(tasks));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%s/children", (int)parent, entry->d_name);
        const int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            continue; /* the thread ended, or the kernel has no such file: then none has */
        told = list_task(fd, on_child, context) || told;
        close(fd);
    }
    closedir(tasks);
    return told;
}

/* "pid (name) state ppid ...": the name may hold spaces and parentheses, so count from the last. */
pid_t hf_parent_of(pid_t pid)
{
    char path[40], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    const ssize_t n = read_some(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    const char *after = strrchr(text, ')');
    return after && strlen(after) > 4 ? (pid_t)atoi(after + 4) : 0;
}

bool hf_children_from_stat(pid_t parent, hf_on_child *on_child, void *context)
{
    DIR *all = opendir("/proc");
    if (!all)
        return false;
    for (struct dirent *entry; (entry = readdir(all));) {
        const pid_t pid = (pid_t)atoi(entry->d_name);
        if (pid > 0 && hf_parent_of(pid) == parent)
            on_child(context, pid);
    }
    closedir(all);
    return true;
}

bool hf_children_each(pid_t parent, hf_on_child *on_child, void *context)
{
    return hf_children_from_tasks(parent, on_child, context) ||
           hf_children_from_stat(parent, on_child, context);
}
