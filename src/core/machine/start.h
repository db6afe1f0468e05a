/*
 * start.h - why a server could not be started, and whether that can pass by itself.
 *
 * A missing program, a file that may not be executed, a missing folder: trying again does not help,
 * somebody has to change something. Everything else (no memory, too many processes, a program that
 * is just being replaced) may be gone at the next attempt.
 */
#ifndef HF_CORE_MACHINE_START_H
#define HF_CORE_MACHINE_START_H

#include <stdbool.h>

enum hf_start_step {                   /* where it failed */
                     HF_START_PREPARE, /* pipes, a process, a library: ours, not the server's */
                     HF_START_ENTER,   /* entering the working directory */
                     HF_START_EXECUTE, /* executing the program */
};

struct hf_start_failure {
    enum hf_start_step step;
    int error;       /* errno of that step; 0: not known */
    const char *why; /* for people: what is wrong and what to do */
};

bool hf_start_failed_for_good(const struct hf_start_failure *failure);

#endif
