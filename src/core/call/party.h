/*
 * party.h - what is bounded for all clients is shared by parties: a party's requests are refused
 * only if the party has its share (base/share.h).
 *
 * 1. Whatever is taken is given back by the same party: who takes holds a reference.
 * 2. Calls of our own are counted for no party, and are none of the calls that are shared.
 * 3. A party at its limit first loses its calls whose clients have been gone for goneMs.
 */
#ifndef HF_CORE_CALL_PARTY_H
#define HF_CORE_CALL_PARTY_H

#include <stdbool.h>
#include <stdint.h>
#include "core/engine.h"

struct hf_call;
struct hf_client_party;
struct hf_engine;
struct hf_incoming;
struct hf_server;

void hf_bounds_init(struct hf_engine *engine);
struct hf_client_party *hf_client_party_ref(struct hf_client_party *party); /* NULL accepted */

/* `party` NULL: nobody's. */
void hf_party_take(struct hf_engine *engine, struct hf_client_party *party, enum hf_shared what,
                   uint64_t amount);
void hf_party_give(struct hf_engine *engine, struct hf_client_party *party, enum hf_shared what,
                   uint64_t amount);
bool hf_party_may_take(const struct hf_engine *engine, const struct hf_client_party *party,
                       enum hf_shared what, uint64_t amount);
/* Answers the request with the limit that it would exceed; true: it did. `server` may be NULL. */
bool hf_party_refuse(const struct hf_incoming *in, struct hf_server *server, enum hf_shared what,
                     uint64_t wants);
/* Nobody waits for the call's answer any more, or somebody does again. */
void hf_party_call_gone(struct hf_call *call, bool is_gone);

#endif
