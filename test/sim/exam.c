/* exam.c - in calm, one modern client and one legacy server go through a parked call from end to
 * end. What may happen in madness must happen here, and exactly so. */
#include <signal.h>
#include "sim.h"

/* The one whose server is up, speaks the older era and has no other reason to fail. */
static struct child *examinee(const struct client *client, const struct instance *target)
{
    const struct hf_slot *slot =
        target->server ? hf_slot_for(target->server, client->session, false) : NULL;
    if (!slot || slot->machine.state != HF_SLOT_CONNECTED || slot->current->is_modern ||
        target->settings.stateful || target->removed || !policy_allows(client, target, "put"))
        return NULL;
    struct child *child = slot->current->shell;
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
    if (r->state == OPEN && sim->questions[question].by < 0)
        sim->questions[question].by = r->number;
    return run_until_answered(sim) ? r : NULL;
}

static void expect(struct sim *sim, const struct request *r, int code, const char *when)
{
    if (r && !sim->has_failed && r->code != code)
        sim_broken(sim, PROMISE_CALM, "%s request %d hears %d", when, r->number, r->code);
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
    expect(sim, retry(sim, client, question, RETRY_TAMPERED), -32602, "with a changed state");
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
            expect(sim, retry(sim, other, question, RETRY_FOREIGN), -32602, "at another client");
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
        examine(sim, client, target, child);
        sim->in_exam = false;
        return;
    }
}
