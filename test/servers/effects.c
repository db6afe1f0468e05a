/*
 * effects.c - the test server's start, its reading and its end; see effects.h.
 *
 * How it reads is the point: a proxy can only tell what a dead server took from it by the bytes
 * that are left, so each way of taking them (a line, a chunk, a streaming decoder) is one of its
 * modes, and it can die after an exact number of bytes.
 */
#include "effects.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    CHUNK = 64 * 1024,
    PAD_WITHIN = 256,
    PAD_STEP = 4096,
    LINE_MAX_BYTES = 1 << 30,
    LIFE_S = 300
};

_Noreturn void die(void)
{
    for (;;) {
        kill(getpid(), SIGKILL);
        pause();
    }
}

uint64_t clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void append_line(const char *path, const char *format, ...)
{
    if (!path)
        return;
    char line[4096];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(line, sizeof line - 1, format, args);
    va_end(args);
    const size_t used = n < 0 ? 0 : (size_t)n < sizeof line - 1 ? (size_t)n : sizeof line - 2;
    line[used] = '\n';
    const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    /* one write: lines of several processes never mix, and a kill leaves a line or none */
    if (fd < 0 || write(fd, line, used + 1) != (ssize_t)used + 1)
        _exit(5);
    close(fd);
}

/* The first line of a file, or NULL. */
static char *first_line(const char *path)
{
    FILE *file = path ? fopen(path, "re") : NULL;
    if (!file)
        return NULL;
    char text[512] = "";
    const bool read_some = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    text[strcspn(text, "\n")] = '\0';
    return read_some ? hf_strdup(text) : NULL;
}

bool die_if_told(struct server *s, const char *what)
{
    char *named = first_line(s->opt.die_once);
    const bool told = named && strcmp(named, what) == 0;
    hf_free(named);
    if (!told)
        return false;
    unlink(s->opt.die_once);
    die();
}

/* ---- reading ---- */

/* The test arms us while we rest, so that the count starts at a byte it knows. */
static void look_for_arming(struct server *s)
{
    char *number = s->die_left < 0 ? first_line(s->opt.arm) : NULL;
    if (!number)
        return;
    unlink(s->opt.arm);
    s->die_left = atol(number);
    hf_free(number);
    if (s->die_left == 0)
        die();
}

/* How much of the rest of this line may be taken before a poisoned line kills. */
static size_t poison_left(const struct server *s)
{
    const struct hf_span line = hf_buf_span(&s->in);
    if (!s->opt.poison || !memmem(line.p, line.n, s->opt.poison, strlen(s->opt.poison)))
        return SIZE_MAX;
    const size_t limit = (size_t)s->opt.poison_bytes;
    if (line.n >= limit) {
        append_line(s->opt.instances, "poisoned %d %zu", (int)getpid(), line.n);
        die();
    }
    return limit - line.n;
}

static void read_some(struct server *s, size_t want)
{
    look_for_arming(s);
    const size_t poison = poison_left(s);
    if (want > poison)
        want = poison;
    if (s->die_left > 0 && want > (size_t)s->die_left)
        want = (size_t)s->die_left;
    if (!hf_buf_reserve(&s->in, want))
        _exit(6);
    ssize_t n;
    do
        n = read(STDIN_FILENO, s->in.p + s->in.end, want);
    while (n < 0 && errno == EINTR);
    if (n <= 0) {
        s->saw_eof = true;
        return;
    }
    s->in.end += (size_t)n;
    if (s->die_left > 0)
        s->die_left -= n;
}

/* Whether byte `c` closes a message of a decoder that needs no newline. */
static bool closes_message(struct server *s, char c)
{
    if (s->in_string) {
        s->in_string = s->escaped || c != '"';
        s->escaped = !s->escaped && c == '\\';
        return false;
    }
    if (c == '"')
        s->in_string = true;
    else if (c == '{' || c == '[')
        s->depth++;
    else if (c == '}' || c == ']')
        return --s->depth == 0;
    return false;
}

/* Takes one whole message off the front of `in`; false: not there yet. */
static bool next_message(struct server *s, struct hf_span *ret_message)
{
    const struct hf_span have = hf_buf_span(&s->in);
    while (s->scanned < have.n) {
        const char c = have.p[s->scanned++];
        const bool ends = s->opt.read_mode == READ_STREAM ? closes_message(s, c) : c == '\n';
        if (ends) {
            *ret_message = (struct hf_span) { have.p, s->scanned };
            return true;
        }
    }
    return false;
}

static void handle_messages(struct server *s)
{
    struct hf_span message;
    while (next_message(s, &message)) {
        char *copy = hf_span_dup(message); /* tools may read on: `in` moves */
        hf_buf_consume(&s->in, message.n);
        s->scanned = 0;
        on_message(s, (struct hf_span) { copy, message.n });
        hf_free(copy);
    }
    if (s->die_left == 0)
        die();
}

/* What may be read without going past the end of this line: 1, or the rest of a pad whose length
 * the call told us before it ("pad_bytes":N … "pad":"), so that large calls do not take a read per
 * byte. */
static size_t safe_read(const struct server *s)
{
    const struct hf_span line = hf_buf_span(&s->in), start = HF_SPAN("\"pad\":\"");
    const char *told =
        memmem(line.p, line.n < PAD_WITHIN ? line.n : PAD_WITHIN, "\"pad_bytes\":", 12);
    const char *pad =
        told ? memmem(told, (size_t)(line.p + line.n - told), start.p, start.n) : NULL;
    if (!pad)
        return 1;
    const size_t end = (size_t)(pad - line.p) + start.n + (size_t)atol(told + 12);
    return end <= line.n ? 1 : end - line.n < PAD_STEP ? end - line.n : PAD_STEP;
}

static void serve(struct server *s)
{
    while (!s->saw_eof) {
        struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
        const int ready = poll(&in, 1, tools_timeout_ms(s));
        if (ready > 0 && s->opt.read_mode == READ_ONE_LINE) {
            do
                read_some(s, safe_read(s));
            while (!s->saw_eof && s->in.end > s->in.start && s->in.p[s->in.end - 1] != '\n');
        } else if (ready > 0) {
            read_some(s, CHUNK);
        }
        handle_messages(s);
        tools_tick(s);
    }
}

/* ---- options ---- */

enum kind { FLAG, TEXT, NUMBER };
static const struct {
    const char *flag;
    enum kind kind;
    size_t at; /* in struct options */
} flags[] = {
    { "--effects", TEXT, offsetof(struct options, effects) },
    { "--instance-log", TEXT, offsetof(struct options, instances) },
    { "--event-log", TEXT, offsetof(struct options, events) },
    { "--fail-starts", TEXT, offsetof(struct options, fail_starts) },
    { "--tools-from", TEXT, offsetof(struct options, tools_from) },
    { "--die-after-bytes-in", TEXT, offsetof(struct options, arm) },
    { "--die-once", TEXT, offsetof(struct options, die_once) },
    { "--poison", TEXT, offsetof(struct options, poison) },
    { "--poison-bytes", NUMBER, offsetof(struct options, poison_bytes) },
    { "--instructions", TEXT, offsetof(struct options, instructions) },
    { "--name", TEXT, offsetof(struct options, name) },
    { "--page", NUMBER, offsetof(struct options, page) },
    { "--hang-start", FLAG, offsetof(struct options, hang_start) },
    { "--hang-list", FLAG, offsetof(struct options, hang_list) },
    { "--hang-close", FLAG, offsetof(struct options, hang_close) },
    { "--exit-after-list", FLAG, offsetof(struct options, exit_after_list) },
    { "--bare", FLAG, offsetof(struct options, bare) },
};

static _Noreturn void wrong_usage(const char *what)
{
    fprintf(stderr, "effects: %s is no option, or lacks its value\n", what);
    exit(2);
}

static void set_option(struct options *opt, size_t which, const char *value)
{
    void *place = (char *)opt + flags[which].at;
    if (flags[which].kind == FLAG)
        *(bool *)place = true;
    else if (flags[which].kind == NUMBER)
        *(long *)place = atol(value);
    else
        *(const char **)place = value;
}

static enum read_mode read_mode_named(const char *name)
{
    static const char *const names[] = { "one-line", "chunk", "stream" };
    for (size_t i = 0; i < 3; i++)
        if (strcmp(names[i], name) == 0)
            return (enum read_mode)i;
    wrong_usage(name);
}

static void parse_options(struct options *opt, int argc, char **argv)
{
    opt->read_mode = READ_CHUNK;
    opt->name = "effects";
    for (int i = 1; i < argc; i++) {
        size_t which = 0;
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--read") == 0 && value) {
            opt->read_mode = read_mode_named(value);
            i++;
            continue;
        }
        while (which < sizeof flags / sizeof *flags && strcmp(flags[which].flag, argv[i]) != 0)
            which++;
        if (which == sizeof flags / sizeof *flags || (flags[which].kind != FLAG && !value))
            wrong_usage(argv[i]);
        set_option(opt, which, value);
        i += flags[which].kind != FLAG;
    }
}

static void load_tools(struct server *s)
{
    FILE *file = s->opt.tools_from ? fopen(s->opt.tools_from, "re") : NULL;
    char name[256];
    while (file && s->tools_from_count < TOOLS_FROM_MAX && fgets(name, sizeof name, file)) {
        name[strcspn(name, "\n")] = '\0';
        if (name[0])
            s->tools_from[s->tools_from_count++] = hf_strdup(name);
    }
    if (file)
        fclose(file);
}

int main(int argc, char **argv)
{
    static struct server server = { .die_left = -1 };
    parse_options(&server.opt, argc, argv);
    /* A test that fails must not leave us behind for ever, deaf as we may be. */
    alarm(LIFE_S);
    append_line(server.opt.instances, "start %d %llu", (int)getpid(),
                (unsigned long long)clock_ns());
    if (server.opt.fail_starts && access(server.opt.fail_starts, F_OK) == 0) {
        fprintf(stderr, "effects: told to fail\n");
        return 1;
    }
    if (server.opt.hang_close)
        signal(SIGTERM, SIG_IGN);
    hf_buf_init(&server.in, LINE_MAX_BYTES);
    load_tools(&server);
    serve(&server);
    append_line(server.opt.events, "%d eof", (int)getpid());
    while (server.opt.hang_close)
        pause();
    return 0;
}
