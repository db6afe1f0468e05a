/* foreground.h - a program that Ctrl-C ends, and whoever started us does not notice. */
#ifndef HF_EXAMPLES_FOREGROUND_H
#define HF_EXAMPLES_FOREGROUND_H

/* Runs `argv` to its end, in a process group of its own that has the terminal if there is one: so
 * Ctrl-C reaches it alone, and `make`, which would call that an error, sees how it ended. A signal
 * that is sent to us is passed on. Returns its exit status, 128 and more for a signal, or -1. */
int run_in_foreground(char *const *argv);

#endif
