/*
 * rig.h - what stands between the bench's client and the echo server, started and weighed.
 *
 * A rig owns its processes and both pipe ends. It uses nothing of holdfast's: `cat` and holdfast
 * are both just programs to it.
 */
#ifndef BENCH_RIG_H
#define BENCH_RIG_H

#include <stdint.h>
#include <sys/types.h>

enum path { DIRECT, RELAY, HOLDFAST, PATH_COUNT };
enum style { EACH, BATCH, STYLE_COUNT }; /* how the echo server writes; see echo.c */
enum { BETWEEN_MAX = 2 };

struct rig {
    int to, from; /* our ends of the pipes */
    pid_t server;
    pid_t between[BETWEEN_MAX]; /* relay: both cats; holdfast: itself and its guard */
    unsigned between_count;
    pid_t ours[3]; /* to be waited for */
    unsigned our_count;
};

struct cpu { /* ns since each process began */
    uint64_t client, between, server;
};

const char *path_name(enum path path);
const char *style_name(enum style style);
void rig_start(struct rig *rig, enum path path, enum style style, const char *holdfast,
               const char *echo);
/* To be called once the server has answered: before that, holdfast's children are not there yet. */
void rig_find_processes(struct rig *rig, enum path path);
void rig_stop(struct rig *rig);
struct cpu rig_cpu(const struct rig *rig);
pid_t only_child(pid_t parent); /* gives up if there is none */
long private_dirty_kb(pid_t pid);
/* User and system time to the nanosecond, where /proc/PID/stat counts in ticks of 10 ms. */
uint64_t cpu_of_process(pid_t pid);

/* Returns when it used less than a twentieth of a processor for a moment. */
void wait_until_idle(pid_t pid);
/* A program in a process group of its own, so that all of it can be killed. `in` -1: no stdin;
 * `out` -1: its stdout goes where its stderr goes, to `log`; `log` NULL: both stay ours. */
pid_t start_apart(const char *const *argv, int in, int out, const char *log);

_Noreturn void give_up(const char *what);

#endif
