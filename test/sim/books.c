/* books.c - the engine's own invariants (core/check.h), and whether its posts are the exchanges of
 * the world. */
#include "sim.h"
#include "core/check.h"

static void on_broken(void *context, unsigned promise, const char *sentence)
{
    static const enum promise promises[] = {
        PROMISE_INNER, PROMISE_P1, PROMISE_P2, PROMISE_P3,  PROMISE_P4,    PROMISE_P5,  PROMISE_P6,
        PROMISE_P7,    PROMISE_P8, PROMISE_P9, PROMISE_P10, PROMISE_INNER, PROMISE_P12,
    };
    sim_broken(context, promises[promise], "%s", sentence);
}

/* Every post that was begun is an exchange of the world, and every exchange a post. */
static size_t check_posts(struct sim *sim, const struct hf_runtime *runtime)
{
    size_t begun = 0;
    const struct hf_remote_exchange *post;
    HF_LIST_EACH (post, &runtime->remote->exchanges, struct hf_remote_exchange, link) {
        const struct exchange *x = exchange_behind(post->backend);
        begun += post->is_begun;
        if (post->is_begun && (!x || x->post != post || !x->in_use))
            sim_broken(sim, PROMISE_INNER, "a post is under way and no exchange is");
    }
    return begun;
}

static void check_exchanges(struct sim *sim)
{
    size_t exchanges = 0, posts = 0;
    const struct hf_server *server;
    HF_LIST_EACH (server, &sim->engine->servers, struct hf_server, link) {
        const struct hf_slot *slot;
        HF_LIST_EACH (slot, &server->slots, struct hf_slot, link) {
            const struct hf_runtime *runtime;
            HF_LIST_EACH (runtime, &slot->runtimes, struct hf_runtime, link) {
                posts += runtime->remote ? check_posts(sim, runtime) : 0;
            }
        }
    }
    for (unsigned i = 0; i < sim->exchange_top; i++)
        exchanges += sim->exchanges[i].in_use && sim->exchanges[i].post;
    if (exchanges != posts)
        sim_broken(sim, PROMISE_INNER, "%zu exchanges are under way for %zu posts", exchanges,
                   posts);
}

void check_books(struct sim *sim)
{
    hf_engine_check(sim->engine, on_broken, sim);
    check_exchanges(sim);
}
