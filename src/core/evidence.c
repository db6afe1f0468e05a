/* evidence.c - see evidence.h. */
#include "core/evidence.h"
#include <assert.h>

enum hf_evidence hf_evidence_of(struct hf_extent extent, struct hf_stream_facts facts)
{
    assert(!extent.begun || extent.start <= extent.brace);
    if (!extent.begun)
        return HF_EVIDENCE_UNSENT;
    if (extent.brace >= facts.written)
        return HF_EVIDENCE_PARTIAL;
    if (facts.taken_back > 0 && extent.brace >= facts.written - (uint64_t)facts.taken_back)
        return HF_EVIDENCE_UNREAD;
    return HF_EVIDENCE_DISPATCHED;
}

bool hf_evidence_byte_taken(struct hf_extent extent, struct hf_stream_facts facts)
{
    const uint64_t back = facts.taken_back > 0 ? (uint64_t)facts.taken_back : 0;
    assert(back <= facts.written);
    return extent.begun && extent.start < facts.written - back;
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

#define NAME(id, name) name,
static const char *const names[] = { HF_EVIDENCES(NAME) };

const char *hf_evidence_name(enum hf_evidence evidence)
{
    assert(evidence < HF_EVIDENCE_COUNT);
    return names[evidence];
}
