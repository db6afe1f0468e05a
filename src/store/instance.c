/* instance.c - see instance.h. */
#include "store/instance.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "io/random.h"

enum { NAME_LENGTH = HF_INSTANCE_NAME_SIZE - 1, TRIES = 20 };

/* Letters and digits that are not mistaken for each other; 32 of them, so that a byte chooses
 * without favour. */
static const char letters[] = "abcdefghjkmnpqrstuvwxyz023456789";

static const char *const endings[] = { "sock", "ring", "lock" }; /* in the order of removal */

struct hf_instance {
    struct hf_estate estate; /* our own: it is nobody else's as long as we live */
};

bool hf_instance_path(const char *directory, const char *name, const char *ending,
                      char ret_path[HF_INSTANCE_PATH_SIZE])
{
    const int n = snprintf(ret_path, HF_INSTANCE_PATH_SIZE, "%s/%s.%s", directory, name, ending);
    return n > 0 && n < HF_INSTANCE_PATH_SIZE;
}

/* The lock is worth something only if the file still has its name: whoever removed the file between
 * our open and our lock took the name away with it. */
static bool is_named(int fd, const char *path)
{
    struct stat ours, named;
    return fstat(fd, &ours) == 0 && stat(path, &named) == 0 && ours.st_dev == named.st_dev &&
           ours.st_ino == named.st_ino;
}

static bool lock_file(const char *path, int flags, int *ret_fd)
{
    const int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
    if (fd < 0)
        return false;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && is_named(fd, path)) {
        *ret_fd = fd;
        return true;
    }
    close(fd);
    errno = EAGAIN;
    return false;
}

static void make_name(char ret_name[HF_INSTANCE_NAME_SIZE])
{
    uint8_t bytes[NAME_LENGTH];
    hf_random(bytes, sizeof bytes);
    for (size_t i = 0; i < NAME_LENGTH; i++)
        ret_name[i] = letters[bytes[i] % 32];
    ret_name[NAME_LENGTH] = '\0';
}

struct hf_instance *hf_instance_new(const char *directory, struct hf_err *err)
{
    struct hf_instance *instance = hf_new(struct hf_instance);
    struct hf_estate *own = &instance->estate;
    char path[HF_INSTANCE_PATH_SIZE];
    errno = ENAMETOOLONG;
    (void)snprintf(own->directory, sizeof own->directory, "%s", directory);
    for (int i = 0; i < TRIES; i++) {
        make_name(own->name);
        if (!hf_instance_path(directory, own->name, "lock", path))
            break;
        if (lock_file(path, O_CREAT | O_EXCL, &own->fd))
            return instance;
        if (errno != EEXIST && errno != EAGAIN)
            break;
    }
    hf_fail(err, "no lock can be made in the state directory: %s", strerror(errno));
    hf_free(instance);
    return NULL;
}

void hf_instance_free(struct hf_instance *instance, bool leaves_files)
{
    if (!instance)
        return;
    if (leaves_files)
        hf_estate_leave(&instance->estate);
    else
        hf_estate_remove(&instance->estate);
    hf_free(instance);
}

const char *hf_instance_name(const struct hf_instance *instance)
{
    return instance->estate.name;
}

/* ---- the others ---- */

bool hf_estate_take(const char *directory, const char *name, struct hf_estate *ret_estate)
{
    char path[HF_INSTANCE_PATH_SIZE];
    int fd;
    if (strlen(name) != NAME_LENGTH || strlen(directory) >= sizeof ret_estate->directory ||
        !hf_instance_path(directory, name, "lock", path) || !lock_file(path, 0, &fd))
        return false;
    ret_estate->fd = fd;
    memcpy(ret_estate->name, name, NAME_LENGTH + 1);
    memcpy(ret_estate->directory, directory, strlen(directory) + 1);
    return true;
}

void hf_estate_remove(struct hf_estate *estate)
{
    char path[HF_INSTANCE_PATH_SIZE];
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        if (hf_instance_path(estate->directory, estate->name, endings[i], path))
            (void)unlink(path);
    hf_estate_leave(estate);
}

void hf_estate_leave(struct hf_estate *estate)
{
    close(estate->fd);
    estate->fd = -1;
}

static bool is_lock_file(const char *file)
{
    return strlen(file) == NAME_LENGTH + 5 && strcmp(file + NAME_LENGTH, ".lock") == 0 &&
           strspn(file, letters) == NAME_LENGTH;
}

void hf_instances_each(const char *directory, void (*on_name)(void *context, const char *name),
                       void *context)
{
    DIR *listing = opendir(directory);
    char name[HF_INSTANCE_NAME_SIZE];
    if (!listing)
        return;
    for (const struct dirent *entry; (entry = readdir(listing));) {
        if (!is_lock_file(entry->d_name))
            continue;
        memcpy(name, entry->d_name, NAME_LENGTH);
        name[NAME_LENGTH] = '\0';
        on_name(context, name);
    }
    (void)closedir(listing);
}

bool hf_instance_exists(const char *directory, const char *name)
{
    char path[HF_INSTANCE_PATH_SIZE];
    struct stat st;
    return hf_instance_path(directory, name, "lock", path) && stat(path, &st) == 0;
}
