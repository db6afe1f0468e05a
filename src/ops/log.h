/*
 * log.h - one line for each thing worth knowing, as text or JSON.
 *
 * A line never waits: a reader that does not keep up loses lines, and is told how many. Bytes of
 * peers are escaped.
 */
#ifndef HF_OPS_LOG_H
#define HF_OPS_LOG_H

#include "base/err.h"
#include "base/span.h"
#include "ops/config.h"

struct hf_log;

struct hf_log *hf_log_new(int fd, enum hf_log_level level, enum hf_log_format format,
                          struct hf_err *err);
void hf_log_free(struct hf_log *log); /* NULL accepted */
/* `server` may be empty; `generation` 0 is none. A NULL log drops everything. */
void hf_log_line(struct hf_log *log, enum hf_log_level level, struct hf_span server,
                 uint64_t generation, struct hf_span text);

#endif
