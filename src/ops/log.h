/*
 * log.h - the log: one line for each event, as a sentence for people or as JSON with fields.
 *
 * 1. Writing a line never waits: a reader that does not keep up loses lines, and is told how many.
 * 2. In text of peers, characters that control a terminal or change the order of the text are
 *    escaped (config_text.h).
 * 3. Of one kind of line (same server, same event), HF_LOG_FLOOD_LINES are written in a window of
 *    HF_LOG_FLOOD_MS; the rest is counted and reported in one line when the window ends. The table
 *    of kinds is bounded. At level "debug" every line is written.
 *
 * The time is passed in, as everywhere; only the timestamp of a line is the time of day.
 */
#ifndef HF_OPS_LOG_H
#define HF_OPS_LOG_H

#include "base/err.h"
#include "base/span.h"
#include "core/note.h"
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
    struct hf_span server; /* empty: about no server */
    uint64_t generation;   /* 0: none */
    const struct hf_log_field *fields;
    size_t field_count;
    struct hf_span sentence; /* for people; has the facts of the fields, too */
};

struct hf_log *hf_log_new(int fd, enum hf_log_level level, enum hf_log_format format,
                          struct hf_err *err);
/* Writes the log also to a file that stays small (log_file.h): everything from level info on, or
 * from the log's own level if that is lower. Each line names the process that wrote it. */
HF_MUST_CHECK bool hf_log_keep(struct hf_log *log, const char *path, struct hf_err *err);
void hf_log_free(struct hf_log *log); /* reports lines that were held back; NULL accepted */

/* A NULL log drops everything. A field whose key was used before in the line is left out. */
void hf_log_write(struct hf_log *log, const struct hf_log_entry *entry, uint64_t now_ms);
/* A note of the engine as an entry (log_notes.c has the table). */
void hf_log_note(struct hf_log *log, const struct hf_note *note, uint64_t now_ms);
/* Reports lines that were held back in windows that have ended. Returns when to call it again; 0:
 * no need. */
uint64_t hf_log_review(struct hf_log *log, uint64_t now_ms);

#endif
