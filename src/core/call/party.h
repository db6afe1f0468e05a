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

struct hf_client_party;
struct hf_engine;

void hf_bounds_init(struct hf_engine *engine);
struct hf_client_party *hf_client_party_ref(struct hf_client_party *party); /* NULL accepted */

/* `party` NULL: nobody's. */
void hf_party_take(struct hf_engine *engine, struct hf_client_party *party, enum hf_shared what,
                   uint64_t amount);
void hf_party_give(struct hf_engine *engine, struct hf_client_party *party, enum hf_shared what,
                   uint64_t amount);
bool hf_party_may_take(const struct hf_engine *engine, const struct hf_client_party *party,
                       enum hf_shared what, uint64_t amount);
enum hf_share_verdict hf_party_judge(const struct hf_engine *engine,
                                     const struct hf_client_party *party, enum hf_shared what,
                                     uint64_t wants);
struct hf_client_party *hf_client_party_outermost(struct hf_client_party *party);

#endif
