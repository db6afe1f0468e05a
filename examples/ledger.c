/*
 * ledger.c - the bundled example: an MCP server that pays, in plain C.
 *
 *   holdfast-ledger FILE
 *
 * `pay` appends one line to FILE and only then answers; the file outlives the process, so anybody
 * can count how often a payment was really made. That is the point of it: behind holdfast this
 * server may be killed at any moment, and no payment is made twice. A payment with the note
 * "crash" makes it die at the worst moment there is: after the line, before the answer.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/buf.h"
#include "wire/json.h"
#include "wire/jsonrpc.h"

enum { TEXT_MAX = 1 << 24, DEPTH_MAX = 64, TO_MAX = 200 };

static const char *ledger_path;

static struct hf_buf new_text(void)
{
    struct hf_buf text;
    hf_buf_init(&text, TEXT_MAX);
    return text;
}

/* ---- answers ---- */

static void answer(struct hf_span id, const char *kind, struct hf_span value)
{
    printf("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"%s\":%.*s}\n", HF_FMT(id), kind, HF_FMT(value));
    (void)fflush(stdout);
}

static void answer_error(struct hf_span id, int code, const char *message)
{
    struct hf_buf error = new_text();
    hf_buf_printf(&error, "{\"code\":%d,\"message\":", code);
    hf_json_add_string(&error, hf_span_of(message));
    hf_buf_add_char(&error, '}');
    answer(id, "error", hf_buf_span(&error));
    hf_buf_done(&error);
}

static void answer_text(struct hf_span id, struct hf_span text, bool is_error)
{
    struct hf_buf result = new_text();
    hf_buf_add_str(&result, "{\"content\":[{\"type\":\"text\",\"text\":");
    hf_json_add_string(&result, text);
    hf_buf_printf(&result, "}],\"isError\":%s}", is_error ? "true" : "false");
    answer(id, "result", hf_buf_span(&result));
    hf_buf_done(&result);
}

static void answer_problem(struct hf_span id, const char *sentence)
{
    answer_text(id, hf_span_of(sentence), true);
}

/* ---- the ledger: one JSON object a line ---- */

/* One write: a kill leaves the whole line or none of it. */
static bool append_to_ledger(struct hf_span line)
{
    const int fd = open(ledger_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    const bool done = fd >= 0 && write(fd, line.p, line.n) == (ssize_t)line.n;
    if (fd >= 0)
        close(fd);
    return done;
}

static bool is_for(struct hf_span payment, struct hf_span to)
{
    return !to.p || hf_json_same_scalar(hf_json_get(payment, HF_SPAN("to")), to);
}

/* Every payment to `to` (p NULL: to anybody), as lines; returns how much they sum up to. */
static int64_t read_ledger(struct hf_span to, struct hf_buf *lines)
{
    int64_t sum = 0, amount;
    char *line = NULL;
    size_t room = 0;
    FILE *file = fopen(ledger_path, "re");
    for (ssize_t n; file && (n = getline(&line, &room, file)) > 0;) {
        const struct hf_span payment = { line, (size_t)n };
        if (!hf_json_check(payment, DEPTH_MAX, NULL) || !is_for(payment, to))
            continue;
        if (hf_json_int(hf_json_get(payment, HF_SPAN("amount")), &amount))
            sum += amount;
        if (!hf_buf_try_add(lines, payment))
            break;
    }
    free(line);
    if (file)
        (void)fclose(file);
    return sum;
}

/* ---- tools ---- */

static void pay(struct hf_span id, struct hf_span args)
{
    const struct hf_span to = hf_json_get(args, HF_SPAN("to"));
    const struct hf_span amount = hf_json_get(args, HF_SPAN("amount"));
    const struct hf_span note = hf_json_get(args, HF_SPAN("note"));
    int64_t cents;
    if (hf_json_type(to) != HF_JSON_STRING || to.n <= 2 || to.n > TO_MAX) {
        answer_problem(id, "pay needs \"to\": who gets the money");
        return;
    }
    if (!hf_json_int(amount, &cents) || cents <= 0) {
        answer_problem(id, "pay needs \"amount\": a whole number of cents above 0");
        return;
    }
    struct hf_buf line = new_text();
    hf_buf_printf(&line, "{\"to\":%.*s,\"amount\":%.*s", HF_FMT(to), HF_FMT(amount));
    if (hf_json_type(note) == HF_JSON_STRING)
        hf_buf_printf(&line, ",\"note\":%.*s", HF_FMT(note));
    hf_buf_add_str(&line, "}\n");
    const bool is_paid = append_to_ledger(hf_buf_span(&line));
    hf_buf_done(&line);
    if (hf_json_string_is(note, HF_SPAN("crash")))
        (void)raise(SIGKILL);
    if (!is_paid) {
        answer_problem(id, strerror(errno));
        return;
    }
    struct hf_buf text = new_text();
    hf_buf_printf(&text, "paid %lld cents to %.*s", (long long)cents, HF_FMT(to));
    answer_text(id, hf_buf_span(&text), false);
    hf_buf_done(&text);
}

static void balance(struct hf_span id, struct hf_span args)
{
    struct hf_buf lines = new_text(), text = new_text();
    const int64_t sum = read_ledger(hf_json_get(args, HF_SPAN("to")), &lines);
    hf_buf_printf(&text, "%lld", (long long)sum);
    answer_text(id, hf_buf_span(&text), false);
    hf_buf_done(&text);
    hf_buf_done(&lines);
}

static void history(struct hf_span id, struct hf_span args)
{
    struct hf_buf lines = new_text();
    (void)read_ledger(hf_json_get(args, HF_SPAN("to")), &lines);
    answer_text(id, hf_buf_span(&lines), false);
    hf_buf_done(&lines);
}

#define TO "\"to\":{\"type\":\"string\",\"description\":\"who gets the money\"}"
static const struct tool {
    const char *name, *description, *schema, *hints;
    void (*run)(struct hf_span id, struct hf_span args);
} tools[] = {
    { "pay",
      "Pays somebody. The note \\\"crash\\\" kills this server after the money has gone out.",
      "{\"type\":\"object\",\"properties\":{" TO ",\"amount\":{\"type\":\"integer\",\"minimum\":1,"
      "\"description\":\"in cents\"},\"note\":{\"type\":\"string\"}},\"required\":[\"to\","
      "\"amount\"]}",
      "{\"destructiveHint\":true}", pay },
    { "balance", "What was paid so far, in cents.", "{\"type\":\"object\",\"properties\":{" TO "}}",
      "{\"readOnlyHint\":true}", balance },
    { "history", "Every payment so far, one a line.",
      "{\"type\":\"object\",\"properties\":{" TO "}}", "{\"readOnlyHint\":true}", history },
};
enum { TOOL_COUNT = sizeof tools / sizeof *tools };

/* ---- the protocol ---- */

static void on_initialize(struct hf_span id, struct hf_span params)
{
    (void)params;
    answer(id, "result",
           HF_SPAN("{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},"
                   "\"serverInfo\":{\"name\":\"ledger\",\"version\":\"1.0\"}}"));
}

static void on_ping(struct hf_span id, struct hf_span params)
{
    (void)params;
    answer(id, "result", HF_SPAN("{}"));
}

static void on_tools_list(struct hf_span id, struct hf_span params)
{
    (void)params;
    struct hf_buf list = new_text();
    hf_buf_add_str(&list, "{\"tools\":[");
    for (const struct tool *tool = tools; tool < tools + TOOL_COUNT; tool++) {
        hf_json_add_comma(&list);
        hf_buf_printf(&list,
                      "{\"name\":\"%s\",\"description\":\"%s\",\"inputSchema\":%s,"
                      "\"annotations\":%s}",
                      tool->name, tool->description, tool->schema, tool->hints);
    }
    hf_buf_add_str(&list, "]}");
    answer(id, "result", hf_buf_span(&list));
    hf_buf_done(&list);
}

static void on_tools_call(struct hf_span id, struct hf_span params)
{
    const struct hf_span name = hf_json_get(params, HF_SPAN("name"));
    for (const struct tool *tool = tools; tool < tools + TOOL_COUNT; tool++)
        if (hf_json_string_is(name, hf_span_of(tool->name))) {
            tool->run(id, hf_json_get(params, HF_SPAN("arguments")));
            return;
        }
    answer_error(id, -32602, "there is no such tool");
}

static const struct {
    const char *name;
    void (*take)(struct hf_span id, struct hf_span params);
} methods[] = {
    { "initialize", on_initialize },
    { "ping", on_ping },
    { "tools/list", on_tools_list },
    { "tools/call", on_tools_call },
};

static void take_line(struct hf_span line)
{
    struct hf_msg msg;
    struct hf_err err;
    const enum hf_msg_status status = hf_msg_parse(line, DEPTH_MAX, &msg, &err);
    if (status != HF_MSG_OK) {
        answer_error(msg.id.p ? msg.id : HF_SPAN("null"),
                     status == HF_MSG_NOT_JSON ? -32700 : -32600, err.text);
        return;
    }
    if (msg.kind != HF_MSG_REQUEST)
        return;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (hf_span_is(msg.method, methods[i].name)) {
            methods[i].take(msg.id, msg.params);
            return;
        }
    answer_error(msg.id, -32601, "there is no such method");
}

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t room = 0;
    if (argc != 2) {
        (void)fprintf(stderr, "usage: %s FILE   (the ledger; it is made if it is not there)\n",
                      argv[0]);
        return 2;
    }
    ledger_path = argv[1];
    for (ssize_t n; (n = getline(&line, &room, stdin)) > 0;)
        take_line((struct hf_span) { line, (size_t)n });
    free(line);
    return 0;
}
