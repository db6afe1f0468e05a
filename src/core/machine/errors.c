/* errors.c - see errors.h. */
#include "core/machine/errors.h"
#include <assert.h>
#include <string.h>
#include "wire/json.h"

#define ROW(id, code, name, dispatched, retry) { code, name, dispatched, retry },
static const struct {
    int code;
    const char *name;
    bool dispatched;
    const char *retry;
} errors[] = { HF_ERRORS(ROW) };

/* Adds the members of an object, without its braces. */
static void add_facts(struct hf_buf *out, enum hf_error error, const struct hf_error_facts *facts)
{
    assert(error < HF_ERROR_COUNT);
    const bool dispatched = errors[error].dispatched;
    assert(!dispatched || facts->evidence == HF_EVIDENCE_DISPATCHED);
    hf_buf_printf(out, "\"dispatched\":%s,\"retrySafe\":%s,\"retry\":\"%s\",\"evidence\":\"%s\"",
                  dispatched ? "true" : "false", dispatched ? "false" : "true", errors[error].retry,
                  hf_evidence_name(facts->evidence));
    if (facts->server.p) {
        hf_buf_add_str(out, ",\"server\":");
        hf_json_add_string(out, facts->server);
        hf_buf_printf(out, ",\"generation\":%llu", (unsigned long long)facts->generation);
    }
    if (facts->state.p) {
        hf_buf_add_str(out, ",\"state\":");
        hf_json_add_string(out, facts->state);
    }
    if (facts->retry_after_ms >= 0)
        hf_buf_printf(out, ",\"retryAfterMs\":%lld", (long long)facts->retry_after_ms);
    hf_buf_add_str(out, ",\"reason\":");
    hf_json_add_string(out, facts->reason.p ? facts->reason : hf_span_of(errors[error].name));
}

static void write_error(struct hf_buf *out, enum hf_error error, const struct hf_error_facts *facts)
{
    hf_buf_printf(out, ",\"error\":{\"code\":%d,\"message\":", errors[error].code);
    hf_json_add_string(out, facts->sentence);
    hf_buf_add_str(out, ",\"data\":{");
    add_facts(out, error, facts);
    hf_buf_add_str(out, "}}}");
}

static void write_result(struct hf_buf *out, enum hf_error error,
                         const struct hf_error_facts *facts, bool is_modern)
{
    hf_buf_printf(out, ",\"result\":{%s\"content\":[{\"type\":\"text\",\"text\":",
                  is_modern ? "\"resultType\":\"complete\"," : "");
    hf_json_add_string(out, facts->sentence);
    hf_buf_printf(out, "}],\"isError\":true,\"_meta\":{\"" HF_META_OUTCOME "\":{\"code\":%d,",
                  errors[error].code);
    add_facts(out, error, facts);
    hf_buf_add_str(out, "}}}}");
}

void hf_error_write(struct hf_buf *out, enum hf_error error, const struct hf_error_facts *facts,
                    enum hf_failure_form form)
{
    if (form == HF_AS_ERROR)
        write_error(out, error, facts);
    else
        write_result(out, error, facts, form == HF_AS_MODERN_RESULT);
}

bool hf_error_of_code(int64_t code, bool dispatched, enum hf_error *ret_error)
{
    for (enum hf_error error = 0; error < HF_ERROR_COUNT; error++)
        if (errors[error].code == code && errors[error].dispatched == dispatched) {
            *ret_error = error;
            return true;
        }
    return false;
}

/* ---- sentences ---- */

/* Words that some clients look for in an error before they send the call again by themselves. */
static bool is_misleading(const char *text, size_t n)
{
    static const char *const words[] = { "connect", "session", "fetch",  "http",   "transport",
                                         "socket",  "econn",   "stream", "closed", "terminated" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t length = strlen(words[i]);
        for (size_t at = 0; at + length <= n; at++)
            if (strncasecmp(text + at, words[i], length) == 0)
                return true;
    }
    return false;
}

void hf_error_add_why(struct hf_buf *out, const char *why)
{
    size_t n = strlen(why);
    const char *aside = strstr(why, " ("); /* a part in brackets may be left out */
    if (is_misleading(why, n) && aside)
        n = (size_t)(aside - why);
    if (n > 0 && !is_misleading(why, n))
        hf_buf_printf(out, " (%.*s)", (int)n, why);
}

void hf_error_tidy_sentence(char *sentence)
{
    for (char *c = sentence; *c; c++)
        if (*c == '"')
            *c = '\'';
}

int hf_error_code(enum hf_error error)
{
    return errors[error].code;
}

const char *hf_error_name(enum hf_error error)
{
    return errors[error].name;
}

bool hf_error_dispatched(enum hf_error error)
{
    return errors[error].dispatched;
}
