/* log_door.c - see log_door.h. */
#include "lib/log_door.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/strings.h"
#include "ops/state_dir.h"

enum { STDERR_LINE_MAX = 1000 };

static void on_review(void *context)
{
    struct hf_log_door *door = context;
    hf_alarm_set(&door->review, hf_log_review(door->log, hf_loop_now_ms(door->loop)));
}

void hf_log_door_init(struct hf_log_door *door, struct hf_loop *loop,
                      const struct hf_config *config)
{
    *door = (struct hf_log_door) { .loop = loop,
                                   .level = config->log_level,
                                   .format = config->log_format };
    door->warnings = hf_strings_copy(config->warnings);
    hf_alarm_init(&door->review, loop, on_review, door);
}

void hf_log_door_done(struct hf_log_door *door)
{
    hf_alarm_set(&door->review, 0);
    hf_log_free(door->log);
    hf_strings_free(door->warnings);
    door->log = NULL;
}

bool hf_log_door_open(struct hf_log_door *door, int fd, struct hf_err *err)
{
    struct hf_log *log = hf_log_new(fd, door->level, door->format, err);
    if (!log)
        return false;
    hf_log_free(door->log);
    door->log = log;
    hf_log_door_warnings(door, door->warnings);
    hf_strings_free(door->warnings);
    door->warnings = NULL;
    return true;
}

static const char *from_environment(const char *name, void *context)
{
    (void)context;
    return getenv(name);
}

bool hf_log_door_keep(struct hf_log_door *door, const struct hf_config *config, const char *kind,
                      const char *name, struct hf_err *err)
{
    char directory[HF_STATE_PATH_SIZE], path[HF_STATE_PATH_SIZE];
    char sentence[HF_STATE_PATH_SIZE + 64];
    if (!door->log)
        return hf_fail(err, "there is no log yet that could be kept");
    if (!hf_state_dir_find(config->state_dir, from_environment, NULL, directory, err) ||
        !hf_state_dir_make(directory, err) ||
        !hf_state_dir_file(directory, kind, name, "log", path, err) ||
        !hf_log_keep(door->log, path, err))
        return false;
    const int n = snprintf(sentence, sizeof sentence, "this log is also kept in %s", path);
    const struct hf_log_field field = { .key = HF_SPAN("path"), .words = hf_span_of(path) };
    hf_log_door_write(door, &(struct hf_log_entry) {
                                .level = HF_LOG_INFO,
                                .event = HF_SPAN("log_kept"),
                                .fields = &field,
                                .field_count = 1,
                                .sentence = { sentence, (size_t)n },
                            });
    return true;
}

/* Lines that were just held back are reported when their window ends. */
static void come_again(struct hf_log_door *door)
{
    hf_alarm_set(&door->review, hf_log_review(door->log, hf_loop_now_ms(door->loop)));
}

void hf_log_door_note(struct hf_log_door *door, const struct hf_note *note)
{
    static const enum hf_log_level levels[] = { HF_LOG_DEBUG, HF_LOG_INFO, HF_LOG_WARN,
                                                HF_LOG_ERROR };
    hf_log_note(door->log, levels[note->level], note->server, note->generation, note->text,
                hf_loop_now_ms(door->loop));
    come_again(door);
}

void hf_log_door_write(struct hf_log_door *door, const struct hf_log_entry *entry)
{
    hf_log_write(door->log, entry, hf_loop_now_ms(door->loop));
    come_again(door);
}

void hf_log_door_stderr(struct hf_log_door *door, struct hf_runtime *runtime, struct hf_span line)
{
    const struct hf_server_config *config = hf_server_shell(hf_runtime_server(runtime));
    char text[STDERR_LINE_MAX + 16];
    line.n = line.n < STDERR_LINE_MAX ? line.n : STDERR_LINE_MAX;
    const int n = snprintf(text, sizeof text, "stderr: %.*s", HF_FMT(line));
    const struct hf_log_field field = { .key = HF_SPAN("line"), .words = line };
    hf_log_door_write(door, &(struct hf_log_entry) {
                                .level = HF_LOG_INFO,
                                .event = HF_SPAN("stderr"),
                                .server = hf_span_of(config->name),
                                .generation = hf_runtime_generation(runtime),
                                .fields = &field,
                                .field_count = 1,
                                .sentence = { text, (size_t)n },
                            });
}

void hf_log_door_warnings(struct hf_log_door *door, char *const *warnings)
{
    for (size_t i = 0; warnings && warnings[i]; i++)
        hf_log_door_write(door, &(struct hf_log_entry) {
                                    .level = HF_LOG_WARN,
                                    .event = HF_SPAN("config"),
                                    .sentence = hf_span_of(warnings[i]),
                                });
}
