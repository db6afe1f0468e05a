/* log_file.c - see log_file.h. */
#include "ops/log_file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include "ops/config_text.h"

struct hf_log_file {
    char *path, *old_path;
    int fd; /* -1: it cannot be opened now */
};

static int open_at(const char *path)
{
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
}

struct hf_log_file *hf_log_file_open(const char *path, struct hf_err *err)
{
    char shown[HF_SHOWN_MAX];
    struct stat st;
    const int fd = open_at(path);
    hf_text_shown(hf_span_of(path), shown);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        (void)hf_fail(err, "the log \"%s\": %s", shown, fd < 0 ? strerror(errno) : "it is no file");
        if (fd >= 0)
            (void)close(fd);
        return NULL;
    }
    struct hf_log_file *file = hf_new(struct hf_log_file);
    const size_t size = strlen(path) + sizeof ".old";
    file->path = hf_strdup(path);
    file->old_path = hf_alloc(size);
    (void)snprintf(file->old_path, size, "%s.old", path);
    file->fd = fd;
    return file;
}

void hf_log_file_close(struct hf_log_file *file)
{
    if (!file)
        return;
    if (file->fd >= 0)
        (void)close(file->fd);
    hf_free(file->path);
    hf_free(file->old_path);
    hf_free(file);
}

static void open_again(struct hf_log_file *file)
{
    if (file->fd >= 0)
        (void)close(file->fd); /* this also releases our lock */
    file->fd = open_at(file->path);
}

/* Whether the path still names the file that we write to. */
static bool is_current(const struct hf_log_file *file, struct stat *ret_ours)
{
    struct stat named;
    return file->fd >= 0 && fstat(file->fd, ret_ours) == 0 && lstat(file->path, &named) == 0 &&
           ret_ours->st_ino == named.st_ino && ret_ours->st_dev == named.st_dev;
}

/* Checked again under the lock: another process may have just renamed it. */
static void rotate(struct hf_log_file *file)
{
    struct stat ours;
    if (flock(file->fd, LOCK_EX | LOCK_NB) != 0)
        return;
    if (is_current(file, &ours))
        (void)rename(file->path, file->old_path);
    open_again(file);
}

void hf_log_file_write(struct hf_log_file *file, struct hf_span first, struct hf_span second)
{
    struct stat ours;
    if (!is_current(file, &ours)) {
        open_again(file);
        if (!is_current(file, &ours))
            return;
    }
    if ((size_t)ours.st_size + first.n + second.n > HF_LOG_FILE_MAX && ours.st_size > 0)
        rotate(file);
    const struct iovec parts[] = { { (void *)(uintptr_t)first.p, first.n },
                                   { (void *)(uintptr_t)second.p, second.n } };
    if (file->fd >= 0 && writev(file->fd, parts, 2) < 0)
        return; /* a full disk, for example */
}
