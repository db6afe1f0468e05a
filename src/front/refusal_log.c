/* refusal_log.c - requests that the HTTP front refused: lines in the log (refusals.h), and counts
 * by token. */
#include <stdarg.h>
#include <stdio.h>
#include "front/http_parts.h"

enum { QUOTED_MAX = 100, LOG_LINE_MAX = 600, LEFT_OUT_MAX = 100 };

/* ---- the log ---- */

/* Text that a stranger sent is cut here; the log escapes it. */
static struct hf_span shortened(struct hf_span text)
{
    return (struct hf_span) { text.p ? text.p : "", text.n < QUOTED_MAX ? text.n : QUOTED_MAX };
}

static void HF_PRINTF(3, 4)
    log_refusal(struct hf_http_front *front, enum hf_refusal kind, const char *format, ...)
{
    char text[LOG_LINE_MAX];
    uint64_t left_out;
    va_list args;
    if (!hf_refusals_note(&front->refusals, kind, hf_shell_now(front->shell), &left_out)) {
        hf_http_wake(front, hf_refusals_next_ms(&front->refusals));
        return;
    }
    va_start(args, format);
    (void)vsnprintf(text, sizeof text - LEFT_OUT_MAX, format, args);
    va_end(args);
    const size_t n = strlen(text);
    if (left_out)
        (void)snprintf(text + n, sizeof text - n,
                       " (and %llu more like it since the last such line)",
                       (unsigned long long)left_out);
    if (front->log.warn)
        front->log.warn(front->log.context, hf_span_of(text));
}

void hf_http_log_left_out(struct hf_http_front *front, uint64_t now_ms)
{
    enum hf_refusal kind;
    uint64_t left_out;
    while (hf_refusals_take_left_out(&front->refusals, now_ms, &kind, &left_out)) {
        char text[LOG_LINE_MAX];
        (void)snprintf(text, sizeof text, "refused %llu more requests with %s",
                       (unsigned long long)left_out, hf_refusal_text(kind));
        if (front->log.warn)
            front->log.warn(front->log.context, hf_span_of(text));
    }
}

static struct hf_span from_where(const struct hf_exchange *exchange)
{
    const struct hf_span peer = hf_exchange_peer(exchange);
    return peer.n ? peer : HF_SPAN("the unix socket");
}

void hf_http_log_refusal(const struct hf_exchange *exchange, enum hf_admission admission)
{
    struct hf_http_front *front = hf_exchange_owner(exchange);
    const struct hf_http_head *head = hf_exchange_head(exchange);
    const struct hf_span from = from_where(exchange);
    const struct hf_span host = shortened(hf_http_header(head, HF_HTTP_HOST));
    const struct hf_span origin = shortened(hf_http_header(head, HF_HTTP_ORIGIN));
    switch (admission) {
    case HF_BAD_HOST:
        log_refusal(
            front, HF_REFUSED_HOST,
            "refused a request from %.*s: its Host \"%.*s\" is no name of this holdfast; to "
            "allow it, add it to holdfast.hosts",
            HF_FMT(from), HF_FMT(host));
        break;
    case HF_BAD_ORIGIN:
        log_refusal(front, HF_REFUSED_ORIGIN,
                    "refused a request from %.*s: web pages of \"%.*s\" are not allowed; to allow "
                    "them, add that to holdfast.origins",
                    HF_FMT(from), HF_FMT(origin));
        break;
    case HF_NO_TOKEN:
        log_refusal(front, HF_REFUSED_NO_TOKEN, "refused a request from %.*s: it has no token",
                    HF_FMT(from));
        break;
    case HF_WRONG_TOKEN:
        log_refusal(front, HF_REFUSED_WRONG_TOKEN,
                    "refused a request from %.*s: its token is not known here", HF_FMT(from));
        break;
    case HF_ADMITTED:
    case HF_UNDECIDED: break;
    }
}

/* ---- counts by token ---- */

size_t hf_tally_of(const struct hf_tallies *tallies, const char *token)
{
    for (size_t i = 1; token && i < tallies->count; i++)
        if (!strcmp(tallies->list[i].token, token))
            return i;
    return 0;
}

/* The tallies behind the first stand in the order of the tokens. */
void hf_tallies_look(struct hf_http_front *front)
{
    struct hf_tally *tally = front->tallies.list + 1;
    for (const struct hf_token *token = NULL; (token = hf_access_next_token(front->access, token));
         tally++) {
        const struct hf_party *party = hf_parties_find_token(&front->parties, token->hash);
        tally->sessions = party ? party->sessions.used : 0;
        tally->calls = party ? hf_client_party_used(party->core, HF_SHARED_CALLS) : 0;
    }
}

void hf_http_count_refusal(struct hf_http_front *front, const struct hf_party *party,
                           enum hf_front_limit limit)
{
    const char *token = party ? hf_party_token(party) : NULL;
    log_refusal(front, HF_REFUSED_LIMIT,
                "refused a request of %s%s%s: its share of the %s is used up, or all are in use",
                token ? "token \"" : "a client", token ? token : "", token ? "\"" : "",
                hf_limit_name(limit));
    front->tallies.list[hf_tally_of(&front->tallies, token)].refused[limit]++;
}

void hf_tallies_free(struct hf_tallies *tallies)
{
    for (size_t i = 0; i < tallies->count; i++)
        hf_free(tallies->list[i].token);
    hf_free(tallies->list);
}

static void add_tally(struct hf_tallies *tallies, const struct hf_tallies *before, const char *name)
{
    tallies->list = hf_realloc(tallies->list, (tallies->count + 1) * sizeof *tallies->list);
    struct hf_tally *tally = &tallies->list[tallies->count++];
    *tally = (struct hf_tally) { .token = hf_strdup(name) };
    for (size_t i = 0; i < before->count; i++)
        if (!strcmp(before->list[i].token, name)) {
            memcpy(tally->refused, before->list[i].refused, sizeof tally->refused);
            tally->answered = before->list[i].answered;
        }
}

/* Counts of tokens that are still configured go on. */
void hf_tallies_renew(struct hf_http_front *front)
{
    struct hf_tallies fresh = { 0 };
    add_tally(&fresh, &front->tallies, "");
    for (const struct hf_token *token = NULL; (token = hf_access_next_token(front->access, token));)
        add_tally(&fresh, &front->tallies, token->name);
    hf_tallies_free(&front->tallies);
    front->tallies = fresh;
}
