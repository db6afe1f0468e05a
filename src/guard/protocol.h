/*
 * protocol.h - what the guard and the engine say to each other.
 *
 * One SOCK_SEQPACKET pair per server: every message is one packet, so there is no framing and no
 * half message. Both ends are built from the same tree and carried in the same file, so the
 * protocol has no version.
 *
 * Command line: holdfast-guard [--cwd DIR] [--nofile N] -- COMMAND [ARGUMENT...]
 * The guard's environment is the server's environment; N descriptors is what the server may have.
 *
 *   up:   (STARTED EXIT | EXEC_FAILED) ALL_GONE, with KILL_FAILED anywhere before ALL_GONE
 *   down: TERM and KILL, any number, any time; closing the socket means KILL and "nobody listens"
 */
#ifndef HF_GUARD_PROTOCOL_H
#define HF_GUARD_PROTOCOL_H

#include <stdint.h>

#define HF_GUARD_NAME       "holdfast-guard" /* 15 characters are what the kernel keeps */
#define HF_GUARD_CONTROL_FD 3

enum hf_guard_news {
    HF_GUARD_STARTED = 1, /* pid: the server runs its program */
    HF_GUARD_EXEC_FAILED, /* value: errno; stage: what failed; there is no server */
    HF_GUARD_EXIT,        /* pid, value: wait status of the server; descendants may live on */
    HF_GUARD_ALL_GONE,    /* the server and every descendant are dead and reaped */
    HF_GUARD_KILL_FAILED, /* pid: a descendant that may not be killed (it became another user) */
};

enum hf_guard_stage {
    HF_GUARD_AT_FORK = 1,
    HF_GUARD_AT_CHDIR,
    HF_GUARD_AT_EXEC,
};

struct hf_guard_report {
    uint32_t news; /* enum hf_guard_news */
    uint32_t stage;
    int32_t pid;
    int32_t value;
};

enum hf_guard_order {
    HF_GUARD_TERM = 't', /* SIGTERM to the server's process group */
    HF_GUARD_KILL = 'k', /* SIGKILL to everything, until nothing is left */
};

#endif
