/*
 * log_notes.c - the engine's notes as entries of the log: one row for each event has its level, its
 * sentence and its fields.
 *
 * In a sentence `{key}` stands for the field of that name, and `[…]` is left out if a field in it
 * is empty or 0. In a JSON line words that are empty are left out; numbers are always there.
 */
#include <inttypes.h>
#include <stddef.h>
#include "base/buf.h"
#include "ops/log.h"

enum { FIELDS_MAX = 6, SENTENCE_MAX = 4096 };

struct member { /* of struct hf_note, and what the log calls it */
    const char *key;
    enum hf_log_type type;
    size_t offset;
};

#define W(key, name)                                                                               \
    {                                                                                              \
        key, HF_LOG_WORDS, offsetof(struct hf_note, name)                                          \
    }
#define N(key, name)                                                                               \
    {                                                                                              \
        key, HF_LOG_NUMBER, offsetof(struct hf_note, name)                                         \
    }
#define MOVE       W("from", from), W("to", to)
#define WHY        W("reason", reason), W("stderr", stderr_line)
#define LAST_WORDS "[; it last said: {stderr}]"

static const struct row {
    const char *event;
    enum hf_log_level level;
    const char *sentence;
    struct member members[FIELDS_MAX];
} rows[HF_NOTE_EVENT_COUNT] = {
    [HF_NOTE_STARTED] = { "started", HF_LOG_INFO, "started as process {pid}", { N("pid", pid) } },
    [HF_NOTE_ATTEMPT] = { "attempt", HF_LOG_INFO, "attempt {number}", { N("number", count) } },
    [HF_NOTE_CONNECTING] = { "state", HF_LOG_INFO, "connecting", { MOVE } },
    [HF_NOTE_CONNECTED] = { "state",
                            HF_LOG_INFO,
                            "connected; it offers {tools} tools",
                            { MOVE, N("tools", count) } },
    [HF_NOTE_LOST] = { "state",
                       HF_LOG_WARN,
                       "reconnecting: it was lost[: {reason}]" LAST_WORDS,
                       { MOVE, WHY } },
    [HF_NOTE_RESTING] = { "state",
                          HF_LOG_INFO,
                          "disconnected: at rest until it is used",
                          { MOVE } },
    [HF_NOTE_DISABLING] = { "state",
                            HF_LOG_INFO,
                            "disabling: calls that it has are finished first",
                            { MOVE } },
    [HF_NOTE_DISABLED] = { "state", HF_LOG_INFO, "disabled", { MOVE } },
    [HF_NOTE_GAVE_UP] = { "state",
                          HF_LOG_ERROR,
                          "permanently_failed: holdfast gave up[: {reason}][: "
                          "{problem}]" LAST_WORDS,
                          { MOVE, WHY, W("problem", problem) } },
    [HF_NOTE_ATTEMPT_FAILED] = { "attempt_failed",
                                 HF_LOG_WARN,
                                 "not connected[: {reason}]" LAST_WORDS,
                                 { WHY } },
    [HF_NOTE_RESTART_FAILED] = { "restart_failed",
                                 HF_LOG_WARN,
                                 "the restart failed[: {reason}]" LAST_WORDS
                                 "; what ran before goes on",
                                 { WHY } },
    [HF_NOTE_NEXT_ATTEMPT] = { "next_attempt",
                               HF_LOG_INFO,
                               "next attempt in {in_ms} ms (failures lately: {failures})",
                               { N("in_ms", delay_ms), N("failures", count) } },
    [HF_NOTE_EXITED] = { "exited",
                         HF_LOG_INFO,
                         "process {pid} {reason}",
                         { N("pid", pid), W("reason", reason) } },
    [HF_NOTE_CLOSE_FAILED] = { "close_failed",
                               HF_LOG_WARN,
                               "some of its processes could not be killed and are left behind",
                               { { 0 } } },
    [HF_NOTE_FOREIGN_STDIN] = { "foreign_stdin",
                                HF_LOG_WARN,
                                "{bytes} bytes in its stdin are not what holdfast wrote last: "
                                "somebody else writes there, so no call in it counts as unread",
                                { N("bytes", count) } },
    [HF_NOTE_CHECK_FAILED] = { "check_failed",
                               HF_LOG_WARN,
                               "does not answer: liveness check {number} of {of} failed ({how})",
                               { N("number", count), N("of", of), W("how", what) } },
    [HF_NOTE_ASKED] = { "asked",
                        HF_LOG_INFO,
                        "{operation} was asked for",
                        { W("operation", what) } },
    [HF_NOTE_TOOLS_LEFT_OUT] = { "tools_left_out",
                                 HF_LOG_WARN,
                                 "{count} of its tools are left out[: {reason}]",
                                 { N("count", count), W("reason", reason) } },
    [HF_NOTE_LIST_FAILED] = { "list_failed",
                              HF_LOG_INFO,
                              "{method} failed; the last good list stays",
                              { W("method", method) } },
    [HF_NOTE_SESSION_FORGOTTEN] = { "session_forgotten",
                                    HF_LOG_INFO,
                                    "forgot session {session} (HTTP {status}); a new one is made",
                                    { N("session", count), N("status", status) } },
    [HF_NOTE_RESEND] = { "resend",
                         HF_LOG_INFO,
                         "{method} is sent again (evidence: {evidence}; sent before: {sends})",
                         { W("method", method), W("evidence", evidence), N("sends", count) } },
    [HF_NOTE_CALL_LOST] = { "call_lost",
                            HF_LOG_WARN,
                            "{method} was sent and has no answer to pass on: {outcome}[ "
                            "({reason})]",
                            { W("method", method), W("outcome", outcome), W("evidence", evidence),
                              W("reason", reason) } },
    [HF_NOTE_CALL_FAILED] = { "call_failed",
                              HF_LOG_INFO,
                              "{method} was not sent: {outcome}[ ({reason})]",
                              { W("method", method), W("outcome", outcome), W("evidence", evidence),
                                W("reason", reason) } },
    [HF_NOTE_PARK_EXPIRED] = { "parked_call_expired",
                               HF_LOG_INFO,
                               "a call that asked its client something is given up: no answer "
                               "came",
                               { { 0 } } },
    [HF_NOTE_NAME_CLASH] = { "name_clash",
                             HF_LOG_WARN,
                             "{name} is hidden: a server before it has the same name",
                             { W("name", what) } },
    [HF_NOTE_STALE] = { "dropped",
                        HF_LOG_INFO,
                        "dropped what an old process said: {what}",
                        { W("what", what) } },
    [HF_NOTE_SERVER_LOG] = { "server_log", HF_LOG_INFO, "says: {data}", { W("data", what) } },
    [HF_NOTE_LINE_TOO_LONG] = { "line_too_long",
                                HF_LOG_WARN,
                                "a line on its stdout was too long and is dropped; it has no id of "
                                "a call",
                                { { 0 } } },
    [HF_NOTE_NOISE] = { "noise",
                        HF_LOG_WARN,
                        "what it writes to stdout is no message, and ignored: {line}",
                        { W("line", what) } },
    [HF_NOTE_BUG] = { "bug",
                      HF_LOG_ERROR,
                      "this is a bug of holdfast, please report it: a {machine} that is {from} was "
                      "told {to}",
                      { W("machine", what), MOVE } },
};

static struct hf_log_field field_of(const struct hf_note *note, const struct member *member)
{
    const char *at = (const char *)note + member->offset;
    struct hf_log_field field = { .key = hf_span_of(member->key), .type = member->type };
    if (member->type == HF_LOG_NUMBER)
        memcpy(&field.number, at, sizeof field.number);
    else
        memcpy(&field.words, at, sizeof field.words);
    return field;
}

static bool is_empty(const struct hf_log_field *field)
{
    return field->type == HF_LOG_NUMBER ? field->number == 0 : field->words.n == 0;
}

struct facts { /* of one note */
    struct hf_log_field fields[FIELDS_MAX];
    size_t count;
};

/* Adds a part of a sentence. False: a field in it is empty. */
static bool add_part(struct hf_buf *out, struct hf_span part, const struct facts *facts)
{
    bool is_full = true;
    while (part.n) {
        const char *open = memchr(part.p, '{', part.n);
        const struct hf_span plain = { part.p, open ? (size_t)(open - part.p) : part.n };
        hf_buf_add(out, plain);
        part = hf_span_from(part, plain.n + (open ? 1 : 0));
        if (!open)
            break;
        const size_t n = (size_t)((const char *)memchr(part.p, '}', part.n) - part.p);
        const struct hf_span key = { part.p, n };
        part = hf_span_from(part, n + 1);
        for (const struct hf_log_field *f = facts->fields; f < facts->fields + facts->count; f++) {
            if (!hf_span_eq(f->key, key))
                continue;
            is_full &= !is_empty(f);
            if (f->type == HF_LOG_NUMBER)
                hf_buf_printf(out, "%" PRId64, f->number);
            else
                hf_buf_add(out, f->words);
        }
    }
    return is_full;
}

static void add_sentence(struct hf_buf *out, const char *sentence, const struct facts *facts)
{
    while (*sentence) {
        const size_t n = strcspn(sentence, "[");
        (void)add_part(out, (struct hf_span) { sentence, n }, facts);
        sentence += n;
        if (*sentence != '[')
            break;
        const size_t end = strcspn(sentence, "]");
        const size_t before = out->end;
        if (!add_part(out, (struct hf_span) { sentence + 1, end - 1 }, facts))
            out->end = before;
        sentence += end + 1;
    }
}

void hf_log_note(struct hf_log *log, const struct hf_note *note, uint64_t now_ms)
{
    const struct row *row = &rows[note->event];
    struct facts all = { .count = 0 }, shown = { .count = 0 };
    for (const struct member *m = row->members; m < row->members + FIELDS_MAX && m->key; m++) {
        const struct hf_log_field field = field_of(note, m);
        all.fields[all.count++] = field;
        if (field.type == HF_LOG_NUMBER || !is_empty(&field))
            shown.fields[shown.count++] = field;
    }
    struct hf_buf sentence;
    hf_buf_init(&sentence, SENTENCE_MAX);
    add_sentence(&sentence, row->sentence, &all);
    hf_log_write(log,
                 &(struct hf_log_entry) {
                     .level = note->is_routine ? HF_LOG_DEBUG : row->level,
                     .event = hf_span_of(row->event),
                     .server = note->server,
                     .generation = note->generation,
                     .fields = shown.fields,
                     .field_count = shown.count,
                     .sentence = hf_buf_span(&sentence),
                 },
                 now_ms);
    hf_buf_done(&sentence);
}
