/* outbox.c - what an event leaves behind: effects for the shell, notes for people, marks on what is
 * to be reviewed, and what is to be freed after the event. Every other file of the core may call
 * this one; this one calls none of them. */
#include "core/outbox.h"

enum { NOTE_WORDS_MAX = 600 };

/* Above the largest message that the options allow (1 GiB), with whatever we put around it. */
static const size_t draft_max = (size_t)2 << 30;

struct hf_effect *hf_emit(struct hf_engine *engine, enum hf_effect_kind kind)
{
    if (engine->effect_count == engine->effect_cap) {
        engine->effect_cap = engine->effect_cap ? 2 * engine->effect_cap : 16;
        engine->effects = hf_realloc(engine->effects, engine->effect_cap * sizeof *engine->effects);
    }
    struct hf_effect *effect = &engine->effects[engine->effect_count++];
    effect->kind = kind;
    effect->runtime = NULL;
    effect->session = NULL;
    effect->server = NULL;
    effect->exchange = NULL;
    effect->piece_count = 0;
    effect->note = NULL;
    return effect;
}

/* Nobody reads more of one word than this; what peers say may be long. */
static struct hf_span kept(struct hf_engine *engine, struct hf_span words)
{
    words.n = words.n < NOTE_WORDS_MAX ? words.n : NOTE_WORDS_MAX;
    return words.n ? hf_arena_dup(&engine->arena, words) : (struct hf_span) { NULL, 0 };
}

void hf_note(struct hf_engine *engine, const struct hf_server *server, const struct hf_note *note)
{
    struct hf_note *own = hf_arena_alloc(&engine->arena, sizeof *own);
    *own = *note;
    own->server = kept(engine, server ? hf_span_of(server->name) : note->server);
    struct hf_span *const words[] = { &own->from,     &own->to,          &own->reason,
                                      &own->problem,  &own->stderr_line, &own->method,
                                      &own->evidence, &own->outcome,     &own->what };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        *words[i] = kept(engine, *words[i]);
    hf_emit(engine, HF_DO_NOTE)->note = own;
}

void hf_mark(struct hf_engine *engine, enum hf_mark_kind kind, struct hf_link *mark)
{
    if (!hf_linked(mark))
        hf_list_push(&engine->marks[kind], mark);
    engine->is_marked = true;
}

void hf_bury(struct hf_engine *engine, void (*bury)(void *), void *p)
{
    if (engine->grave_count == engine->grave_cap) {
        engine->grave_cap = engine->grave_cap ? 2 * engine->grave_cap : 16;
        engine->graves = hf_realloc(engine->graves, engine->grave_cap * sizeof *engine->graves);
    }
    engine->graves[engine->grave_count++] = (struct hf_grave) { bury, p };
}

struct hf_buf hf_draft(void)
{
    struct hf_buf draft;
    hf_buf_init(&draft, draft_max);
    return draft;
}

static void free_bytes(void *p)
{
    hf_free(p);
}

struct hf_span hf_draft_end(struct hf_engine *engine, struct hf_buf *draft)
{
    const struct hf_span kept = hf_buf_span(draft);
    hf_bury(engine, free_bytes, draft->p);
    *draft = (struct hf_buf) { .max = draft->max };
    return kept;
}

/* xorshift64*: enough for spreading retries, and the same seed gives the same run. */
double hf_random_share(struct hf_engine *engine)
{
    uint64_t x = engine->random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    engine->random = x;
    return (double)((x * UINT64_C(2685821657736338717)) >> 11) / 9007199254740992.0;
}
