/* log.c - see log.h. */
#include "ops/log.h"
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include "base/buf.h"
#include "io/stream.h"
#include "ops/config_text.h"
#include "ops/log_file.h"
#include "wire/json.h"

/* Room for a sentence and its fields; an escaped byte takes six. */
enum { WORDS_MAX = 2048, FIELDS_MAX = 16, LINE_MAX_BYTES = 8 * WORDS_MAX * (2 + FIELDS_MAX) };
enum { KINDS_MAX = 256, EVENT_MAX = 32, SERVER_MAX = 128, OTHERS_LINES = 1000 };

struct kind { /* a kind of line (see log.h), in its current window */
    char server[SERVER_MAX], event[EVENT_MAX];
    size_t server_n, event_n;
    enum hf_log_level level;
    uint64_t since_ms;
    unsigned told, held;
};

struct hf_log {
    struct hf_stream *out;
    struct hf_log_file *kept; /* NULL: none */
    char process[32];         /* what lines in that file begin with */
    enum hf_log_level level;
    enum hf_log_format format;
    struct hf_buf draft, line;
    uint64_t lost;
    bool is_torn; /* only the beginning of the last line could be written */
    struct kind kinds[KINDS_MAX];
    size_t kind_count;
    struct kind others; /* for all kinds that find the table full */
};

static const char *const level_names[] = { "debug", "info", "warn", "error" };

struct hf_log *hf_log_new(int fd, enum hf_log_level level, enum hf_log_format format,
                          struct hf_err *err)
{
    struct hf_stream *out = hf_stream_open_write(fd, err);
    if (!out)
        return NULL;
    struct hf_log *log = hf_new(struct hf_log);
    log->out = out;
    log->level = level;
    log->format = format;
    log->others = (struct kind) { .event = "others", .event_n = strlen("others") };
    hf_buf_init(&log->draft, LINE_MAX_BYTES);
    hf_buf_init(&log->line, LINE_MAX_BYTES);
    return log;
}

bool hf_log_keep(struct hf_log *log, const char *path, struct hf_err *err)
{
    struct hf_log_file *file = hf_log_file_open(path, err);
    if (!file)
        return false;
    hf_log_file_close(log->kept);
    log->kept = file;
    (void)snprintf(log->process, sizeof log->process,
                   log->format == HF_LOG_JSON ? "{\"process\":%ld," : "[%ld] ", (long)getpid());
    return true;
}

/* ---- a line ---- */

static void add_time(struct hf_buf *out)
{
    struct timespec now;
    struct tm parts;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &parts);
    hf_buf_printf(out, "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ", parts.tm_year + 1900,
                  parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                  now.tv_nsec / 1000000);
}

static struct hf_span cut(struct hf_span words, size_t most)
{
    return (struct hf_span) { words.p, words.n < most ? words.n : most };
}

static struct hf_span bounded(struct hf_span words)
{
    return cut(words, WORDS_MAX);
}

static void add_text_line(struct hf_log *log, const struct hf_log_entry *entry)
{
    struct hf_buf *out = &log->line;
    add_time(out);
    hf_buf_printf(out, " %s", level_names[entry->level]);
    if (entry->server.n) {
        hf_buf_add_str(out, " server=");
        hf_text_add_escaped(out, bounded(entry->server));
    }
    if (entry->generation)
        hf_buf_printf(out, " generation=%" PRIu64, entry->generation);
    hf_buf_add_char(out, ' ');
    hf_text_add_escaped(out, bounded(entry->sentence));
}

static bool is_taken(const struct hf_log_entry *entry, size_t at)
{
    static const char *const ours[] = { "time",       "level",   "event", "server",
                                        "generation", "message", "lost" };
    const struct hf_span key = entry->fields[at].key;
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        if (hf_span_is(key, ours[i]))
            return true;
    for (size_t i = 0; i < at; i++)
        if (hf_span_eq(key, entry->fields[i].key))
            return true;
    return false;
}

static void add_field(struct hf_buf *out, const struct hf_log_field *field)
{
    hf_buf_add_char(out, ',');
    hf_json_add_string(out, cut(field->key, EVENT_MAX));
    hf_buf_add_char(out, ':');
    if (field->type == HF_LOG_NUMBER)
        hf_buf_printf(out, "%" PRId64, field->number);
    else
        hf_json_add_string(out, bounded(field->words));
}

static void draft_json_line(struct hf_log *log, const struct hf_log_entry *entry)
{
    struct hf_buf *out = &log->draft;
    hf_buf_add_str(out, "{\"time\":\"");
    add_time(out);
    hf_buf_printf(out, "\",\"level\":\"%s\"", level_names[entry->level]);
    hf_json_add_key(out, "event");
    hf_json_add_string(out, cut(entry->event, EVENT_MAX));
    if (entry->server.n) {
        hf_json_add_key(out, "server");
        hf_json_add_string(out, bounded(entry->server));
    }
    if (entry->generation)
        hf_buf_printf(out, ",\"generation\":%" PRIu64, entry->generation);
    for (size_t i = 0; i < entry->field_count && i < FIELDS_MAX; i++)
        if (!is_taken(entry, i))
            add_field(out, &entry->fields[i]);
    hf_json_add_key(out, "message");
    hf_json_add_string(out, bounded(entry->sentence));
    hf_buf_add_char(out, '}');
}

/* Escapes the characters that JSON allows in a string but that control a terminal. */
static void add_json_line(struct hf_log *log, const struct hf_log_entry *entry)
{
    hf_buf_clear(&log->draft);
    draft_json_line(log, entry);
    const struct hf_span draft = hf_buf_span(&log->draft);
    for (size_t i = 0, length; i < draft.n; i += length) {
        const unsigned code = hf_text_control(draft, i, &length);
        if (code)
            hf_buf_printf(&log->line, "\\u%04x", code);
        else
            hf_buf_add(&log->line, (struct hf_span) { draft.p + i, length });
    }
}

static void write_kept(struct hf_log *log)
{
    /* In JSON, the part for the process replaces the line's opening brace. */
    const size_t brace = log->format == HF_LOG_JSON ? 1 : 0;
    hf_log_file_write(log->kept, hf_span_of(log->process),
                      hf_span_from(hf_buf_span(&log->line), brace));
}

/* Adds the number of lines that the reader missed to the line that it gets. */
static void add_lost(struct hf_log *log)
{
    log->line.end -= log->format == HF_LOG_JSON ? 2 : 1; /* "}\n" or "\n" */
    if (log->format == HF_LOG_JSON)
        hf_buf_printf(&log->line, ",\"lost\":%" PRIu64 "}\n", log->lost);
    else
        hf_buf_printf(&log->line, " (%" PRIu64 " lines before it were lost)\n", log->lost);
}

static void write_out(struct hf_log *log)
{
    if (log->lost)
        add_lost(log);
    const struct hf_span line = hf_buf_span(&log->line);
    const struct iovec parts[] = { { "\n", log->is_torn ? 1 : 0 },
                                   { (void *)(uintptr_t)line.p, line.n } };
    size_t written = 0;
    if (hf_stream_writev(log->out, parts + !log->is_torn, log->is_torn ? 2 : 1, &written) !=
        HF_IO_DONE) {
        log->lost++;
        return;
    }
    log->is_torn = written < line.n + (log->is_torn ? 1 : 0);
    log->lost = log->is_torn ? 1 : 0;
}

static bool is_kept(const struct hf_log *log, enum hf_log_level level)
{
    return log->kept && (level >= HF_LOG_INFO || level >= log->level);
}

static void print(struct hf_log *log, const struct hf_log_entry *entry)
{
    hf_buf_clear(&log->line);
    if (log->format == HF_LOG_JSON)
        add_json_line(log, entry);
    else
        add_text_line(log, entry);
    hf_buf_add_char(&log->line, '\n');
    if (is_kept(log, entry->level))
        write_kept(log);
    if (entry->level >= log->level)
        write_out(log);
}

/* ---- floods ---- */

static void tell_held(struct hf_log *log, struct kind *kind)
{
    char sentence[120];
    const struct hf_span event = { kind->event, kind->event_n };
    const struct hf_log_field fields[] = {
        { .key = HF_SPAN("of"), .words = event },
        { .key = HF_SPAN("count"), .type = HF_LOG_NUMBER, .number = kind->held },
    };
    if (kind->held == 0)
        return;
    (void)snprintf(sentence, sizeof sentence, "… and %u more like it (%.*s) in the last %d s",
                   kind->held, HF_FMT(event), HF_LOG_FLOOD_MS / 1000);
    print(log, &(struct hf_log_entry) {
                   .level = kind->level,
                   .event = HF_SPAN("more"),
                   .server = { kind->server, kind->server_n },
                   .fields = fields,
                   .field_count = sizeof fields / sizeof fields[0],
                   .sentence = hf_span_of(sentence),
               });
    kind->held = 0;
}

/* The kind of an entry. A new kind replaces the one with the oldest window, if that window has
 * ended: if it were replaced earlier, many kinds in turn would never count as a flood. */
static struct kind *find_kind(struct hf_log *log, const struct hf_log_entry *entry, uint64_t now_ms)
{
    const struct hf_span server = cut(entry->server, SERVER_MAX);
    const struct hf_span event = cut(entry->event, EVENT_MAX);
    struct kind *oldest = log->kinds;
    for (struct kind *kind = log->kinds; kind < log->kinds + log->kind_count; kind++) {
        if (hf_span_eq(event, (struct hf_span) { kind->event, kind->event_n }) &&
            hf_span_eq(server, (struct hf_span) { kind->server, kind->server_n }))
            return kind;
        if (kind->since_ms < oldest->since_ms)
            oldest = kind;
    }
    const bool is_full = log->kind_count == KINDS_MAX;
    if (is_full && now_ms - oldest->since_ms < HF_LOG_FLOOD_MS)
        return &log->others;
    struct kind *kind = is_full ? oldest : &log->kinds[log->kind_count++];
    tell_held(log, kind);
    *kind = (struct kind) { .server_n = server.n, .event_n = event.n, .since_ms = now_ms };
    if (server.n)
        memcpy(kind->server, server.p, server.n);
    if (event.n)
        memcpy(kind->event, event.p, event.n);
    return kind;
}

void hf_log_write(struct hf_log *log, const struct hf_log_entry *entry, uint64_t now_ms)
{
    if (!log || (entry->level < log->level && !is_kept(log, entry->level)))
        return;
    if (log->level == HF_LOG_DEBUG) {
        print(log, entry);
        return;
    }
    struct kind *kind = find_kind(log, entry, now_ms);
    const bool is_other = kind == &log->others;
    const unsigned most = is_other ? OTHERS_LINES : HF_LOG_FLOOD_LINES;
    if (now_ms - kind->since_ms >= HF_LOG_FLOOD_MS) {
        tell_held(log, kind);
        kind->told = 0;
        kind->since_ms = now_ms;
    }
    /* A warning is not held back because of many lines of other kinds. */
    if (kind->told == most && !(is_other && entry->level >= HF_LOG_WARN)) {
        kind->level = kind->held++ && kind->level > entry->level ? kind->level : entry->level;
        return;
    }
    kind->told += kind->told < most;
    print(log, entry);
}

/* Returns the end of the kind's window if lines are held back until then, else 0. */
static uint64_t review_kind(struct hf_log *log, struct kind *kind, uint64_t now_ms)
{
    const uint64_t due_ms = kind->since_ms + HF_LOG_FLOOD_MS;
    if (kind->held == 0 || now_ms < due_ms)
        return kind->held ? due_ms : 0;
    tell_held(log, kind);
    kind->told = 0;
    kind->since_ms = now_ms;
    return 0;
}

uint64_t hf_log_review(struct hf_log *log, uint64_t now_ms)
{
    if (!log)
        return 0;
    uint64_t next_ms = review_kind(log, &log->others, now_ms);
    for (size_t i = 0; i < log->kind_count; i++) {
        const uint64_t due_ms = review_kind(log, &log->kinds[i], now_ms);
        if (due_ms && (next_ms == 0 || due_ms < next_ms))
            next_ms = due_ms;
    }
    return next_ms;
}

void hf_log_free(struct hf_log *log)
{
    if (!log)
        return;
    for (size_t i = 0; i < log->kind_count; i++)
        tell_held(log, &log->kinds[i]);
    tell_held(log, &log->others);
    hf_stream_close(log->out);
    hf_log_file_close(log->kept);
    hf_buf_done(&log->draft);
    hf_buf_done(&log->line);
    hf_free(log);
}
