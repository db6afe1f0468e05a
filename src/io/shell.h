/*
 * shell.h - what backends and fronts share: the engine and the loop.
 *
 * After passing an event to the engine, the caller calls hf_shell_pump: it performs the effects and
 * sets the alarm. Called again from inside an effect, it does nothing.
 */
#ifndef HF_IO_SHELL_H
#define HF_IO_SHELL_H

#include "base/list.h"
#include "core/engine.h"
#include "io/loop.h"

struct hf_shell {
    struct hf_engine *engine;
    struct hf_loop *loop;
    void (*pump)(struct hf_shell *shell);
    struct hf_link dirty; /* struct hf_flush: has bytes to write at the end of this turn */
    struct hf_link later; /* struct hf_flush too: those that earlier turns had no time for */
    struct hf_link dead;  /* struct hf_flush too: freed at the end of the turn */
};

/* Where the messages of a session go; passed to hf_session_open. */
struct hf_sink {
    void (*send)(struct hf_sink *sink, const struct hf_effect *effect);
};

/* An object that collects bytes during a turn and writes them once at its end. */
struct hf_flush {
    struct hf_link link;
    void (*flush)(struct hf_flush *self);
};
/* Every flusher is allocated and begins with its struct hf_flush, so the shell can free it. */

static inline void hf_shell_pump(struct hf_shell *shell)
{
    shell->pump(shell);
}

static inline uint64_t hf_shell_now(struct hf_shell *shell)
{
    return hf_loop_now_ms(shell->loop);
}

static inline struct hf_now hf_shell_time(struct hf_shell *shell)
{
    return hf_loop_time(shell->loop);
}

static inline void hf_shell_flush_later(struct hf_shell *shell, struct hf_flush *flush)
{
    if (!hf_linked(&flush->link))
        hf_list_push(&shell->dirty, &flush->link);
}

/* The end of a turn: of those that have bytes to write, a portion of new ones and a portion of old
 * ones write. A write takes 5 to 10 us, and news may be for thousands of streams. False: some are
 * left, and another turn must come at once. */
bool hf_shell_flush(struct hf_shell *shell);

static inline void hf_shell_free_later(struct hf_shell *shell, struct hf_flush *flush)
{
    hf_unlink(&flush->link);
    hf_list_push(&shell->dead, &flush->link);
}

#endif
