/*
 * log_file.h - a log in a file that stays small, for any number of processes at once.
 *
 * A file that would grow over HF_LOG_FILE_MAX is renamed to PATH.old, which replaces the old one,
 * and a new file is begun: the size is bounded, and the newest lines are kept.
 *
 * 1. A line is one write at the end of the file, so lines of several processes never mix.
 * 2. Only the process that has locked the file renames it; the others notice that PATH is another
 *    file now. No process waits for another.
 * 3. Symbolic links are not followed, and only the owner may read the file.
 *
 * A write may wait for the disk, as any write to a file does. Lines that cannot be written are
 * dropped.
 */
#ifndef HF_OPS_LOG_FILE_H
#define HF_OPS_LOG_FILE_H

#include "base/err.h"
#include "base/span.h"

enum { HF_LOG_FILE_MAX = 1 << 20 };

struct hf_log_file;

struct hf_log_file *hf_log_file_open(const char *path, struct hf_err *err);
void hf_log_file_close(struct hf_log_file *file); /* NULL accepted */
/* Writes both parts as one line, which includes the line break. */
void hf_log_file_write(struct hf_log_file *file, struct hf_span first, struct hf_span second);

#endif
