/* evidence.c - see evidence.h. */
#include "core/machine/evidence.h"
#include <assert.h>
#include <stddef.h>

/* If more was taken back than was written, it is not what we wrote, and proves nothing. */
static uint64_t read_up_to(struct hf_stream_facts facts)
{
    const uint64_t back = facts.taken_back > 0 ? (uint64_t)facts.taken_back : 0;
    return back <= facts.written ? facts.written - back : facts.written;
}

enum hf_evidence hf_evidence_of(struct hf_extent extent, struct hf_stream_facts facts)
{
    assert(!extent.begun || extent.start <= extent.brace);
    if (!extent.begun)
        return HF_EVIDENCE_UNSENT;
    if (extent.brace >= facts.written)
        return HF_EVIDENCE_PARTIAL;
    return extent.brace >= read_up_to(facts) ? HF_EVIDENCE_UNREAD : HF_EVIDENCE_DISPATCHED;
}

bool hf_evidence_byte_taken(struct hf_extent extent, struct hf_stream_facts facts)
{
    return extent.begun && extent.start < read_up_to(facts);
}

enum hf_verdict hf_evidence_verdict(enum hf_evidence evidence, struct hf_history history)
{
    assert(evidence < HF_EVIDENCE_COUNT);
    if (evidence == HF_EVIDENCE_DISPATCHED && !history.is_repeatable)
        return HF_VERDICT_UNKNOWN;
    const unsigned max = history.byte_taken ? HF_SENDS_MAX_ONCE_TAKEN : HF_SENDS_MAX;
    if (history.sends < max || evidence == HF_EVIDENCE_UNSENT)
        return HF_VERDICT_RESEND;
    if (evidence == HF_EVIDENCE_DISPATCHED)
        return HF_VERDICT_UNKNOWN;
    return evidence == HF_EVIDENCE_REFUSED ? HF_VERDICT_REFUSED_AGAIN : HF_VERDICT_DIES_ON_IT;
}

bool hf_http_says_other_era(int status)
{
    return status == 400 || status == 404 || status == 405;
}

/* 405, 413 and 415 come from what stands in front of the tools: no tool has seen the call. So does
 * a 401 that a ping gets as well; any other 401 may be the tool's own. */
enum hf_http_verdict hf_http_rejection(int status, bool is_anybodys)
{
    const bool is_before_tools = status == 405 || status == 413 || status == 415;
    return is_before_tools || (status == 401 && is_anybodys) ? HF_HTTP_REJECTED
                                                             : HF_HTTP_REJECTED_LATE;
}

enum hf_http_verdict hf_http_verdict(struct hf_http_facts facts)
{
    static const enum hf_http_verdict by_sent[] = {
        [HF_SENT_NOTHING] = HF_HTTP_UNSENT,
        [HF_SENT_PART] = HF_HTTP_PARTIAL,
        [HF_SENT_WHOLE] = HF_HTTP_DISPATCHED,
    };
    assert(facts.sent <= HF_SENT_WHOLE);
    if (facts.status == 0)
        return by_sent[facts.sent];
    if (facts.is_unreadable) /* whoever vouches for it, and whatever its status says */
        return HF_HTTP_DISPATCHED;
    if (facts.status >= 400 && facts.is_vouched)
        return HF_HTTP_REFUSED;
    if (facts.status == 421 || facts.status == 425)
        return HF_HTTP_REFUSED;
    if (facts.status >= 300 && facts.status < 400) /* we follow no redirects */
        return HF_HTTP_REJECTED_LATE;
    if (facts.status < 300 && facts.had_session && facts.is_to_nobody)
        return HF_HTTP_DOUBTED;
    if (facts.status < 400 || facts.status >= 500)
        return HF_HTTP_DISPATCHED;
    /* A client over its rate limit gets 429 to anything: a ping would get it too, and the session
     * lives on. */
    if (facts.status == HF_TOO_MANY_REQUESTS)
        return HF_HTTP_REJECTED_LATE;
    if (facts.had_session || facts.status == 401 ||
        (facts.may_be_of_era && hf_http_says_other_era(facts.status)))
        return HF_HTTP_DOUBTED;
    return hf_http_rejection(facts.status, false);
}

#define NAME(id, name) name,
static const char *const names[] = { HF_EVIDENCES(NAME) };

const char *hf_evidence_name(enum hf_evidence evidence)
{
    assert(evidence < HF_EVIDENCE_COUNT);
    return names[evidence];
}
