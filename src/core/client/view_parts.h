/* view_parts.h - what a view is made of, for view.c, which builds and reads views, and view_keep.c,
 * which bounds them. */
#ifndef HF_CORE_CLIENT_VIEW_PARTS_H
#define HF_CORE_CLIENT_VIEW_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"
#include "base/span.h"

struct hf_audience;
struct hf_part;
struct hf_server;

struct hf_view_entry {
    struct hf_map_node in_map;
    struct hf_span name;      /* as published, plain text, in view->names */
    struct hf_server *server; /* kept alive by view->sources, even if it was removed */
    struct hf_span own_name;  /* the server's own name, raw; in its part, or in view->own_names */
    bool is_idempotent;
};

struct hf_view {
    unsigned refs;
    uint64_t version, born_ms;
    struct hf_audience *audience; /* that the view is counted for; NULL: its names are forgotten */
    struct hf_link in_old;        /* in audience->old_views, once only its names are kept */
    uint64_t weight;              /* bytes, as counted for the audience */
    uint64_t digest;              /* of what clients see, and of the servers behind it */
    char *own_names;              /* of a view of which only the names are kept */
    struct hf_buf names, bytes;   /* bytes: the items as JSON, comma-separated within a page */
    struct hf_view_entry *entries;
    size_t count, cap;
    size_t *page_ends; /* offsets in `bytes` */
    size_t page_count;
    struct hf_map by_name;
    struct hf_view_source { /* keeps the items and the server alive */
        struct hf_part *part;
        struct hf_server *server;
    } * sources;
    size_t source_count;
};

/* Counts what the view holds for its audience. */
void hf_view_count(struct hf_view *view);
/* The audience is not shown the view any more. Clients that were given it keep its names. */
void hf_view_let_go(struct hf_view **slot);
/* Brings all views together below their bound; the newest of `except`, which is being shown one,
 * stay. */
void hf_views_make_room(struct hf_audience *except);

#endif
