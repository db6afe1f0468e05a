/* library_log.h - the log of one holdfast, with the alarm that reports lines held back in a flood.
 */
#ifndef HF_LIB_LIBRARY_LOG_H
#define HF_LIB_LIBRARY_LOG_H

#include "core/engine.h"
#include "io/loop.h"
#include "ops/log.h"

struct hf_library_log {
    struct hf_log *writer; /* NULL: nothing is logged */
    struct hf_loop *loop;
    struct hf_alarm review;
    enum hf_log_level level;
    enum hf_log_format format;
    char **warnings; /* warnings of the config, until there is a log to write them to */
};

void hf_library_log_init(struct hf_library_log *log, struct hf_loop *loop,
                         const struct hf_config *config);
void hf_library_log_done(struct hf_library_log *log); /* to be called before the loop is freed */
HF_MUST_CHECK bool hf_library_log_open(struct hf_library_log *log, int fd, struct hf_err *err);

/* Writes the log also to `kind-NAME.log` in the config's state directory. */
HF_MUST_CHECK bool hf_library_log_keep(struct hf_library_log *log, const struct hf_config *config,
                                       const char *kind, const char *name, struct hf_err *err);

void hf_library_log_note(struct hf_library_log *log, const struct hf_note *note);
void hf_library_log_stderr(struct hf_library_log *log, struct hf_runtime *runtime,
                           struct hf_span line);
void hf_library_log_warnings(struct hf_library_log *log, char *const *warnings); /* of a config */
void hf_library_log_write(struct hf_library_log *log, const struct hf_log_entry *entry);

#endif
