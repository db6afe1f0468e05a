/* exam.c - in calm, one modern client and one legacy server go through a parked call from end to
 * end. What may happen in madness must happen here, and exactly so. */
#include <signal.h>
#include "sim.h"

enum { STEPS_MAX = 2000 }; /* in which news must come */

/* The one whose server is up, speaks the older era and has no other reason to fail. */
static struct child *examinee(const struct client *client, const struct instance *target)
{
    const struct hf_slot *slot =
        target->server ? hf_slot_of(target->server, client->session) : NULL;
    if (!slot || slot->machine.state != HF_SLOT_CONNECTED || slot->current->is_modern ||
        target->settings.stateful || target->removed || !policy_allows(client, target, "put"))
        return NULL;
    struct child *child = child_behind(slot->current->backend);
    const bool can_ask = child->is_remote ? !target->host.is_older : !child->stdout_closed;
    return can_ask ? child : NULL;
}

static struct request *retry(struct sim *sim, struct client *client, unsigned question,
                             enum retry how)
{
    struct request *r = client_retry(sim, client, question, how);
    if (!r || sim->has_failed)
        return NULL;
    sim->stats->retries[how]++;
    if (how == RETRY_ANSWER && r->state == OPEN && sim->questions[question].by < 0)
        sim->questions[question].by = r->number;
    return run_until_answered(sim) ? r : NULL;
}

static void expect(struct sim *sim, const struct request *r, int code, const char *when)
{
    if (r && !sim->has_failed && r->code != code)
        sim_broken(sim, PROMISE_CALM, "%s request %d hears %d", when, r->number, r->code);
}

/* Its own process of that server may be a modern one, whose state it might be. */
static void expect_unless_sent(struct sim *sim, const struct request *r)
{
    if (r && r->sends == 0)
        expect(sim, r, -32602, "at another client");
}

/* ---- what may become of it ---- */

static void stay_away(struct sim *sim, struct client *client, const struct request *root,
                      unsigned question)
{
    if (!run_to_rest(sim))
        return;
    if (sim->now_ms < root->touched_ms + sim->limits.park_ms)
        sim_broken(sim, PROMISE_CALM, "request %d was given up early", root->number);
    if (!root->was_taken_back)
        sim_broken(sim, PROMISE_CALM, "nobody came back for request %d, and its server never heard",
                   root->number);
    if (!sim->has_failed)
        expect(sim, retry(sim, client, question, RETRY_ANSWER), -32602, "after parkMs");
}

static void answer(struct sim *sim, struct client *client, const struct request *root,
                   unsigned question)
{
    const struct request *tampered = retry(sim, client, question, RETRY_TAMPERED);
    if (tampered && tampered->code == 0) /* it may wait for its server, and in vain */
        expect(sim, tampered, -32602, "with a changed state");
    if (sim->now_ms >= root->touched_ms + sim->limits.park_ms)
        return; /* it had to wait for its server */
    if (!sim->has_failed)
        expect(sim, retry(sim, client, question, RETRY_ANSWER), 0, "after its answer");
    if (!sim->has_failed && root->effects != 1)
        sim_broken(sim, PROMISE_CALM, "request %d ran %u times", root->number, root->effects);
    if (!sim->has_failed)
        expect(sim, retry(sim, client, question, RETRY_SAME), 0, "with the same answer");
    if (!sim->has_failed)
        expect(sim, retry(sim, client, question, RETRY_OTHER), -31008, "with another answer");
    for (int c = 0; c < CLIENTS && !sim->has_failed; c++) {
        struct client *other = &sim->clients[c];
        if (other != client && other->session && other->is_modern && other->only == client->only &&
            other->policy == 0)
            expect_unless_sent(sim, retry(sim, other, question, RETRY_FOREIGN));
    }
}

static void kill_server(struct sim *sim, struct client *client, struct child *child,
                        unsigned question)
{
    const uint64_t until = sim->now_ms + sim->limits.park_ms;
    child_die(sim, child, SIGKILL);
    if (!sim->has_failed && run_to_rest_with_parked(sim) && sim->now_ms < until)
        expect(sim, retry(sim, client, question, RETRY_ANSWER), -31002, "after a death");
}

/* ---- listening ---- */

/* By a legacy client, with a request of its own. */
static bool was_subscribed_otherwise(const struct sim *sim)
{
    for (int i = 0; i < sim->request_count; i++)
        if (sim->requests[i].kind == ASK_SUBSCRIBE)
            return true;
    return false;
}

static void expect_news(struct sim *sim, const struct request *r, unsigned which, const char *what)
{
    const uint64_t before = sim->stats->listens[which];
    for (unsigned i = 0; i < STEPS_MAX && sim->stats->listens[which] == before; i++)
        if (!sim->has_failed)
            shell_step(sim);
    if (!sim->has_failed && sim->stats->listens[which] == before)
        sim_broken(sim, PROMISE_CALM, "request %d listens, and hears nothing of %s", r->number,
                   what);
}

/* Its server tells of its resource and of a new tool, and hears when nobody listens any more. */
static void examine_listening(struct sim *sim, struct client *client, struct child *child)
{
    struct instance *instance = child->instance;
    struct request *r = listen_open(sim, client, 1u << instance->seat);
    if (!r || r->state != OPEN || sim->has_failed || !run_to_rest_with_parked(sim))
        return;
    sim->stats->listens[LISTENS_EXAMINED]++;
    const bool has_updates =
        child->runtime && child->runtime->has_subscribe && policy_allows(client, instance, "res:");
    hf_buf_printf(&child->out,
                  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\","
                  "\"params\":{\"uri\":\"res://%d/1\"}}\n",
                  instance->seat);
    if (has_updates)
        expect_news(sim, r, LISTENS_UPDATES, "its resource");
    instance->variant++;
    talk_news(child);
    if (instance->lists_tools && !child->listed_badly && r->listen.wants[HF_PART_TOOLS] &&
        client->had_given[HF_PART_TOOLS])
        expect_news(sim, r, LISTENS_NEWS, "a new tool");
    if (sim->has_failed)
        return;
    client_cancel(sim, client, r);
    if (!sim->has_failed && run_to_rest(sim) && child->subscribed >> instance->seat & 1 &&
        !was_subscribed_otherwise(sim))
        sim_broken(sim, PROMISE_CALM, "nobody listens to child %u any more, and it does not know",
                   child->serial);
}

/* ---- the exam ---- */

static void examine(struct sim *sim, struct client *client, struct instance *target,
                    struct child *child)
{
    const unsigned before = sim->question_count;
    child->is.asks = 100;
    sim->in_exam = true;
    const struct request *root = client_call(sim, client, ASK_PUT, target);
    const bool is_answered = root && run_until_answered(sim);
    child->is.asks = 0;
    if (!is_answered || sim->question_count == before) /* only what nobody needs to be asked */
        return;
    const unsigned question = before % QUESTIONS;
    sim->stats->exams++;
    switch (below(sim, child->is_remote ? 2 : 3)) {
    case 0: stay_away(sim, client, root, question); break;
    case 1: answer(sim, client, root, question); break;
    default: kill_server(sim, client, child, question); break;
    }
}

void exam(struct sim *sim)
{
    for (int c = 0; c < CLIENTS && !sim->has_failed; c++) {
        struct client *client = &sim->clients[c];
        if (!client->session || !client->is_modern || client->is_finished)
            continue;
        struct instance *target = client->only ? client->only : sim->seats[below(sim, SERVERS)];
        struct child *child = target ? examinee(client, target) : NULL;
        if (!child)
            continue;
        if (chance(sim, 70))
            examine(sim, client, target, child);
        else if (!child->is_remote && !target->settings.idle_ms) /* one that rests tells nothing */
            examine_listening(sim, client, child);
        sim->in_exam = false;
        return;
    }
}
