/*
 * instance.h - this process among others that share a state directory.
 *
 * Every process has a random name and three files under it: NAME.lock, which it holds a lock on as
 * long as it lives, NAME.ring (ring.h) and NAME.sock. The kernel gives the lock back however the
 * process ends: so a process is gone exactly when somebody else can take its lock. What it left is
 * then the taker's, until the taker removes it or lets go of the lock.
 *
 * 1. The lock file is made first and removed last, under its lock: other files without it do not
 *    occur, and two that look at the same time cannot both have it.
 * 2. Nothing here waits for a lock.
 */
#ifndef HF_STORE_INSTANCE_H
#define HF_STORE_INSTANCE_H

#include "base/err.h"
#include "base/span.h"
#include "store/call_row.h"

enum { HF_INSTANCE_PATH_SIZE = 4096 };

struct hf_instance;

/* Makes a name and takes its lock. NULL: `err` says why. */
struct hf_instance *hf_instance_new(const char *directory, struct hf_err *err);
/* Its files go too, unless they hold what is not in the store yet: whoever looks next takes over.
 * NULL accepted. */
void hf_instance_free(struct hf_instance *instance, bool leaves_files);

const char *hf_instance_name(const struct hf_instance *instance);

/* The path of a file of an instance; `ending` is "lock", "ring" or "sock". */
HF_MUST_CHECK bool hf_instance_path(const char *directory, const char *name, const char *ending,
                                    char ret_path[HF_INSTANCE_PATH_SIZE]);

/* ---- the others ---- */

struct hf_estate { /* what a process that is gone left behind; its lock is ours */
    char directory[HF_INSTANCE_PATH_SIZE];
    char name[HF_INSTANCE_NAME_SIZE];
    int fd;
};

/* False: it lives, is `own`, or somebody else is at it. */
HF_MUST_CHECK bool hf_estate_take(const char *directory, const char *name,
                                  struct hf_estate *ret_estate);
void hf_estate_remove(struct hf_estate *estate); /* its files are deleted, the lock file last */
void hf_estate_leave(struct hf_estate *estate);  /* for whoever looks next */

/* Calls `on_name` for each instance that has a lock file, living or not, in no order. */
void hf_instances_each(const char *directory, void (*on_name)(void *context, const char *name),
                       void *context);
/* Whether it has a lock file. */
bool hf_instance_exists(const char *directory, const char *name);

#endif
