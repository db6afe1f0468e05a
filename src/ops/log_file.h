/*
 * log_file.h - a log in a file that stays small, for any number of processes at once.
 *
 * A file that would grow over HF_LOG_FILE_MAX becomes PATH.old, in the place of the one before, and
 * a new one is begun: what is kept is bounded, and the newest of it is the last to go.
 *
 * 1. A line is one write at the end of the file, so those of several processes never mix.
 * 2. Only one process at a time renames (it has the file locked); the others notice by the file
 * that stands under the name, and nobody waits for anybody.
 * 3. It is never followed by a symbolic link, and only its owner may read it.
 *
 * A write may wait for the disk, as any write to a file does. What cannot be written is dropped.
 */
#ifndef HF_OPS_LOG_FILE_H
#define HF_OPS_LOG_FILE_H

#include "base/err.h"
#include "base/span.h"

enum { HF_LOG_FILE_MAX = 1 << 20 };

struct hf_log_file;

struct hf_log_file *hf_log_file_open(const char *path, struct hf_err *err);
void hf_log_file_close(struct hf_log_file *file); /* NULL accepted */
/* Both parts as one; the line break is in them. */
void hf_log_file_write(struct hf_log_file *file, struct hf_span first, struct hf_span second);

#endif
