/* takeover.c - see takeover.h. */
#include "store/takeover.h"
#include "base/strings.h"
#include "store/ring.h"
#include "store/sqlite_query.h"

static const struct hf_span died = { "holdfast ended while the call was running",
                                     sizeof "holdfast ended while the call was running" - 1 };

enum { INSTANCES_MAX = 1000 }; /* of one look; the rest is for the next */

struct look {
    struct hf_db *db;
    const char *own;
    char **names;
    size_t count;
    struct hf_takeover *found;
    struct hf_span instance; /* whose marks are being read */
    int code;
};

/* ---- one dead process ---- */

static void on_mark(void *context, const struct hf_mark_read *read)
{
    struct look *look = context;
    const struct hf_mark *mark = &read->mark;
    struct hf_call_row row = {
        .instance = look->instance,
        .number = mark->number,
        .caller = mark->caller,
        .server = mark->server,
        .tool = mark->tool,
        .generation = mark->generation,
        .attempts = 1,
        .evidence = read->has_end ? read->end.evidence : HF_SPAN("dispatched"),
        .end = read->has_end ? read->end.end : HF_CALL_END_UNKNOWN,
        .code = read->has_end ? read->end.code : 0,
        .reason = read->has_end ? HF_SPAN("") : died,
        .came_ms = mark->at_ms,
        .dispatched_ms = mark->at_ms,
        .ended_ms = read->has_end ? read->end.at_ms : 0,
    };
    memcpy(row.arguments_hash, mark->arguments_hash, sizeof row.arguments_hash);
    if (look->code != SQLITE_OK)
        return;
    struct hf_query query = hf_query(look->db, HF_SQL_INHERIT_CALL);
    hf_query_call(&query, &row);
    look->code = hf_query_run(&query);
    look->found->marks++;
}

static int give_up_calls(struct hf_db *db, struct hf_span instance)
{
    struct hf_query query = hf_query(db, HF_SQL_GIVE_UP_CALLS);
    hf_query_text(&query, instance);
    hf_query_text(&query, died);
    return hf_query_run(&query);
}

static void write_rows(struct look *look, const char *directory, const char *name)
{
    char path[HF_INSTANCE_PATH_SIZE];
    struct hf_buf bytes;
    look->instance = hf_span_of(name);
    /* Marks first: they know how a call ended whose row is still open. */
    if (hf_instance_path(directory, name, "ring", path) && hf_ring_read(path, &bytes)) {
        look->found->torn += hf_ring_marks(hf_buf_span(&bytes), on_mark, look);
        hf_buf_done(&bytes);
    }
    if (look->code == SQLITE_OK)
        look->code = give_up_calls(look->db, look->instance);
}

/* In a transaction of its own, so that one that cannot be written holds no other up. */
static void settle(struct look *look, const char *directory, const char *name)
{
    look->code = hf_db_exec(look->db, "BEGIN IMMEDIATE");
    if (look->code == SQLITE_OK)
        write_rows(look, directory, name);
    if (look->code == SQLITE_OK)
        look->code = hf_db_exec(look->db, "COMMIT");
    if (look->code != SQLITE_OK && !look->db->api->get_autocommit(look->db->handle))
        (void)hf_db_exec(look->db, "ROLLBACK");
}

/* ---- all of them ---- */

static void on_name(void *context, const char *name)
{
    struct look *look = context;
    if (look->count < INSTANCES_MAX && strcmp(name, look->own) != 0) {
        hf_strings_add(&look->names, hf_strdup(name));
        look->count++;
    }
}

/* Rows of a process whose lock file somebody removed: it is gone too, and left no ring. */
static void settle_nameless(struct look *look, const char *directory)
{
    char **names = hf_strings_new();
    struct hf_query query = hf_query(look->db, HF_SQL_OPEN_INSTANCES);
    while (hf_query_next(&query))
        hf_strings_add(&names, hf_span_dup(hf_query_bytes(&query, 0)));
    look->code = hf_query_end(&query);
    for (size_t i = 0; names[i] && look->code == SQLITE_OK; i++)
        if (strlen(names[i]) == HF_INSTANCE_NAME_SIZE - 1 && strcmp(names[i], look->own) != 0 &&
            !hf_instance_exists(directory, names[i]))
            settle(look, directory, names[i]);
    hf_strings_free(names);
}

int hf_takeover_look(struct hf_db *db, const char *directory, const char *own,
                     struct hf_takeover *ret_found)
{
    struct look look = { .db = db, .own = own, .names = hf_strings_new(), .found = ret_found };
    *ret_found = (struct hf_takeover) { 0 };
    hf_instances_each(directory, on_name, &look);
    look.code = hf_db_sync(db, true);
    for (size_t i = 0; i < look.count && look.code == SQLITE_OK; i++) {
        struct hf_estate estate;
        if (!hf_estate_take(directory, look.names[i], &estate))
            continue;
        settle(&look, directory, look.names[i]);
        if (look.code != SQLITE_OK) {
            hf_estate_leave(&estate);
            break;
        }
        hf_estate_remove(&estate);
        ret_found->instances++;
    }
    if (look.code == SQLITE_OK)
        settle_nameless(&look, directory);
    hf_strings_free(look.names);
    return look.code;
}
