/* party.c - see party.h. */
#include "core/call/party.h"
#include <assert.h>
#include <stdio.h>
#include "base/mem.h"
#include "core/call/call.h"
#include "core/call/queue.h"
#include "core/call/send.h"
#include "core/state/engine_state.h"
#include "core/state/incoming.h"
#include "core/state/party.h"
#include "core/state/session.h"

enum { REMEMBERED_LEAST = 16 << 20 };
/* Of the calls whose clients are gone, so many are looked at for one that may be cancelled: a
 * server with a long goneMs must not make every arrival slow. */
enum { GONE_LOOKED_AT = 64 };

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
    party->within = hf_client_party_ref(within);
    for (enum hf_shared what = 0; within && what < HF_SHARED_COUNT; what++)
        party->shares[what].within = &within->shares[what];
    return party;
}

struct hf_client_party *hf_client_party_ref(struct hf_client_party *party)
{
    if (party)
        party->refs++;
    return party;
}

void hf_client_party_unref(struct hf_client_party *party)
{
    while (party && --party->refs == 0) {
        struct hf_client_party *within = party->within;
        for (enum hf_shared what = 0; what < HF_SHARED_COUNT; what++)
            assert(party->shares[what].used == 0);
        hf_free(party);
        party = within;
    }
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
    session->party = hf_client_party_ref(party);
    hf_client_party_unref(before);
}

/* ---- counting ---- */

static struct hf_share *share_of(struct hf_client_party *party, enum hf_shared what)
{
    return party ? &party->shares[what] : NULL;
}

void hf_party_take(struct hf_engine *engine, struct hf_client_party *party, enum hf_shared what,
                   uint64_t amount)
{
    hf_share_take(&engine->bounds[what], share_of(party, what), amount);
}

void hf_party_give(struct hf_engine *engine, struct hf_client_party *party, enum hf_shared what,
                   uint64_t amount)
{
    hf_share_give(&engine->bounds[what], share_of(party, what), amount);
}

static enum hf_share_verdict judge(const struct hf_engine *engine,
                                   const struct hf_client_party *party, enum hf_shared what,
                                   uint64_t wants)
{
    return hf_share_judge(&engine->bounds[what], party ? &party->shares[what] : NULL, wants);
}

bool hf_party_may_take(const struct hf_engine *engine, const struct hf_client_party *party,
                       enum hf_shared what, uint64_t amount)
{
    return judge(engine, party, what, amount) == HF_SHARE_FITS;
}

/* ---- calls whose clients are gone ---- */

static struct hf_client_party *outermost(struct hf_client_party *party)
{
    while (party->within)
        party = party->within;
    return party;
}

void hf_party_call_gone(struct hf_call *call, bool is_gone)
{
    struct hf_engine *engine = call->engine;
    if ((hf_call_detour(call)->gone_ms != 0) == is_gone)
        return;
    struct hf_detour *detour = hf_call_make_detour(call);
    detour->gone_ms = is_gone ? engine->now_ms : 0;
    if (is_gone) {
        engine->gone_count++;
        hf_list_push(&outermost(call->party)->gone, &detour->in_gone);
    } else {
        engine->gone_count--;
        hf_unlink(&detour->in_gone);
    }
}

/* Cancels the one of the party's calls whose client has been gone for longest; false: none has been
 * gone for goneMs. */
static bool cancel_one_gone(struct hf_client_party *party)
{
    unsigned looked_at = 0;
    struct hf_detour *detour;
    HF_LIST_EACH (detour, &outermost(party)->gone, struct hf_detour, in_gone) {
        if (hf_call_gives_way(detour->call)) {
            hf_call_give_way(detour->call);
            return true;
        }
        if (++looked_at == GONE_LOOKED_AT)
            return false;
    }
    return false;
}

/* ---- refusing ---- */

static const struct {
    const char *reason; /* for machines */
    const char *what;   /* "its share of the …" */
    const char *option; /* a token's own limit; NULL: it can have none */
    const char *advice;
    bool is_of_calls; /* calls that end free some */
} words[HF_SHARED_COUNT] = {
    [HF_SHARED_CALLS] = { "too_many_calls", "calls that may be under way", "calls",
                          "Wait for some to end", true },
    [HF_SHARED_HELD] = { "max_buffered_bytes", "bytes that requests may hold (maxBufferedBytes)",
                         "bytes", "Wait for some requests to end, or send smaller ones", true },
    [HF_SHARED_SUBSCRIPTIONS] = { "too_many_subscriptions",
                                  "resources that clients may be subscribed to", "subscriptions",
                                  "Unsubscribe from others first", false },
    [HF_SHARED_REMEMBERED] = { "client_keeps_too_much",
                               "bytes that holdfast remembers of clients (their introductions and "
                               "subscriptions)",
                               NULL,
                               "Unsubscribe from something, or introduce yourself more briefly",
                               false },
    [HF_SHARED_PARKED] = { "too_much_parked", "bytes of calls that wait for their client's answers",
                           NULL, "Answer or give up some of them", true },
};

/* The share, of the party's own or of one that it is in, that has its own limit and is full. */
static const struct hf_share *own_limit(const struct hf_client_party *party, enum hf_shared what,
                                        uint64_t wants)
{
    for (; party; party = party->within) {
        const struct hf_share *share = &party->shares[what];
        if (share->max && share->used + wants > share->max)
            return share;
    }
    return NULL;
}

/* "12 of 16", and of bytes how many more are wanted. */
static const char *numbers(uint64_t used, uint64_t limit, uint64_t wants, char *room, size_t size)
{
    const int n =
        snprintf(room, size, "%llu of %llu", (unsigned long long)used, (unsigned long long)limit);
    if (wants > 1)
        (void)snprintf(room + n, size - (size_t)n, ", and this needs %llu more",
                       (unsigned long long)wants);
    return room;
}

static const char *sentence(const struct hf_incoming *in, enum hf_shared what, uint64_t wants,
                            enum hf_share_verdict verdict, char *room, size_t size)
{
    const struct hf_bound *bound = &in->session->engine->bounds[what];
    const struct hf_share *own = own_limit(in->party, what, wants);
    char counts[100];
    if (own)
        (void)snprintf(room, size,
                       "Your token has as many as it may (limits.%s) of the %s: %s; this request "
                       "was not sent. %s.",
                       words[what].option, words[what].what,
                       numbers(own->used, own->max, wants, counts, sizeof counts),
                       words[what].advice);
    else if (verdict == HF_SHARE_OF_PARTY)
        (void)snprintf(
            room, size, "You have your share of the %s: %s; this request was not sent. %s.",
            words[what].what,
            numbers(in->party->shares[what].used, bound->limit, wants, counts, sizeof counts),
            words[what].advice);
    else
        (void)snprintf(room, size,
                       "Of the %s too few are left for anybody: %s; this request was not sent. Try "
                       "again later.",
                       words[what].what,
                       numbers(bound->used, bound->limit, wants, counts, sizeof counts));
    return room;
}

bool hf_party_refuse(const struct hf_incoming *in, struct hf_server *server, enum hf_shared what,
                     uint64_t wants)
{
    const struct hf_engine *engine = in->session->engine;
    enum hf_share_verdict verdict = judge(engine, in->party, what, wants);
    while (verdict != HF_SHARE_FITS && words[what].is_of_calls && engine->gone_count &&
           cancel_one_gone(in->party))
        verdict = judge(engine, in->party, what, wants);
    if (verdict == HF_SHARE_FITS)
        return false;
    char room[400];
    hf_reply_over_limit(in, server, what, words[what].reason,
                        sentence(in, what, wants, verdict, room, sizeof room));
    return true;
}
