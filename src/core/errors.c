/* errors.c - see errors.h. */
#include "core/errors.h"
#include <assert.h>
#include "wire/json.h"

#define ROW(id, code, name, dispatched, retry) { code, name, dispatched, retry },
static const struct {
    int code;
    const char *name;
    bool dispatched;
    const char *retry;
} errors[] = { HF_ERRORS(ROW) };

void hf_error_write(struct hf_buf *out, enum hf_error error, const struct hf_error_facts *facts)
{
    assert(error < HF_ERROR_COUNT);
    const bool dispatched = errors[error].dispatched;
    assert(!dispatched || facts->evidence == HF_EVIDENCE_DISPATCHED);
    hf_buf_printf(out, "{\"code\":%d,\"message\":", errors[error].code);
    hf_json_add_string(out, facts->sentence);
    hf_buf_printf(
        out, ",\"data\":{\"dispatched\":%s,\"retrySafe\":%s,\"retry\":\"%s\",\"evidence\":\"%s\"",
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
    hf_buf_add_str(out, "}}");
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
