/*
 * nofile.h - the process's limit of open descriptors (RLIMIT_NOFILE).
 *
 * A gateway needs as many descriptors as it can get. Its children get the limit that we were
 * started with: some programs walk all possible descriptors, or use select(), and do not work with
 * a million of them. The state here belongs to the process, as the limit does.
 */
#ifndef HF_IO_NOFILE_H
#define HF_IO_NOFILE_H

void hf_nofile_raise(void); /* to the hard limit; for a program that serves many */
/* The limit before it was raised; 0: it was not raised. */
unsigned long hf_nofile_before(void);

#endif
