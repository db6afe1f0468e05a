/* test_log_notes.c - every event of the engine as a line of the log, in both forms. */
#include <stdio.h>
#include "log_fixture.h"
#include "wire/json.h"

#define T(text)                                                                                    \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

static const struct {
    struct hf_note note;
    const char *level, *sentence, *members;
} rows[] = {
    { { .event = HF_NOTE_STARTED, .pid = 4711 },
      "info",
      "started as process 4711",
      "\"event\":\"started\",\"server\":\"pay\",\"generation\":3,\"pid\":4711" },
    { { .event = HF_NOTE_ATTEMPT, .count = 3, .is_routine = true },
      "debug",
      "attempt 3",
      "\"event\":\"attempt\",\"server\":\"pay\",\"generation\":3,\"number\":3" },
    { { .event = HF_NOTE_CONNECTING, .from = T("a"), .to = T("b"), .is_routine = true },
      "debug",
      "connecting",
      "\"event\":\"state\",\"server\":\"pay\",\"generation\":3,\"from\":\"a\",\"to\":\"b\"" },
    { { .event = HF_NOTE_CONNECTED, .from = T("a"), .to = T("b"), .count = 4 },
      "info",
      "connected; it offers 4 tools",
      "\"event\":\"state\",\"server\":\"pay\",\"generation\":3,\"from\":\"a\",\"to\":\"b\","
      "\"tools\":4" },
    { { .event = HF_NOTE_LOST,
        .from = T("a"),
        .to = T("b"),
        .reason = T("exited with status 1"),
        .stderr_line = T("no \"key\"") },
      "warn",
      "reconnecting: it was lost: exited with status 1; it last said: no \"key\"",
      "\"event\":\"state\",\"server\":\"pay\",\"generation\":3,\"from\":\"a\",\"to\":\"b\","
      "\"reason\":\"exited with status 1\",\"stderr\":\"no \\\"key\\\"\"" },
    { { .event = HF_NOTE_LOST, .reason = T("HTTP 503") },
      "warn",
      "reconnecting: it was lost: HTTP 503",
      "\"event\":\"state\",\"server\":\"pay\",\"generation\":3,\"reason\":\"HTTP 503\"" },
    { { .event = HF_NOTE_RESTING, .from = T("a"), .to = T("b") },
      "info",
      "disconnected: at rest until it is used",
      "\"event\":\"state\",\"server\":\"pay\",\"generation\":3,\"from\":\"a\",\"to\":\"b\"" },
    { { .event = HF_NOTE_DISABLING, .from = T("a"), .to = T("b") },
      "info",
      "disabling: calls that it has are finished first",
      "\"event\":\"state\",\"server\":\"pay\",\"generation\":3,\"from\":\"a\",\"to\":\"b\"" },
    { { .event = HF_NOTE_DISABLED, .from = T("a"), .to = T("b") },
      "info",
      "disabled",
      "\"event\":\"state\",\"server\":\"pay\",\"generation\":3,\"from\":\"a\",\"to\":\"b\"" },
    { { .event = HF_NOTE_GAVE_UP, .reason = T("config"), .problem = T("no key is set") },
      "error",
      "permanently_failed: holdfast gave up: config: no key is set",
      "\"event\":\"state\",\"server\":\"pay\",\"generation\":3,\"reason\":\"config\","
      "\"problem\":\"no key is set\"" },
    { { .event = HF_NOTE_GAVE_UP,
        .reason = T("exited with status 1"),
        .stderr_line = T("no \"key\"") },
      "error",
      "permanently_failed: holdfast gave up: exited with status 1; it last said: no \"key\"",
      "\"event\":\"state\",\"server\":\"pay\",\"generation\":3,\"reason\":\"exited with status "
      "1\",\"stderr\":\"no \\\"key\\\"\"" },
    { { .event = HF_NOTE_ATTEMPT_FAILED,
        .reason = T("exited with status 1"),
        .stderr_line = T("no \"key\"") },
      "warn",
      "not connected: exited with status 1; it last said: no \"key\"",
      "\"event\":\"attempt_failed\",\"server\":\"pay\",\"generation\":3,\"reason\":\"exited "
      "with status 1\",\"stderr\":\"no \\\"key\\\"\"" },
    { { .event = HF_NOTE_ATTEMPT_FAILED,
        .reason = T("exited with status 1"),
        .stderr_line = T("no \"key\""),
        .is_routine = true },
      "debug",
      "not connected: exited with status 1; it last said: no \"key\"",
      "\"event\":\"attempt_failed\"" },
    { { .event = HF_NOTE_RESTART_FAILED,
        .reason = T("exited with status 1"),
        .stderr_line = T("no \"key\"") },
      "warn",
      "the restart failed: exited with status 1; it last said: no \"key\"; what ran before "
      "goes on",
      "\"event\":\"restart_failed\",\"server\":\"pay\",\"generation\":3,\"reason\":\"exited "
      "with status 1\",\"stderr\":\"no \\\"key\\\"\"" },
    { { .event = HF_NOTE_NEXT_ATTEMPT, .delay_ms = 412, .count = 3 },
      "info",
      "next attempt in 412 ms (failures lately: 3)",
      "\"event\":\"next_attempt\",\"server\":\"pay\",\"generation\":3,\"in_ms\":412,"
      "\"failures\":3" },
    { { .event = HF_NOTE_EXITED, .pid = 4711, .reason = T("killed by signal 9") },
      "info",
      "process 4711 killed by signal 9",
      "\"event\":\"exited\",\"server\":\"pay\",\"generation\":3,\"pid\":4711,\"reason\":"
      "\"killed by signal 9\"" },
    { { .event = HF_NOTE_CLOSE_FAILED, .count = 0 },
      "warn",
      "some of its processes could not be killed and are left behind",
      "\"event\":\"close_failed\",\"server\":\"pay\",\"generation\":3" },
    { { .event = HF_NOTE_FOREIGN_STDIN, .count = 7 },
      "warn",
      "7 bytes in its stdin are not what holdfast wrote last: somebody else writes there, so "
      "no call in it counts as unread",
      "\"event\":\"foreign_stdin\",\"server\":\"pay\",\"generation\":3,\"bytes\":7" },
    { { .event = HF_NOTE_CHECK_FAILED, .count = 1, .of = 3, .what = T("timeout") },
      "warn",
      "does not answer: liveness check 1 of 3 failed (timeout)",
      "\"event\":\"check_failed\",\"server\":\"pay\",\"generation\":3,\"number\":1,\"of\":3,"
      "\"how\":\"timeout\"" },
    { { .event = HF_NOTE_ASKED, .what = T("restart") },
      "info",
      "restart was asked for",
      "\"event\":\"asked\",\"server\":\"pay\",\"generation\":3,\"operation\":\"restart\"" },
    { { .event = HF_NOTE_TOOLS_LEFT_OUT, .count = 2, .reason = T("x is no schema") },
      "warn",
      "2 of its tools are left out: x is no schema",
      "\"event\":\"tools_left_out\",\"server\":\"pay\",\"generation\":3,\"count\":2,\"reason\":"
      "\"x is no schema\"" },
    { { .event = HF_NOTE_LIST_FAILED, .method = T("prompts/list"), .is_routine = true },
      "debug",
      "prompts/list failed; the last good list stays",
      "\"event\":\"list_failed\",\"server\":\"pay\",\"generation\":3,\"method\":\"prompts/"
      "list\"" },
    { { .event = HF_NOTE_SESSION_FORGOTTEN, .count = 2, .status = 404 },
      "info",
      "forgot session 2 (HTTP 404); a new one is made",
      "\"event\":\"session_forgotten\",\"server\":\"pay\",\"generation\":3,\"session\":2,"
      "\"status\":404" },
    { { .event = HF_NOTE_RESEND, .method = T("tools/call"), .evidence = T("unread"), .count = 1 },
      "info",
      "tools/call is sent again (evidence: unread; sent before: 1)",
      "\"event\":\"resend\",\"server\":\"pay\",\"generation\":3,\"method\":\"tools/"
      "call\",\"evidence\":\"unread\",\"sends\":1" },
    { { .event = HF_NOTE_CALL_LOST,
        .method = T("tools/call"),
        .outcome = T("outcome_unknown"),
        .evidence = T("dispatched"),
        .reason = T("killed by signal 9") },
      "warn",
      "tools/call was sent and has no answer to pass on: outcome_unknown (killed by signal 9)",
      "\"event\":\"call_lost\",\"server\":\"pay\",\"generation\":3,\"method\":\"tools/"
      "call\",\"outcome\":\"outcome_unknown\",\"evidence\":\"dispatched\",\"reason\":\"killed "
      "by signal 9\"" },
    { { .event = HF_NOTE_CALL_FAILED,
        .method = T("tools/call"),
        .outcome = T("unavailable"),
        .evidence = T("unsent"),
        .reason = T("waited") },
      "info",
      "tools/call was not sent: unavailable (waited)",
      "\"event\":\"call_failed\",\"server\":\"pay\",\"generation\":3,\"method\":\"tools/"
      "call\",\"outcome\":\"unavailable\",\"evidence\":\"unsent\",\"reason\":\"waited\"" },
    { { .event = HF_NOTE_PARK_EXPIRED, .count = 0 },
      "info",
      "a call that asked its client something is given up: no answer came",
      "\"event\":\"parked_call_expired\",\"server\":\"pay\",\"generation\":3" },
    { { .event = HF_NOTE_NAME_CLASH, .what = T("echo") },
      "warn",
      "echo is hidden: a server before it has the same name",
      "\"event\":\"name_clash\",\"server\":\"pay\",\"generation\":3,\"name\":\"echo\"" },
    { { .event = HF_NOTE_STALE, .what = T("an answer"), .is_routine = true },
      "debug",
      "dropped what an old process said: an answer",
      "\"event\":\"dropped\",\"server\":\"pay\",\"generation\":3,\"what\":\"an answer\"" },
    { { .event = HF_NOTE_SERVER_LOG, .what = T("{\"a\":1}") },
      "info",
      "says: {\"a\":1}",
      "\"event\":\"server_log\",\"server\":\"pay\",\"generation\":3,\"data\":\"{\\\"a\\\":1}"
      "\"" },
    { { .event = HF_NOTE_LINE_TOO_LONG, .count = 0 },
      "warn",
      "a line on its stdout was too long and is dropped; it has no id of a call",
      "\"event\":\"line_too_long\",\"server\":\"pay\",\"generation\":3" },
    { { .event = HF_NOTE_NOISE, .what = T("[banner] {x}") },
      "warn",
      "what it writes to stdout is no message, and ignored: [banner] {x}",
      "\"event\":\"noise\",\"server\":\"pay\",\"generation\":3,\"line\":\"[banner] {x}\"" },
    { { .event = HF_NOTE_BUG, .what = T("slot"), .from = T("a"), .to = T("b") },
      "error",
      "this is a bug of holdfast, please report it: a slot that is a was told b",
      "\"event\":\"bug\",\"server\":\"pay\",\"generation\":3,\"machine\":\"slot\",\"from\":"
      "\"a\",\"to\":\"b\"" },
};

static void check_line(size_t at, bool is_json)
{
    static struct world w;
    struct hf_note note = rows[at].note;
    char want[400], level[40];
    note.server = HF_SPAN("pay");
    note.generation = 3;
    open_log(&w, HF_LOG_DEBUG, is_json ? HF_LOG_JSON : HF_LOG_TEXT);
    hf_log_note(w.log, &note, 1);
    (void)snprintf(want, sizeof want, " %s server=pay generation=3 %s\n", rows[at].level,
                   rows[at].sentence);
    (void)snprintf(level, sizeof level, "\"level\":\"%s\",\"event\"", rows[at].level);
    const char *line = read_log(&w);
    const bool is_good = is_json ? strstr(line, rows[at].members) && strstr(line, level)
                                 : strcmp(line + 24, want) == 0;
    if (!is_good)
        printf("# wanted %s\n# got %s", is_json ? rows[at].members : want, line);
    CHECK(is_good);
    struct hf_json_error error;
    CHECK(!is_json || hf_json_check((struct hf_span) { line, strlen(line) - 1 }, 8, &error));
    close_log(&w);
}

TEST(every_event_of_the_engine_is_a_sentence_and_fields)
{
    bool is_seen[HF_NOTE_EVENT_COUNT] = { false };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        is_seen[rows[i].note.event] = true;
        check_line(i, false);
        check_line(i, true);
    }
    for (size_t i = 0; i < HF_NOTE_EVENT_COUNT; i++)
        CHECK(is_seen[i]);
}
