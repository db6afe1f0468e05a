/* effects_out.c - what the test server writes; see effects.h. */
#include "effects.h"
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum { OUT_MAX = 1 << 30 };

void out_bytes(struct hf_span bytes)
{
    while (bytes.n > 0) {
        const ssize_t n = write(STDOUT_FILENO, bytes.p, bytes.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            _exit(4); /* nobody reads us any more */
        bytes = hf_span_from(bytes, (size_t)n);
    }
}

void out_line(struct hf_buf *line)
{
    hf_buf_add_char(line, '\n');
    out_bytes(hf_buf_span(line));
    hf_buf_done(line);
}

static void start_answer(const struct server *s, struct hf_buf *b, struct hf_span id)
{
    if (s->die_left == 0)
        die(); /* it ran, and nobody will ever be told */
    hf_buf_init(b, OUT_MAX);
    hf_buf_add_str(b, "{\"jsonrpc\":\"2.0\",\"id\":");
    hf_buf_add(b, id);
}

void out_result(struct server *s, struct hf_span id, struct hf_span result)
{
    struct hf_buf b;
    start_answer(s, &b, id);
    hf_buf_add_str(&b, ",\"result\":");
    hf_buf_add(&b, result);
    hf_buf_add_char(&b, '}');
    out_line(&b);
}

void out_error(struct server *s, struct hf_span id, int code, const char *message)
{
    struct hf_buf b;
    start_answer(s, &b, id);
    hf_buf_printf(&b, ",\"error\":{\"code\":%d,\"message\":", code);
    hf_json_add_string(&b, hf_span_of(message));
    hf_buf_add_str(&b, "}}");
    out_line(&b);
}

void out_text(struct server *s, struct hf_span id, struct hf_span text)
{
    struct hf_buf b;
    hf_buf_init(&b, OUT_MAX);
    hf_buf_add_str(&b, "{\"content\":[{\"type\":\"text\",\"text\":");
    hf_json_add_string(&b, text);
    hf_buf_add_str(&b, "}]}");
    out_result(s, id, hf_buf_span(&b));
    hf_buf_done(&b);
}

void out_notification(const char *method, struct hf_span params)
{
    struct hf_buf b;
    hf_buf_init(&b, OUT_MAX);
    hf_buf_printf(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\"", method);
    if (params.p) {
        hf_buf_add_str(&b, ",\"params\":");
        hf_buf_add(&b, params);
    }
    hf_buf_add_char(&b, '}');
    out_line(&b);
}
