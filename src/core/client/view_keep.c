/* view_keep.c - views that are not the newest any more, and how much all of them hold.
 *
 * All views together hold at most half of maxBufferedBytes. Of the audience whose views are largest
 * the oldest names that clients were given go first, then lists for cursors, then lists that are
 * built again when somebody asks. A client whose names are gone is like one that has not listed
 * yet: its names resolve by the newest list. */
#include <string.h>
#include "base/mem.h"
#include "core/catalog/part.h"
#include "core/client/audience.h"
#include "core/client/view.h"
#include "core/client/view_parts.h"
#include "core/outbox.h"
#include "core/server/server.h"
#include "core/state/engine_state.h"

/* ---- how much views hold ---- */

static void count(struct hf_view *view, uint64_t weight)
{
    view->audience->view_bytes += weight - view->weight;
    view->audience->engine->view_bytes += weight - view->weight;
    view->weight = weight;
}

/* A list keeps its servers' parts alive, which are about as large as the list itself. */
void hf_view_count(struct hf_view *view)
{
    size_t own = 0;
    for (size_t i = 0; view->own_names && i < view->count; i++)
        own += view->entries[i].own_name.n;
    count(view, sizeof *view + hf_buf_len(&view->names) + 2 * hf_buf_len(&view->bytes) + own +
                    view->count * (sizeof *view->entries + sizeof(void *)));
}

static void drop_list(struct hf_view *view)
{
    for (size_t i = 0; i < view->source_count; i++) {
        hf_part_unref(view->sources[i].part);
        view->sources[i].part = NULL;
    }
    hf_buf_done(&view->bytes);
    view->bytes = hf_draft();
    hf_free(view->page_ends);
    view->page_ends = NULL;
    view->page_count = 0;
}

/* Names of the view do not resolve any more, but by newer lists. */
static void forget_names(struct hf_view *view)
{
    if (!view->audience)
        return;
    count(view, 0);
    drop_list(view);
    for (size_t i = 0; i < view->source_count; i++)
        hf_server_unref(view->sources[i].server);
    hf_free(view->sources);
    hf_buf_done(&view->names);
    hf_free(view->entries);
    hf_free(view->own_names);
    hf_map_done(&view->by_name);
    hf_unlink(&view->in_old);
    view->source_count = view->count = 0;
    view->audience = NULL;
}

void hf_view_unref(struct hf_view *view)
{
    if (!view || --view->refs > 0)
        return;
    forget_names(view);
    hf_free(view);
}

/* Clients that were given the view still use its names. */
static void keep_names(struct hf_view *view)
{
    size_t bytes = 0;
    for (size_t i = 0; i < view->count; i++)
        bytes += view->entries[i].own_name.n;
    char *at = view->own_names = hf_alloc(bytes + 1);
    for (size_t i = 0; i < view->count; i++) {
        struct hf_span *own = &view->entries[i].own_name;
        memcpy(at, own->p, own->n);
        own->p = at;
        at += own->n;
    }
    drop_list(view);
    hf_list_push(&view->audience->old_views, &view->in_old);
    hf_view_count(view);
}

void hf_view_let_go(struct hf_view **slot)
{
    struct hf_view *view = *slot;
    *slot = NULL;
    if (view && view->refs > 1)
        keep_names(view);
    hf_view_unref(view);
}

/* ---- giving way ---- */

void hf_audience_drop_views(struct hf_audience *audience)
{
    for (enum hf_part_id part = 0; part < HF_PART_COUNT; part++)
        for (size_t i = 0; i < HF_VIEWS_KEPT; i++)
            hf_view_let_go(&audience->views[part][i]);
}

void hf_audience_forget_names(struct hf_audience *audience)
{
    while (!hf_list_empty(&audience->old_views))
        forget_names(HF_LIST_FIRST(&audience->old_views, struct hf_view, in_old));
}

/* Something that the audience can do without; `also_newest`: its lists are built again when
 * somebody asks. NULL: there is nothing. */
static struct hf_view **spare(struct hf_audience *audience, bool also_newest)
{
    for (size_t i = HF_VIEWS_KEPT; i-- > (also_newest ? 0 : 1);)
        for (enum hf_part_id part = 0; part < HF_PART_COUNT; part++)
            if (audience->views[part][i])
                return &audience->views[part][i];
    return NULL;
}

static struct hf_view **spare_of(struct hf_audience *audience, const struct hf_audience *except)
{
    return spare(audience, audience != except);
}

/* The audience with the largest views of those that have a list to spare, or old names. */
static struct hf_audience *largest(const struct hf_audience *except, bool of_names)
{
    struct hf_audience *audience, *most = NULL;
    HF_LIST_EACH (audience, &except->engine->audiences, struct hf_audience, link) {
        const bool has_some =
            of_names ? !hf_list_empty(&audience->old_views) : spare_of(audience, except) != NULL;
        if (has_some && (!most || audience->view_bytes > most->view_bytes))
            most = audience;
    }
    return most;
}

void hf_views_make_room(struct hf_audience *except)
{
    const struct hf_engine *engine = except->engine;
    while (engine->view_bytes > engine->limits.max_buffered_bytes / 2) {
        struct hf_audience *with_list = largest(except, false);
        struct hf_audience *with_names = with_list ? NULL : largest(except, true);
        if (with_list)
            hf_view_let_go(spare_of(with_list, except));
        else if (with_names)
            forget_names(HF_LIST_FIRST(&with_names->old_views, struct hf_view, in_old));
        else
            return;
    }
}
