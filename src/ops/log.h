/*
 * log.h - one line for each thing worth knowing: a sentence for people, or JSON with fields.
 *
 * 1. A line never waits: a reader that does not keep up loses lines, and is told how many.
 * 2. What a terminal would obey, or what turns the order of a line around, is escaped in whatever a
 *    peer said (config_text.h).
 * 3. Of one kind of line (same server, same event) a window of FLOOD_MS takes FLOOD_LINES; the rest
 *    is counted and told in one line when the window is over. The table of kinds is bounded.
 * Nothing is held back at level "debug": whoever asked for every line gets it.
 *
 * The time is passed in, as everywhere; only the stamp on a line is the clock on the wall.
 */
#ifndef HF_OPS_LOG_H
#define HF_OPS_LOG_H

#include "base/err.h"
#include "base/span.h"
#include "ops/config.h"

enum { HF_LOG_FLOOD_LINES = 100, HF_LOG_FLOOD_MS = 10000 };

struct hf_log;

enum hf_log_type { HF_LOG_WORDS, HF_LOG_NUMBER };

struct hf_log_field {   /* a member of the JSON line */
    struct hf_span key; /* letters, digits and "_" */
    enum hf_log_type type;
    struct hf_span words;
    int64_t number;
};

struct hf_log_entry {
    enum hf_log_level level;
    struct hf_span event;  /* one word for the kind of thing that happened */
    struct hf_span server; /* empty: of no server */
    uint64_t generation;   /* 0: none */
    const struct hf_log_field *fields;
    size_t field_count;
    struct hf_span sentence; /* what a person reads; has what is in the fields */
};

struct hf_log *hf_log_new(int fd, enum hf_log_level level, enum hf_log_format format,
                          struct hf_err *err);
/* Also into a file that stays small (log_file.h): everything from level info on, or from the log's
 * own level if that is lower. Each line says which process wrote it. */
HF_MUST_CHECK bool hf_log_keep(struct hf_log *log, const char *path, struct hf_err *err);
void hf_log_free(struct hf_log *log); /* tells what was held back; NULL accepted */

/* A NULL log drops everything. A field whose name is taken already is left out. */
void hf_log_write(struct hf_log *log, const struct hf_log_entry *entry, uint64_t now_ms);
/* The engine's notes of today, `event key=value … words`, taken apart into an entry. */
void hf_log_note(struct hf_log *log, enum hf_log_level level, struct hf_span server,
                 uint64_t generation, struct hf_span note, uint64_t now_ms);
/* Tells what was held back in windows that are over. Returns when to come again, or 0. */
uint64_t hf_log_review(struct hf_log *log, uint64_t now_ms);

#endif
