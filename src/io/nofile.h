/*
 * nofile.h - how many descriptors the process may have open.
 *
 * A gateway needs as many as it can get; its children get what we were started with: programs that
 * walk all possible descriptors, or use select(), must not meet a million of them. The limit is the
 * process's, and so is what is remembered here.
 */
#ifndef HF_IO_NOFILE_H
#define HF_IO_NOFILE_H

void hf_nofile_raise(void); /* to the hard limit; for a program that serves many */
/* What it was before, or 0: it was never raised. */
unsigned long hf_nofile_before(void);

#endif
