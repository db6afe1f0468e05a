/* refusals.c - see refusals.h. */
#include "front/refusals.h"

enum { QUIET_MS = 1000 };

static const struct {
    const char *name, *text;
} words[] = {
    [HF_REFUSED_HOST] = { "host", "a Host that is no name of this holdfast" },
    [HF_REFUSED_ORIGIN] = { "origin", "an Origin that is not allowed" },
    [HF_REFUSED_NO_TOKEN] = { "no_token", "no token" },
    [HF_REFUSED_WRONG_TOKEN] = { "wrong_token", "a token that we do not know" },
    [HF_REFUSED_LIMIT] = { "limit", "more than their share" },
};

static bool may_log(const struct hf_refusal_kind *kind, uint64_t now_ms)
{
    return !kind->logged_ms || now_ms >= kind->logged_ms + QUIET_MS;
}

static uint64_t note_logged(struct hf_refusal_kind *kind, uint64_t now_ms)
{
    const uint64_t left_out = kind->left_out;
    kind->logged_ms = now_ms;
    kind->left_out = 0;
    return left_out;
}

bool hf_refusals_note(struct hf_refusals *refusals, enum hf_refusal kind, uint64_t now_ms,
                      uint64_t *ret_left_out)
{
    struct hf_refusal_kind *it = &refusals->kinds[kind];
    it->count++;
    if (!may_log(it, now_ms)) {
        it->left_out++;
        return false;
    }
    *ret_left_out = note_logged(it, now_ms);
    return true;
}

bool hf_refusals_take_left_out(struct hf_refusals *refusals, uint64_t now_ms,
                               enum hf_refusal *ret_kind, uint64_t *ret_left_out)
{
    for (enum hf_refusal kind = 0; kind < HF_REFUSALS; kind++) {
        struct hf_refusal_kind *it = &refusals->kinds[kind];
        if (!it->left_out || !may_log(it, now_ms))
            continue;
        *ret_kind = kind;
        *ret_left_out = note_logged(it, now_ms);
        return true;
    }
    return false;
}

uint64_t hf_refusals_next_ms(const struct hf_refusals *refusals)
{
    uint64_t next_ms = 0;
    for (enum hf_refusal kind = 0; kind < HF_REFUSALS; kind++) {
        const struct hf_refusal_kind *it = &refusals->kinds[kind];
        const uint64_t at_ms = it->logged_ms + QUIET_MS;
        if (it->left_out && (!next_ms || at_ms < next_ms))
            next_ms = at_ms;
    }
    return next_ms;
}

const char *hf_refusal_name(enum hf_refusal kind)
{
    return words[kind].name;
}

const char *hf_refusal_text(enum hf_refusal kind)
{
    return words[kind].text;
}
