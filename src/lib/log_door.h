/* log_door.h - the log of one holdfast, with the alarm that reports lines held back in a flood. */
#ifndef HF_LIB_LOG_DOOR_H
#define HF_LIB_LOG_DOOR_H

#include "core/engine.h"
#include "io/loop.h"
#include "ops/log.h"

struct hf_log_door {
    struct hf_log *log; /* NULL: nothing is logged */
    struct hf_loop *loop;
    struct hf_alarm review;
    enum hf_log_level level;
    enum hf_log_format format;
    char **warnings; /* warnings of the config, until there is a log to write them to */
};

void hf_log_door_init(struct hf_log_door *door, struct hf_loop *loop,
                      const struct hf_config *config);
void hf_log_door_done(struct hf_log_door *door); /* to be called before the loop is freed */
HF_MUST_CHECK bool hf_log_door_open(struct hf_log_door *door, int fd, struct hf_err *err);

/* Writes the log also to `kind-NAME.log` in the config's state directory. */
HF_MUST_CHECK bool hf_log_door_keep(struct hf_log_door *door, const struct hf_config *config,
                                    const char *kind, const char *name, struct hf_err *err);

void hf_log_door_note(struct hf_log_door *door, const struct hf_note *note);
void hf_log_door_stderr(struct hf_log_door *door, struct hf_runtime *runtime, struct hf_span line);
void hf_log_door_warnings(struct hf_log_door *door, char *const *warnings); /* of a config */
void hf_log_door_write(struct hf_log_door *door, const struct hf_log_entry *entry);

#endif
