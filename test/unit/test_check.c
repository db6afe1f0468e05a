/* test_check.c - the engine's invariants, broken by hand: each is noticed. */
#include "core/check.h"
#include "core/state/party.h"
#include "core/state/call.h"
#include "core/state/engine_state.h"
#include "core/state/runtime.h"
#include "core/state/server.h"
#include "core/state/session.h"
#include "engine_fixture.h"

struct found {
    unsigned count, promise;
    char sentence[200];
};

static void on_broken(void *context, unsigned promise, const char *sentence)
{
    struct found *found = context;
    found->count++;
    found->promise = promise;
    (void)snprintf(found->sentence, sizeof found->sentence, "%s", sentence);
}

static struct found look(const struct scene *s)
{
    struct found found = { 0 };
    hf_engine_check(s->w->engine, on_broken, &found);
    return found;
}

TEST(an_engine_at_work_breaks_no_invariant)
{
    struct scene s = called_scene();
    CHECK_EQ(look(&s).count, 0);
}

TEST(a_count_that_is_not_the_length_of_its_list_is_noticed)
{
    struct scene s = called_scene();
    struct hf_slot *slot = hf_server_slot(s.server);
    slot->current->in_flight++;
    CHECK(look(&s).count == 1 && strstr(look(&s).sentence, "in_flight"));
    slot->current->in_flight--;
    slot->waiting++;
    CHECK(look(&s).count > 0);
    slot->waiting--;
    s.w->engine->bounds[HF_SHARED_HELD].used++;
    CHECK(look(&s).count == 1 && look(&s).promise == 12);
    s.w->engine->bounds[HF_SHARED_HELD].used--;
    CHECK_EQ(look(&s).count, 0);
}

TEST(a_party_that_is_counted_for_what_another_holds_is_noticed)
{
    struct scene s = called_scene();
    s.client->session->party->shares[HF_SHARED_CALLS].used++;
    CHECK(look(&s).count == 1 && look(&s).promise == 8 && strstr(look(&s).sentence, "calls"));
    s.client->session->party->shares[HF_SHARED_CALLS].used--;
    CHECK_EQ(look(&s).count, 0);
}

TEST(a_timer_without_an_owner_and_a_published_server_that_is_off_are_noticed)
{
    struct scene s = scene();
    struct hf_timer lost;
    hf_timer_init(&lost, HF_TIMER_CALL, NULL);
    hf_timer_set(&s.w->engine->timers, &lost, 1u << 30);
    CHECK(look(&s).count == 1 && strstr(look(&s).sentence, "timers"));
    hf_timer_clear(&s.w->engine->timers, &lost);
    s.server->is_published = false;
    CHECK(look(&s).count == 1 && look(&s).promise == 7);
    s.server->is_published = true;
}
