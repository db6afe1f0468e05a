/* library_log.c - see library_log.h. */
#include "lib/library_log.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/strings.h"
#include "ops/state_dir.h"

enum { STDERR_LINE_MAX = 1000 };

static void on_review(void *context)
{
    struct hf_library_log *log = context;
    hf_alarm_set(&log->review, hf_log_review(log->writer, hf_loop_now_ms(log->loop)));
}

void hf_library_log_init(struct hf_library_log *log, struct hf_loop *loop,
                         const struct hf_config *config)
{
    *log = (struct hf_library_log) { .loop = loop,
                                     .level = config->log_level,
                                     .format = config->log_format };
    log->warnings = hf_strings_copy(config->warnings);
    hf_alarm_init(&log->review, loop, on_review, log);
}

void hf_library_log_done(struct hf_library_log *log)
{
    hf_alarm_set(&log->review, 0);
    hf_log_free(log->writer);
    hf_strings_free(log->warnings);
    log->writer = NULL;
}

bool hf_library_log_open(struct hf_library_log *log, int fd, struct hf_err *err)
{
    struct hf_log *writer = hf_log_new(fd, log->level, log->format, err);
    if (!writer)
        return false;
    hf_log_free(log->writer);
    log->writer = writer;
    hf_library_log_warnings(log, log->warnings);
    hf_strings_free(log->warnings);
    log->warnings = NULL;
    return true;
}

static const char *from_environment(const char *name, void *context)
{
    (void)context;
    return getenv(name);
}

bool hf_library_log_keep(struct hf_library_log *log, const struct hf_config *config,
                         const char *kind, const char *name, struct hf_err *err)
{
    char directory[HF_STATE_PATH_SIZE], path[HF_STATE_PATH_SIZE];
    char sentence[HF_STATE_PATH_SIZE + 64];
    if (!log->writer)
        return hf_fail(err, "there is no log yet that could be kept");
    if (!hf_state_dir_find(config->state_dir, from_environment, NULL, directory, err) ||
        !hf_state_dir_make(directory, err) ||
        !hf_state_dir_file(directory, kind, name, "log", path, err) ||
        !hf_log_keep(log->writer, path, err))
        return false;
    const int n = snprintf(sentence, sizeof sentence, "this log is also kept in %s", path);
    const struct hf_log_field field = { .key = HF_SPAN("path"), .words = hf_span_of(path) };
    hf_library_log_write(log, &(struct hf_log_entry) {
                                  .level = HF_LOG_DEBUG,
                                  .event = HF_SPAN("log_kept"),
                                  .fields = &field,
                                  .field_count = 1,
                                  .sentence = { sentence, (size_t)n },
                              });
    return true;
}

/* Lines that were just held back are reported when their window ends. */
static void come_again(struct hf_library_log *log)
{
    hf_alarm_set(&log->review, hf_log_review(log->writer, hf_loop_now_ms(log->loop)));
}

void hf_library_log_note(struct hf_library_log *log, const struct hf_note *note)
{
    hf_log_note(log->writer, note, hf_loop_now_ms(log->loop));
    come_again(log);
}

void hf_library_log_write(struct hf_library_log *log, const struct hf_log_entry *entry)
{
    hf_log_write(log->writer, entry, hf_loop_now_ms(log->loop));
    come_again(log);
}

void hf_library_log_stderr(struct hf_library_log *log, struct hf_runtime *runtime,
                           struct hf_span line)
{
    const struct hf_server_config *config = hf_server_config(hf_runtime_server(runtime));
    char text[STDERR_LINE_MAX + 16];
    line.n = line.n < STDERR_LINE_MAX ? line.n : STDERR_LINE_MAX;
    const int n = snprintf(text, sizeof text, "stderr: %.*s", HF_FMT(line));
    const struct hf_log_field field = { .key = HF_SPAN("line"), .words = line };
    hf_library_log_write(log, &(struct hf_log_entry) {
                                  .level = HF_LOG_INFO,
                                  .event = HF_SPAN("stderr"),
                                  .server = hf_span_of(config->name),
                                  .generation = hf_runtime_generation(runtime),
                                  .fields = &field,
                                  .field_count = 1,
                                  .sentence = { text, (size_t)n },
                              });
}

void hf_library_log_warnings(struct hf_library_log *log, char *const *warnings)
{
    for (size_t i = 0; warnings && warnings[i]; i++)
        hf_library_log_write(log, &(struct hf_log_entry) {
                                      .level = HF_LOG_WARN,
                                      .event = HF_SPAN("config"),
                                      .sentence = hf_span_of(warnings[i]),
                                  });
}
