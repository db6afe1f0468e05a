/*
 * signals.h - signals of the process, for any number of loops.
 *
 * Each loop that wants signals has a struct hf_signals, whose descriptor becomes readable when a
 * signal came. All code of signal handlers is in signals.c; it may run in any thread, also in one
 * that a library made. Several loops that want the same signal are all told.
 *
 * When no loop wants a signal any more, the disposition from before is restored.
 */
#ifndef HF_IO_SIGNALS_H
#define HF_IO_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

enum { HF_SIGNALS_END = NSIG }; /* signals are 1 … HF_SIGNALS_END - 1 */

struct hf_signals;

struct hf_signals *hf_signals_new(void); /* NULL: errno says why */
void hf_signals_free(struct hf_signals *signals);
int hf_signals_fd(const struct hf_signals *signals);

/* Counted: drop a signal as often as it was wanted. False: errno says why. */
bool hf_signals_want(struct hf_signals *signals, int signum);
void hf_signals_drop(struct hf_signals *signals, int signum);

/* Which signals came since the last call; one that came several times counts once. */
void hf_signals_take(struct hf_signals *signals, bool ret_came[HF_SIGNALS_END]);

/* Blocks all signals in this thread, and in threads that are made meanwhile, until they are let in
 * again: for calls into libraries that make threads. */
void hf_signals_keep_out(sigset_t *ret_before);
void hf_signals_let_in(const sigset_t *before);

#endif
