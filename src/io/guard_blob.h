/*
 * guard_blob.h - where the guard's program is.
 *
 * It travels inside the library, so that one file is enough to run: on first use it is written into
 * a memory file of this process and started from there. Where the system forbids that
 * (vm.memfd_noexec, no /proc), the installed copy is used.
 */
#ifndef HF_IO_GUARD_BLOB_H
#define HF_IO_GUARD_BLOB_H

/* The paths to try, in this order, ended by NULL; valid until the process ends. */
const char *const *hf_guard_paths(void);

#endif
