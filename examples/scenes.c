/*
 * scenes.c - holdfast at work: a server that pays is killed three ways under a client's hands.
 *
 *   holdfast-scenes HOLDFAST LEDGER DIRECTORY [LISTEN]
 *
 * It is a client of `HOLDFAST run -- LEDGER DIRECTORY/ledger.jsonl` over pipes. It knows the
 * server's process and generation from holdfast's log, and what really happened from the ledger.
 * It waits for answers and log lines, never for time; what does not come within PATIENCE_MS, or
 * comes out otherwise than promised, ends it with 1 and a sentence. With LISTEN it then serves the
 * same server there, over HTTP, until Ctrl-C.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/buf.h"
#include "foreground.h"
#include "wire/json.h"

enum { PATIENCE_MS = 20000, TEXT_MAX = 1 << 24, PATH_SIZE = 4096, DEPTH_MAX = 64 };

struct stage {
    char holdfast[PATH_SIZE], ledger[PATH_SIZE], file[PATH_SIZE];
    pid_t proxy;
    int to, from, log;
    struct hf_buf answers, notes; /* everything that came, for good: a scene is short */
    unsigned unread;              /* calls that were sent again since the server never read them */
    long pid;                     /* of the server, by the newest log line that names it */
    unsigned generation;          /* of the newest one that is connected */
    unsigned next_id;
};

struct answer {
    long code; /* 0: a result */
    char reason[80];
    long ms; /* since it was asked */
};

static _Noreturn void give_up(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fflush(stdout);
    (void)fputs("scenes: ", stderr);
    (void)vfprintf(stderr, format, args);
    (void)fputc('\n', stderr);
    va_end(args);
    exit(1);
}

static long clock_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- the stage ---- */

static void pipe_or_give_up(int fds[2])
{
    if (pipe2(fds, O_CLOEXEC) != 0)
        give_up("pipe: %s", strerror(errno));
}

static void start_proxy(struct stage *stage)
{
    int in[2], out[2], err[2];
    pipe_or_give_up(in);
    pipe_or_give_up(out);
    pipe_or_give_up(err);
    stage->proxy = fork();
    if (stage->proxy < 0)
        give_up("fork: %s", strerror(errno));
    if (stage->proxy == 0) {
        (void)dup2(in[0], STDIN_FILENO);
        (void)dup2(out[1], STDOUT_FILENO);
        (void)dup2(err[1], STDERR_FILENO);
        (void)execl(stage->holdfast, stage->holdfast, "run", "--name", "ledger", "--log-format",
                    "json", "--", stage->ledger, stage->file, (char *)NULL);
        (void)fprintf(stderr, "%s: %s\n", stage->holdfast, strerror(errno));
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    close(err[1]);
    stage->to = in[1];
    stage->from = out[0];
    stage->log = err[0];
}

/* `line` is an entry of holdfast's log, a JSON object. */
static void learn_from_entry(struct stage *stage, struct hf_span line)
{
    int64_t number;
    const struct hf_span event = hf_json_get(line, HF_SPAN("event"));
    if (hf_json_string_is(event, HF_SPAN("started")) &&
        hf_json_int(hf_json_get(line, HF_SPAN("pid")), &number))
        stage->pid = (long)number;
    if (hf_json_string_is(hf_json_get(line, HF_SPAN("to")), HF_SPAN("connected")) &&
        hf_json_int(hf_json_get(line, HF_SPAN("generation")), &number))
        stage->generation = (unsigned)number;
    if (hf_json_string_is(event, HF_SPAN("resend")) &&
        hf_json_string_is(hf_json_get(line, HF_SPAN("evidence")), HF_SPAN("unread")))
        stage->unread++;
}

/* Reads what is there; false at the end of it. */
static bool read_some(int fd, struct hf_buf *into)
{
    char block[8192];
    const ssize_t n = read(fd, block, sizeof block);
    if (n > 0)
        hf_buf_add(into, (struct hf_span) { block, (size_t)n });
    return n > 0;
}

static void take_notes(struct stage *stage, size_t from)
{
    const struct hf_span all = hf_buf_span(&stage->notes);
    for (const char *end; all.n && (end = memchr(all.p + from, '\n', all.n - from));) {
        const struct hf_span line = { all.p + from, (size_t)(end - all.p) - from };
        if (hf_json_type(line) == HF_JSON_OBJECT)
            learn_from_entry(stage, line);
        from = (size_t)(end - all.p) + 1;
    }
}

/* One wait for whatever comes next. */
static void wait_for_news(struct stage *stage, long until_ms, const char *what)
{
    struct pollfd fds[] = { { .fd = stage->from, .events = POLLIN },
                            { .fd = stage->log, .events = POLLIN } };
    const long left = until_ms - clock_ms();
    const int ready = left > 0 ? poll(fds, 2, (int)left) : 0;
    bool lives = true;
    if (ready == 0)
        give_up("%s did not come within %d s; holdfast said:\n%.*s", what, PATIENCE_MS / 1000,
                HF_FMT(hf_buf_span(&stage->notes)));
    if (fds[1].revents) {
        const struct hf_span before = hf_buf_span(&stage->notes);
        const char *end = before.n ? memrchr(before.p, '\n', before.n) : NULL;
        const size_t line = end ? (size_t)(end - before.p) + 1 : 0;
        lives = read_some(stage->log, &stage->notes);
        take_notes(stage, line);
    }
    if (fds[0].revents)
        lives &= read_some(stage->from, &stage->answers);
    if (!lives)
        give_up("holdfast ended while we waited for %s; it said:\n%.*s", what,
                HF_FMT(hf_buf_span(&stage->notes)));
}

static void wait_for_generation(struct stage *stage, unsigned at_least)
{
    const long until = clock_ms() + PATIENCE_MS;
    while (stage->generation < at_least)
        wait_for_news(stage, until, "the next generation");
}

/* ---- being a client ---- */

static void send_text(struct stage *stage, struct hf_span text)
{
    if (write(stage->to, text.p, text.n) != (ssize_t)text.n)
        give_up("holdfast does not read: %s", strerror(errno));
}

static unsigned ask(struct stage *stage, const char *method, const char *params)
{
    struct hf_buf line;
    const unsigned id = ++stage->next_id;
    hf_buf_init(&line, TEXT_MAX);
    hf_buf_printf(&line, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"%s\",\"params\":%s}\n", id,
                  method, params);
    send_text(stage, hf_buf_span(&line));
    hf_buf_done(&line);
    return id;
}

static unsigned ask_pay(struct stage *stage, const char *note)
{
    char params[300];
    (void)snprintf(
        params, sizeof params,
        "{\"name\":\"pay\",\"arguments\":{\"to\":\"Ada\",\"amount\":100,\"note\":\"%s\"}}", note);
    return ask(stage, "tools/call", params);
}

static bool find_answer(const struct stage *stage, unsigned id, struct hf_span *ret_message)
{
    const struct hf_span all = hf_buf_span(&stage->answers);
    size_t from = 0;
    for (const char *end; all.n && (end = memchr(all.p + from, '\n', all.n - from));) {
        const struct hf_span line = { all.p + from, (size_t)(end - all.p) - from };
        int64_t got;
        from = (size_t)(end - all.p) + 1;
        if (!hf_json_check(line, DEPTH_MAX, NULL) ||
            !hf_json_int(hf_json_get(line, HF_SPAN("id")), &got) || got != id)
            continue;
        *ret_message = line;
        return true;
    }
    return false;
}

static struct answer wait_for_answer(struct stage *stage, unsigned id)
{
    const long asked = clock_ms();
    struct hf_span message;
    while (!find_answer(stage, id, &message))
        wait_for_news(stage, asked + PATIENCE_MS, "an answer");
    struct answer answer = { .ms = clock_ms() - asked };
    const struct hf_span outcome =
        hf_json_path(message, 3,
                     (struct hf_span[]) { HF_SPAN("result"), HF_SPAN("_meta"),
                                          HF_SPAN("dev.holdfast/outcome") });
    int64_t code;
    if (outcome.p && hf_json_int(hf_json_get(outcome, HF_SPAN("code")), &code)) {
        const struct hf_span reason = hf_json_get(outcome, HF_SPAN("reason"));
        answer.code = (long)code;
        (void)snprintf(answer.reason, sizeof answer.reason, "%.*s",
                       reason.n > 2 ? (int)reason.n - 2 : 0, reason.n > 2 ? reason.p + 1 : "");
    }
    return answer;
}

static unsigned count_effects(const struct stage *stage)
{
    unsigned lines = 0;
    FILE *file = fopen(stage->file, "re");
    for (int c; file && (c = fgetc(file)) != EOF;)
        lines += c == '\n';
    if (file)
        (void)fclose(file);
    return lines;
}

/* 'R', 'S', 'T', 'Z' …, as /proc says; 'X' once there is nothing left to ask. */
static char state_of(long pid)
{
    char path[40], line[512] = "";
    (void)snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return 'X';
    const bool got = fgets(line, sizeof line, file) != NULL;
    (void)fclose(file);
    const char *name_end = got ? strrchr(line, ')') : NULL; /* a name may hold anything */
    return name_end && name_end[1] ? name_end[2] : 'X';
}

/* A signal is on its way when kill() returns, and a server woken by it may still take what is in
 * its pipe: only one that has stopped, or died, provably reads no more. */
static void kill_server(const struct stage *stage, int signum)
{
    if (kill((pid_t)stage->pid, signum) != 0)
        give_up("the server %ld is not there: %s", stage->pid, strerror(errno));
    const char *there = signum == SIGSTOP ? "TZX" : "ZX";
    while (!strchr(there, state_of(stage->pid)))
        (void)sched_yield();
}

/* ---- the scenes: each says what it saw, and whether that is what was promised ---- */

struct outcome {
    char saw[120];
    unsigned promised; /* effects */
    bool is_as_promised;
};

/* The call may even be written before holdfast knows of the death: it is taken back unread. */
static struct outcome killed_idle(struct stage *stage)
{
    struct outcome outcome = { .promised = 1 };
    kill_server(stage, SIGKILL);
    const struct answer answer = wait_for_answer(stage, ask_pay(stage, "rent"));
    outcome.is_as_promised = answer.code == 0;
    (void)snprintf(outcome.saw, sizeof outcome.saw, "%s after %ld ms",
                   answer.code ? answer.reason : "result", answer.ms);
    return outcome;
}

static struct outcome killed_in_a_call(struct stage *stage)
{
    struct outcome outcome = { .promised = 1 };
    const struct answer answer = wait_for_answer(stage, ask_pay(stage, "crash"));
    outcome.is_as_promised = answer.code == -31002;
    (void)snprintf(outcome.saw, sizeof outcome.saw, "%ld check first (%s)", answer.code,
                   answer.reason);
    return outcome;
}

/* holdfast answers a ping itself, and in order: then the calls are in the stopped server's pipe. */
static struct outcome killed_unread(struct stage *stage)
{
    enum { CALLS = 3 };
    struct outcome outcome = { .promised = CALLS, .is_as_promised = true };
    unsigned ids[CALLS];
    const unsigned generation = stage->generation;
    const unsigned before = stage->unread;
    kill_server(stage, SIGSTOP);
    for (unsigned i = 0; i < CALLS; i++)
        ids[i] = ask_pay(stage, "books");
    (void)wait_for_answer(stage, ask(stage, "ping", "{}"));
    kill_server(stage, SIGKILL);
    for (unsigned i = 0; i < CALLS; i++)
        outcome.is_as_promised &= wait_for_answer(stage, ids[i]).code == 0;
    wait_for_generation(stage, generation + 1); /* its log line stands behind those of the calls */
    const unsigned unread = stage->unread - before;
    outcome.is_as_promised &= unread == CALLS;
    (void)snprintf(outcome.saw, sizeof outcome.saw, "%d %s (%u proven unread)", CALLS,
                   outcome.is_as_promised ? "results" : "answers, not all results", unread);
    return outcome;
}

static const struct scene {
    const char *name, *done;
    struct outcome (*play)(struct stage *stage);
} scenes[] = {
    { "killed idle", "kill -9, then pay", killed_idle },
    { "killed mid-call", "pays, dies before answering", killed_in_a_call },
    { "killed before it reads", "SIGSTOP, pay x 3, kill -9", killed_unread },
};

static bool play(struct stage *stage, const struct scene *scene)
{
    const unsigned effects = count_effects(stage), generation = stage->generation;
    const struct outcome outcome = scene->play(stage);
    wait_for_generation(stage, generation + 1);
    const unsigned made = count_effects(stage) - effects;
    const bool is_good = outcome.is_as_promised && made == outcome.promised;
    printf("%-22s  %-27s  %-40s  %u of %u   %u -> %u%s\n", scene->name, scene->done, outcome.saw,
           made, outcome.promised, generation, stage->generation,
           is_good ? "" : "   NOT AS PROMISED");
    (void)fflush(stdout);
    return is_good;
}

/* ---- before and after ---- */

static void set_up(struct stage *stage, char **argv)
{
    char directory[PATH_SIZE - 32];
    *stage = (struct stage) { .pid = 0 };
    hf_buf_init(&stage->answers, TEXT_MAX);
    hf_buf_init(&stage->notes, TEXT_MAX);
    if (mkdir(argv[3], 0755) != 0 && errno != EEXIST)
        give_up("%s: %s", argv[3], strerror(errno));
    char *found = realpath(argv[3], NULL);
    if (!realpath(argv[1], stage->holdfast) || !realpath(argv[2], stage->ledger) || !found ||
        strlen(found) >= sizeof directory)
        give_up("%s, %s or %s is not there: run `make build`", argv[1], argv[2], argv[3]);
    (void)snprintf(directory, sizeof directory, "%s", found);
    free(found);
    (void)snprintf(stage->file, sizeof stage->file, "%s/ledger.jsonl", directory);
    if (unlink(stage->file) != 0 && errno != ENOENT)
        give_up("%s: %s", stage->file, strerror(errno));
    (void)setenv("HOLDFAST_STATE_DIR", directory, 1);
}

static void greet(struct stage *stage)
{
    (void)wait_for_answer(
        stage, ask(stage, "initialize",
                   "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{"
                   "\"name\":\"scenes\",\"version\":\"1\"}}"));
    send_text(stage, HF_SPAN("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"));
    wait_for_generation(stage, 1);
}

/* holdfast ends by itself when its client has gone; 0 says that nothing was left undone. */
static void leave(struct stage *stage)
{
    int status = 0;
    close(stage->to);
    while (read_some(stage->from, &stage->answers))
        ;
    while (read_some(stage->log, &stage->notes))
        ;
    if (waitpid(stage->proxy, &status, 0) != stage->proxy || status != 0)
        give_up("holdfast ended with status %d", status);
    close(stage->from);
    close(stage->log);
}

/* For `holdfast serve`, which `make run` goes on with. */
static void write_config(const struct stage *stage, const char *directory, char path[PATH_MAX])
{
    struct hf_buf text;
    hf_buf_init(&text, TEXT_MAX);
    hf_buf_add_str(&text, "{\n  \"mcpServers\": {\n    \"ledger\": {\n      \"command\": ");
    hf_json_add_string(&text, hf_span_of(stage->ledger));
    hf_buf_add_str(&text, ",\n      \"args\": [");
    hf_json_add_string(&text, hf_span_of(stage->file));
    hf_buf_add_str(&text, "]\n    }\n  }\n}\n");
    (void)snprintf(path, PATH_MAX, "%s/config.json", directory);
    FILE *file = fopen(path, "w");
    if (!file || fprintf(file, "%.*s", HF_FMT(hf_buf_span(&text))) < 0 || fclose(file) != 0)
        give_up("cannot write %s", path);
    hf_buf_done(&text);
}

static int serve(struct stage *stage, char *config, char *listen)
{
    char *line[] = { stage->holdfast, "serve",       "-c",   config, "--listen",
                     listen,          "--log-level", "warn", NULL };
    printf("\nNow the same server over HTTP, until Ctrl-C:\n\n");
    (void)fflush(stdout);
    const int status = run_in_foreground(line);
    if (status == 0)
        printf("\nholdfast has ended.\n");
    else
        (void)fprintf(stderr,
                      "\nholdfast serve ended with %d. If its port is taken, end the process that "
                      "has it, or choose\nanother port; 0 is any that is free:\n\n"
                      "    make run LISTEN=127.0.0.1:0\n\n",
                      status);
    return status == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    static struct stage stage;
    char config[PATH_MAX];
    bool is_good = true;
    if (argc != 4 && argc != 5) {
        (void)fprintf(stderr, "usage: %s HOLDFAST LEDGER DIRECTORY [LISTEN]\n", argv[0]);
        return 2;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    set_up(&stage, argv);
    start_proxy(&stage);
    greet(&stage);
    printf("%-22s  %-27s  %-40s  %-7s  %s\n", "scene", "what was done", "what the client saw",
           "effects", "generation");
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
        is_good &= play(&stage, &scenes[i]);
    leave(&stage);
    if (!is_good)
        give_up("a scene did not come out as promised; holdfast said:\n%.*s",
                HF_FMT(hf_buf_span(&stage.notes)));
    write_config(&stage, argv[3], config);
    hf_buf_done(&stage.answers);
    hf_buf_done(&stage.notes);
    return argc == 5 ? serve(&stage, config, argv[4]) : 0;
}
