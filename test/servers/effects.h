/*
 * effects.h - the test server: an MCP server over stdio that does what it is told, at its worst.
 *
 * Every tool call that matters appends one line to a log outside the process, so that a test can
 * count how often it really ran. It never protects itself from its peer: holdfast is under test,
 * not this.
 */
#ifndef TEST_SERVERS_EFFECTS_H
#define TEST_SERVERS_EFFECTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/buf.h"
#include "base/span.h"
#include "wire/json.h"
#include "wire/jsonrpc.h"

enum read_mode {
    READ_ONE_LINE, /* byte by byte: a kill loses at most the one line that was taken */
    READ_CHUNK,    /* up to 64 KB ahead, as most runtimes do */
    READ_STREAM,   /* as chunk, but a message is done at its closing brace, newline or not */
};

struct options {
    const char *effects, *instances, *events; /* log files, NULL: not kept */
    const char *fail_starts;                  /* while this file exists, a start fails */
    const char *tools_from;                   /* the listed tools, one name per line */
    const char *arm;      /* a file with a number N: die after reading N more bytes; used once */
    const char *die_once; /* a file with a method or tool name: run it, die unanswered; used once */
    const char *poison;   /* a line that holds this text kills after poison_bytes of it */
    const char *instructions, *name;
    long poison_bytes;
    long page; /* tools per page, 0: all */
    enum read_mode read_mode;
    bool hang_start, hang_list, hang_close, exit_after_list, bare;
};

enum { TIMERS_MAX = 512, ASKS_MAX = 64, SUBSCRIPTIONS_MAX = 16, TOOLS_FROM_MAX = 64 };

struct slow_call { /* a `slow` that still sleeps; id == NULL: free place */
    char *id, *key;
    uint64_t due_ns;
};
struct ask { /* a request of ours that the client has; id == NULL: free place */
    char *id;
    unsigned number;
};

struct server {
    struct options opt;
    struct hf_buf in;
    size_t scanned; /* bytes of `in` that hold no end of a message */
    int depth;      /* READ_STREAM: open braces and brackets */
    bool in_string, escaped;
    long die_left; /* bytes until death, -1: none planned */
    bool saw_eof;
    bool has_extra; /* whether the tool `extra` is listed */
    unsigned asked;
    struct slow_call slow[TIMERS_MAX];
    struct ask asks[ASKS_MAX];
    char *subscriptions[SUBSCRIPTIONS_MAX];
    char *tools_from[TOOLS_FROM_MAX];
    size_t tools_from_count;
};

struct call {
    struct hf_span id, params, args, token; /* token.p == NULL: no progress wanted */
    const char *tool;
};

typedef void (*tool_fn)(struct server *s, const struct call *call);
struct tool {
    const char *name, *annotations; /* annotations: a JSON object, or NULL */
    tool_fn run;
};

/* effects.c */
_Noreturn void die(void); /* SIGKILL: no exit handler, no flush, no answer */
void append_line(const char *path, const char *format, ...) HF_PRINTF(2, 3);
uint64_t clock_ns(void);

/* effects_out.c: every message leaves through here, and a planned death comes before the answer */
void out_bytes(struct hf_span bytes);
void out_line(struct hf_buf *line);
void out_result(struct server *s, struct hf_span id, struct hf_span result);
void out_error(struct server *s, struct hf_span id, int code, const char *message);
void out_text(struct server *s, struct hf_span id, struct hf_span text);
void out_notification(const char *method, struct hf_span params);

/* effects_protocol.c */
void on_message(struct server *s, struct hf_span text);
bool die_if_told(struct server *s, const char *what); /* false: it was not */

/* effects_tools.c */
extern const struct tool tools[];
const struct tool *tool_named(const char *name); /* NULL: none */
void tools_tick(struct server *s);               /* `slow` calls whose time has come */
int tools_timeout_ms(const struct server *s);    /* -1: none */
void on_cancelled(struct server *s, struct hf_span id);
void on_answer(struct server *s, const struct hf_msg *msg);

/* arguments; what is absent is the default */
long arg_int(struct hf_span args, const char *name, long otherwise);
/* A copy to hf_free. */
char *arg_text(struct hf_span args, const char *name, const char *otherwise);

#endif
