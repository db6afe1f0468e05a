/*
 * party.h - what is bounded for all clients is shared by parties: a party's requests are refused
 * only if the party has its share (base/share.h).
 *
 * 1. Whatever is taken is given back by the same party: who takes holds a reference.
 * 2. Calls of our own are counted for no party, and are none of the calls that are shared.
 */
#ifndef HF_CORE_CALL_PARTY_H
#define HF_CORE_CALL_PARTY_H

#include <stdbool.h>
#include <stdint.h>
#include "base/share.h"
#include "core/engine.h"
#include "core/state/engine_state.h"
#include "core/state/party.h"

void hf_bounds_init(struct hf_engine *engine);
struct hf_client_party *hf_client_party_outermost(struct hf_client_party *party);

/* ---- counting: every call is counted, so this is inline. `party` NULL: nobody's. ---- */

void hf_party_free(struct hf_client_party *party); /* that nobody has a reference of */
static inline struct hf_client_party *hf_party_ref(struct hf_client_party *party)
{
    if (party)
        party->refs++;
    return party;
}
static inline void hf_party_unref(struct hf_client_party *party)
{
    if (party && --party->refs == 0)
        hf_party_free(party);
}
static inline void hf_party_take(struct hf_engine *engine, struct hf_client_party *party,
                                 enum hf_shared what, uint64_t amount)
{
    hf_share_take(&engine->bounds[what], party ? &party->shares[what] : NULL, amount);
}
static inline void hf_party_give(struct hf_engine *engine, struct hf_client_party *party,
                                 enum hf_shared what, uint64_t amount)
{
    hf_share_give(&engine->bounds[what], party ? &party->shares[what] : NULL, amount);
}
static inline enum hf_share_verdict hf_party_judge(const struct hf_engine *engine,
                                                   const struct hf_client_party *party,
                                                   enum hf_shared what, uint64_t wants)
{
    return hf_share_judge(&engine->bounds[what], party ? &party->shares[what] : NULL, wants);
}
static inline bool hf_party_may_take(const struct hf_engine *engine,
                                     const struct hf_client_party *party, enum hf_shared what,
                                     uint64_t amount)
{
    return hf_party_judge(engine, party, what, amount) == HF_SHARE_FITS;
}

#endif
