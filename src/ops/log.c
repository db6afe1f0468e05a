/* log.c - see log.h. */
#include "ops/log.h"
#include <stdio.h>
#include <time.h>
#include "base/buf.h"
#include "io/stream.h"
#include "wire/json.h"

enum { LINE_MAX_BYTES = 16 * 1024 };

struct hf_log {
    struct hf_stream *out;
    enum hf_log_level level;
    enum hf_log_format format;
    struct hf_buf line;
    uint64_t lost;
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
    hf_buf_init(&log->line, LINE_MAX_BYTES);
    return log;
}

void hf_log_free(struct hf_log *log)
{
    if (!log)
        return;
    hf_stream_close(log->out);
    hf_buf_done(&log->line);
    hf_free(log);
}

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

/* A terminal must not obey what a server printed. */
static void add_escaped(struct hf_buf *out, struct hf_span text)
{
    for (size_t i = 0; i < text.n; i++) {
        const unsigned char c = (unsigned char)text.p[i];
        if (c < 0x20 || c == 0x7f)
            hf_buf_printf(out, "\\x%02x", c);
        else
            hf_buf_add_char(out, (char)c);
    }
}

static void add_text_line(struct hf_buf *out, enum hf_log_level level, struct hf_span server,
                          uint64_t generation, struct hf_span text)
{
    add_time(out);
    hf_buf_printf(out, " %s", level_names[level]);
    if (server.n) {
        hf_buf_add_str(out, " server=");
        add_escaped(out, server);
    }
    if (generation)
        hf_buf_printf(out, " generation=%llu", (unsigned long long)generation);
    hf_buf_add_char(out, ' ');
    add_escaped(out, text);
}

static void add_json_line(struct hf_buf *out, enum hf_log_level level, struct hf_span server,
                          uint64_t generation, struct hf_span text)
{
    hf_buf_add_str(out, "{\"time\":\"");
    add_time(out);
    hf_buf_printf(out, "\",\"level\":\"%s\"", level_names[level]);
    if (server.n) {
        hf_json_add_key(out, "server");
        hf_json_add_string(out, server);
    }
    if (generation)
        hf_buf_printf(out, ",\"generation\":%llu", (unsigned long long)generation);
    hf_json_add_key(out, "message");
    hf_json_add_string(out, text);
    hf_buf_add_char(out, '}');
}

void hf_log_line(struct hf_log *log, enum hf_log_level level, struct hf_span server,
                 uint64_t generation, struct hf_span text)
{
    if (!log || level < log->level)
        return;
    if (text.n > LINE_MAX_BYTES / 8) /* escapes may grow it sixfold */
        text.n = LINE_MAX_BYTES / 8;
    hf_buf_clear(&log->line);
    if (log->format == HF_LOG_JSON)
        add_json_line(&log->line, level, server, generation, text);
    else
        add_text_line(&log->line, level, server, generation, text);
    if (log->lost && log->format == HF_LOG_TEXT)
        hf_buf_printf(&log->line, " (%llu lines before it were lost)",
                      (unsigned long long)log->lost);
    hf_buf_add_char(&log->line, '\n');
    const struct hf_span line = hf_buf_span(&log->line);
    const struct iovec part = { (void *)(uintptr_t)line.p, line.n };
    size_t written = 0;
    if (hf_stream_writev(log->out, &part, 1, &written) == HF_IO_DONE)
        log->lost = 0;
    else
        log->lost++;
}
