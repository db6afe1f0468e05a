/* admission.c - whether a request is admitted: our own rules (front/access.h) first, then the
 * authorizer. While the authorizer takes its time the request is held; then it is routed again, so
 * that rules that changed meanwhile apply. */
#include "front/http_parts.h"

/* A request that waits for the authorizer's decision. */
struct held {
    struct hf_holder holder; /* first */
    struct hf_link link;     /* in front->held, the oldest first */
    struct hf_exchange *exchange;
    uint64_t ticket;
};

/* ---- waiting for a decision ---- */

static void drop(struct held *held)
{
    hf_unlink(&held->link);
    hf_free(held);
}

static void on_held_gone(struct hf_holder *holder)
{
    drop((struct held *)(void *)holder);
}

static void hold(struct hf_http_front *front, struct hf_exchange *exchange, uint64_t ticket)
{
    struct held *held = hf_new(struct held);
    held->holder.on_gone = on_held_gone;
    held->exchange = exchange;
    held->ticket = ticket;
    hf_link_init(&held->link);
    hf_list_push(&front->held, &held->link);
    hf_exchange_set_context(exchange, &held->holder);
}

void hf_http_front_decide(struct hf_http_front *front, uint64_t ticket, enum hf_admission admission)
{
    struct held *held;
    HF_LIST_EACH_SAFE (held, &front->held, struct held, link) {
        if (held->ticket != ticket)
            continue;
        struct hf_exchange *exchange = held->exchange;
        drop(held);
        if (admission == HF_ADMITTED)
            hf_route_head(front, exchange, true);
        else
            hf_http_turn_away(exchange, admission);
        return;
    }
}

void hf_admission_drop_all(struct hf_http_front *front)
{
    struct held *held;
    HF_LIST_EACH_SAFE (held, &front->held, struct held, link)
        drop(held);
}

/* ---- deciding ---- */

static enum hf_admission place_of(const struct hf_http_front *front,
                                  const struct hf_http_head *head)
{
    if (head->counts[HF_HTTP_ORIGIN] > 1)
        return HF_BAD_ORIGIN;
    return hf_access_place(front->access, hf_http_header(head, HF_HTTP_HOST),
                           hf_http_header(head, HF_HTTP_ORIGIN));
}

static enum hf_admission ask_authorizer(struct hf_http_front *front, struct hf_exchange *exchange,
                                        const struct hf_token *token)
{
    const struct hf_authorizer *authorizer = front->authorizer;
    const uint64_t ticket = ++front->last_ticket;
    const enum hf_admission admission =
        authorizer->ask(authorizer->context, hf_exchange_request(exchange), token, ticket);
    if (admission == HF_UNDECIDED)
        hold(front, exchange, ticket);
    return admission;
}

static bool is_preflight(const struct hf_http_front *front, const struct hf_exchange *exchange)
{
    const struct hf_http_head *head = hf_exchange_head(exchange);
    return hf_http_header(head, HF_HTTP_ORIGIN).p &&
           hf_span_is(hf_exchange_request(exchange)->method, "OPTIONS") &&
           place_of(front, head) == HF_ADMITTED;
}

bool hf_admission_of_client(struct hf_http_front *front, struct hf_exchange *exchange,
                            bool is_authorized, const struct hf_token **ret_token)
{
    if (is_preflight(front, exchange)) {
        hf_http_answer_preflight(exchange);
        return false;
    }
    enum hf_admission admission =
        hf_access_decide(front->access, hf_exchange_head(exchange), ret_token);
    if (admission == HF_ADMITTED && front->authorizer && !is_authorized)
        admission = ask_authorizer(front, exchange, *ret_token);
    if (admission != HF_ADMITTED && admission != HF_UNDECIDED)
        hf_http_turn_away(exchange, admission);
    return admission == HF_ADMITTED;
}

static struct hf_party *party_of_token(struct hf_http_front *front, const struct hf_token *token)
{
    struct hf_party *party = hf_party_of_token(&front->parties, token->hash, token->name);
    hf_party_set_limits(party, &token->limits);
    return party;
}

/* True: the party had too many requests in the last minute, and the exchange was answered. */
static bool refuse_rate(struct hf_http_front *front, struct hf_party *party,
                        struct hf_exchange *exchange)
{
    const uint32_t wait_s = hf_party_wait_s(party, hf_shell_now(front->shell));
    if (wait_s == 0)
        return false;
    hf_http_count_refusal(front, party, HF_LIMIT_RATE);
    hf_http_refuse_for_now(exchange, wait_s,
                           "This token had as many requests in a minute as it may "
                           "(limits.ratePerMinute); this one was not read");
    return true;
}

/* The caller's party, with a reference. NULL: only its connection tells this client from others. */
static struct hf_party *party_of(struct hf_http_front *front, const struct hf_caller *caller,
                                 const struct hf_exchange *exchange)
{
    const struct hf_http_head *head = hf_exchange_head(exchange);
    const struct hf_span id = hf_http_header(head, HF_HTTP_MCP_SESSION_ID);
    struct hf_http_session *session = id.p ? hf_http_session_look_up(front, caller, id) : NULL;
    struct hf_address address;
    front->judged.session = session;
    if (session)
        return hf_party_ref(session->party);
    if (caller->token)
        return party_of_token(front, caller->token);
    if (hf_access_address(front->access, hf_exchange_address(exchange), head, &address))
        return hf_party_of_address(&front->parties, &address);
    return NULL;
}

bool hf_admission_of_party(struct hf_http_front *front, const struct hf_caller *caller,
                           struct hf_exchange *exchange)
{
    struct hf_party *party = party_of(front, caller, exchange);
    if (party && refuse_rate(front, party, exchange)) {
        hf_party_unref(party);
        return false;
    }
    if (!party || &party->http == hf_exchange_party(exchange)) {
        hf_party_unref(party);
        return true;
    }
    const enum hf_share_verdict verdict = hf_exchange_set_party(exchange, &party->http);
    if (verdict == HF_SHARE_FITS)
        return true; /* the connection has the reference */
    hf_exchange_close_after(exchange);
    if (verdict == HF_SHARE_OF_PARTY)
        hf_http_refuse(
            exchange, 429, (struct hf_span) { NULL, 0 }, -31005,
            "This %s has its share of the connections, which streams are too%s; close some",
            party->within || !party->token ? "client" : "token",
            caller->token && caller->token->limits.streams ? " (limits.streams)" : "");
    else
        hf_http_refuse(exchange, 503, (struct hf_span) { NULL, 0 }, -31005,
                       "holdfast has as many connections as it may; try again later");
    hf_party_unref(party);
    return false;
}

bool hf_admission_of_watcher(struct hf_http_front *front, struct hf_exchange *exchange,
                             bool is_authorized)
{
    const struct hf_token *token;
    if (!hf_http_server_is_loopback(front->server) || hf_access_needs_token(front->access))
        return hf_admission_of_client(front, exchange, is_authorized, &token);
    const enum hf_admission admission = place_of(front, hf_exchange_head(exchange));
    if (admission != HF_ADMITTED)
        hf_http_turn_away(exchange, admission);
    return admission == HF_ADMITTED;
}
