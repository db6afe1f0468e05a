/*
 * party.h - one of those among whom what is bounded for all clients is shared. The functions are in
 * call/party.h.
 */
#ifndef HF_CORE_STATE_PARTY_H
#define HF_CORE_STATE_PARTY_H

#include "base/list.h"
#include "base/share.h"
#include "core/engine.h"

struct hf_client_party {
    unsigned
        refs; /* of the front, of sessions, calls, parked calls, subscriptions, parties in it */
    struct hf_client_party *within; /* NULL: the party is in no other */
    struct hf_share shares[HF_SHARED_COUNT];
    struct hf_link gone; /* of an outermost party: its calls whose clients are gone, oldest first */
};

#endif
