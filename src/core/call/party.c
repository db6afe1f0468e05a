/* party.c - see party.h. */
#include "core/call/party.h"
#include <assert.h>
#include "base/mem.h"
#include "core/state/call.h"
#include "core/state/session.h"

enum { REMEMBERED_LEAST = 16 << 20 };

const char *hf_shared_name(enum hf_shared what)
{
#define NAME(id, name) [HF_SHARED_##id] = name,
    static const char *const names[] = { HF_SHARED(NAME) };
#undef NAME
    return names[what];
}

/* ---- life ---- */

void hf_bounds_init(struct hf_engine *engine)
{
    const struct hf_limits *limits = &engine->limits;
    const uint64_t bytes = limits->max_buffered_bytes;
    const uint64_t most[HF_SHARED_COUNT] = {
        [HF_SHARED_CALLS] = limits->max_calls ? limits->max_calls : HF_CALLS_MAX,
        [HF_SHARED_HELD] = bytes,
        [HF_SHARED_SUBSCRIPTIONS] = HF_SUBSCRIPTIONS_MAX,
        /* apart from the bytes that calls hold: calls must not wait for clients to leave */
        [HF_SHARED_REMEMBERED] = bytes > REMEMBERED_LEAST ? bytes : REMEMBERED_LEAST,
        [HF_SHARED_PARKED] = bytes / 4,
    };
    for (enum hf_shared what = 0; what < HF_SHARED_COUNT; what++)
        engine->bounds[what] = (struct hf_bound) { .limit = most[what], .shares = limits->shares };
}

struct hf_client_party *hf_client_party_new(struct hf_client_party *within)
{
    struct hf_client_party *party = hf_new(struct hf_client_party);
    party->refs = 1;
    hf_link_init(&party->gone);
    party->within = hf_party_ref(within);
    for (enum hf_shared what = 0; within && what < HF_SHARED_COUNT; what++)
        party->shares[what].within = &within->shares[what];
    return party;
}

void hf_party_free(struct hf_client_party *party)
{
    struct hf_client_party *within = party->within;
    for (enum hf_shared what = 0; what < HF_SHARED_COUNT; what++)
        assert(party->shares[what].used == 0);
    hf_free(party);
    hf_party_unref(within);
}

void hf_client_party_unref(struct hf_client_party *party)
{
    hf_party_unref(party);
}

void hf_client_party_set_max(struct hf_client_party *party, enum hf_shared what, uint64_t max)
{
    party->shares[what].max = max;
}

uint64_t hf_client_party_used(const struct hf_client_party *party, enum hf_shared what)
{
    return party->shares[what].used;
}

void hf_session_set_party(struct hf_session *session, struct hf_client_party *party)
{
    struct hf_client_party *before = session->party;
    assert(session->remembered_bytes == 0);
    session->party = hf_party_ref(party);
    hf_client_party_unref(before);
}

struct hf_client_party *hf_client_party_outermost(struct hf_client_party *party)
{
    while (party->within)
        party = party->within;
    return party;
}
