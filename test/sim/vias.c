/* vias.c - clients over HTTP: each message has an exchange of its own, a via, and its answers come
 * there, exactly as many as it is owed; and the same books for clients with one stream for all. */
#include "sim.h"

bool via_is_left(const struct sim *sim, const struct client *client)
{
    return !client->is_http || sim->via_count + 1 < VIAS;
}

uint64_t via_next(const struct sim *sim, const struct client *client)
{
    return client->is_http ? sim->via_count + 1 : 0;
}

void client_say(struct sim *sim, struct client *client, unsigned owed, unsigned nulls)
{
    const struct hf_span text = hf_buf_span(&sim->message);
    TRACE(sim, "client %d says%s %u: %.*s", (int)(client - sim->clients),
          client->is_http ? " via" : "", (unsigned)via_next(sim, client),
          (int)(text.n < 300 ? text.n : 300), text.p);
    shell_begin(sim, NULL);
    if (client->is_http) {
        const unsigned via = ++sim->via_count;
        sim->stats->vias++;
        sim->vias[via] = (struct via) {
            .client = (int)(client - sim->clients), .is_open = true, .owed = owed, .nulls = nulls
        };
        const unsigned said = hf_session_message_from(
            client->session, text, &(struct hf_origin) { .via = via }, at(sim->now_ms));
        if (said != owed)
            sim_broken(sim, PROMISE_P1, "%u answers are promised to a message that asks for %u",
                       said, owed);
    } else {
        client->null_answers += nulls;
        hf_session_message(client->session, text, at(sim->now_ms));
    }
    shell_end(sim);
}

void vias_close(struct sim *sim, const struct client *client)
{
    for (unsigned i = 1; i <= sim->via_count; i++)
        if (sim->vias[i].client == (int)(client - sim->clients))
            sim->vias[i].is_open = false;
}

/* It has come back to the stream of that message. */
static void via_return(struct sim *sim, struct client *client, uint64_t via)
{
    TRACE(sim, "client %d: via %u is back", (int)(client - sim->clients), (unsigned)via);
    sim->vias[via].is_gone = false;
    shell_begin(sim, NULL);
    hf_session_via_back(client->session, via, at(sim->now_ms));
    hf_session_set_stream(client->session, HF_STREAM_OPEN, at(sim->now_ms));
    shell_end(sim);
}

/* What was not sent is answered now, and never will be sent. */
void via_vanish(struct sim *sim, struct client *client)
{
    if (client->open_count == 0)
        return;
    if (client->is_modern) {
        modern_vanish(sim, client);
        return;
    }
    const uint64_t via = sim->requests[client->open[below(sim, client->open_count)]].via;
    if (sim->vias[via].is_gone) {
        if (chance(sim, 50))
            via_return(sim, client, via);
        return;
    }
    TRACE(sim, "client %d: via %u vanishes", (int)(client - sim->clients), (unsigned)via);
    sim->vias[via].is_gone = true;
    sim->vias[via].gone_ms = sim->now_ms;
    sim->stats->vias_gone++;
    shell_begin(sim, NULL);
    hf_session_via_gone(client->session, via, at(sim->now_ms));
    hf_session_set_stream(client->session, (enum hf_stream_state)below(sim, 3), at(sim->now_ms));
    shell_end(sim);
    for (unsigned i = 0; i < client->open_count && !sim->has_failed; i++) {
        const struct request *r = &sim->requests[client->open[i]];
        if (r->via == via && r->sends == 0 && r->kind <= ASK_UNKNOWN && !r->shares_its_id &&
            !sim->engine->uses_seam[HF_SEAM_ANSWER])
            sim_broken(sim, PROMISE_P1, "request %d still waits, and nobody for it", r->number);
    }
}

/* ---- what comes ---- */

static void check_form(struct sim *sim, const struct hf_effect *effect, const struct hf_msg *msg)
{
    int64_t code = 0;
    const bool is_answer = msg->kind == HF_MSG_RESULT || msg->kind == HF_MSG_ERROR;
    if (is_answer != effect->is_answer)
        sim_broken(sim, PROMISE_P1, "an answer is not called one, or something else is");
    if (msg->kind == HF_MSG_ERROR && !hf_json_int(hf_json_get(msg->error, HF_SPAN("code")), &code))
        sim_broken(sim, PROMISE_P3, "an error has no code");
    if (code != effect->error_code)
        sim_broken(sim, PROMISE_P3, "error %d is told as %d", (int)code, effect->error_code);
}

static void check_null(struct sim *sim, unsigned *nulls)
{
    if (*nulls == 0)
        sim_broken(sim, PROMISE_P1, "an answer that belongs to nothing");
    else
        --*nulls;
}

void via_check(struct sim *sim, struct client *client, const struct hf_effect *effect,
               const struct hf_msg *msg)
{
    struct via *via = effect->via <= sim->via_count ? &sim->vias[effect->via] : NULL;
    const bool is_null = msg && effect->is_answer && (!msg->id.p || hf_span_is(msg->id, "null"));
    if (msg)
        check_form(sim, effect, msg);
    if (!client->is_http) {
        if (effect->via || !msg)
            sim_broken(sim, PROMISE_P6, "a via for a client that has none");
        if (is_null)
            check_null(sim, &client->null_answers);
        return;
    }
    if (!effect->is_answer && !effect->via)
        return; /* on the stream that is for everything else */
    if (!via || !via->is_open || via->client != (int)(client - sim->clients)) {
        sim_broken(sim, PROMISE_P6, "client %d hears of via %u, which is none of its own",
                   (int)(client - sim->clients), (unsigned)effect->via);
        return;
    }
    if (effect->is_answer && ++via->got > via->owed)
        sim_broken(sim, PROMISE_P1, "via %u was owed %u answers and got one more",
                   (unsigned)effect->via, via->owed);
    if (is_null)
        check_null(sim, &via->nulls);
    if (!msg && !effect->is_answer)
        sim_broken(sim, PROMISE_INNER, "a client was sent nothing");
    if (!msg && via->nothings-- == 0)
        sim_broken(sim, PROMISE_P1, "via %u hears of a cancel that was none",
                   (unsigned)effect->via);
}

void vias_check_end(struct sim *sim)
{
    for (unsigned i = 1; i <= sim->via_count && !sim->has_failed; i++)
        if (sim->vias[i].is_open && sim->vias[i].got != sim->vias[i].owed)
            sim_broken(sim, PROMISE_P1, "via %u was owed %u answers and got %u", i,
                       sim->vias[i].owed, sim->vias[i].got);
}
