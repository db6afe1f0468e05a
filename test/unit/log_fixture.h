/* log_fixture.h - a log that writes into a pipe, to be read by a test. */
#ifndef HF_TEST_LOG_FIXTURE_H
#define HF_TEST_LOG_FIXTURE_H

#include <fcntl.h>
#include <unistd.h>
#include "ops/log.h"
#include "test.h"

struct world {
    int fds[2];
    struct hf_log *log;
    char text[1 << 16];
};

static inline void open_log(struct world *w, enum hf_log_level level, enum hf_log_format format)
{
    struct hf_err err;
    REQUIRE(pipe2(w->fds, O_CLOEXEC | O_NONBLOCK) == 0);
    w->log = hf_log_new(w->fds[1], level, format, &err);
    REQUIRE(w->log);
}

/* What was written since the last look. */
static inline const char *read_log(struct world *w)
{
    const ssize_t n = read(w->fds[0], w->text, sizeof w->text - 1);
    w->text[n > 0 ? n : 0] = '\0';
    return w->text;
}

static inline void close_log(struct world *w)
{
    hf_log_free(w->log);
    close(w->fds[0]);
    close(w->fds[1]);
}

#endif
