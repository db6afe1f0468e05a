/* outbox.h - what an event leaves behind. */
#ifndef HF_CORE_OUTBOX_H
#define HF_CORE_OUTBOX_H

#include <stdint.h>
#include "base/buf.h"
#include "base/err.h"
#include "base/now.h"
#include "base/span.h"
#include "core/engine.h"
#include "core/state/engine_state.h"
#include "core/state/server.h"

struct hf_effect;
struct hf_link;

static inline void hf_set_now(struct hf_engine *engine, struct hf_now now)
{
    engine->now_ms = now.mono_ms;
    engine->wall_ms = now.wall_ms;
}

struct hf_effect *hf_emit(struct hf_engine *engine, enum hf_effect_kind kind);
/* What the note's spans point to is copied, and cut where it is long. `server` NULL: the note says
 * itself whom it is about. */
void hf_note(struct hf_engine *engine, const struct hf_server *server, const struct hf_note *note);
void hf_bury(struct hf_engine *engine, void (*bury)(void *), void *p);
double hf_random_share(struct hf_engine *engine); /* [0, 1) */
void hf_mark(struct hf_engine *engine, enum hf_mark_kind kind, struct hf_link *mark);
struct hf_buf hf_draft(void); /* a buffer for one message */
/* The draft's bytes, valid until hf_engine_collect; the draft is empty afterwards. */
struct hf_span hf_draft_end(struct hf_engine *engine, struct hf_buf *draft);
static inline void hf_server_mark(struct hf_server *server)
{
    hf_mark(server->engine, HF_MARK_SERVER, &server->mark);
}
static inline void hf_slot_mark(struct hf_slot *slot)
{
    hf_mark(slot->server->engine, HF_MARK_SLOT, &slot->mark);
}

#endif
