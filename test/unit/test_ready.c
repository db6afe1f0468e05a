/* test_ready.c - when requests make sense, of servers that a test made up. */
#include "core/machine/slot.h"
#include "front/ready.h"
#include "test.h"

static bool all(const void *context, const char *server)
{
    (void)context;
    (void)server;
    return true;
}

static bool not_b(const void *context, const char *server)
{
    (void)context;
    return strcmp(server, "b") != 0;
}

struct row {
    enum hf_slot_state a, b;
    bool a_required, a_lazy, b_lazy, a_was, b_was, a_unwanted, is_stopping;
    bool (*shown)(const void *context, const char *server);
    const char *text;
};

static struct hf_server_entry server(const char *name, enum hf_slot_state state, bool was)
{
    return (struct hf_server_entry) {
        .now = { .name = name, .state = state, .wanted = true, .last_connected_ms = was ? 5 : 0 }
    };
}

#define UP     HF_SLOT_CONNECTED
#define BEGINS HF_SLOT_CONNECTING
#define RESTS  HF_SLOT_DISCONNECTED
#define AGAIN  HF_SLOT_RECONNECTING
#define FAILED HF_SLOT_PERMANENTLY_FAILED
#define OFF    HF_SLOT_DISABLED

TEST(it_is_ready_unless_it_stops_or_misses_what_it_needs)
{
    static const char missing[] = "not ready: a required server is not connected\n";
    static const char none_yet[] = "not ready: no server was connected yet\n";
    static const struct row rows[] = {
        { UP, UP, .a_was = true, .b_was = true, .text = "ready\n" },
        { UP, UP, .a_was = true, .b_was = true, .is_stopping = true, .text = "stopping\n" },
        /* what is not required may be down */
        { AGAIN, UP, .a_was = true, .b_was = true, .text = "ready\n" },
        { AGAIN, AGAIN, .a_was = true, .b_was = true, .text = "ready\n" },
        { FAILED, UP, .b_was = true, .text = "ready\n" },
        /* what is required may not, unless it rests */
        { AGAIN, UP, .a_required = true, .a_was = true, .b_was = true, .text = missing },
        { BEGINS, UP, .a_required = true, .b_was = true, .text = missing },
        { FAILED, UP, .a_required = true, .b_was = true, .text = missing },
        { OFF, UP, .a_required = true, .a_unwanted = true, .b_was = true, .text = missing },
        { RESTS, UP, .a_required = true, .a_lazy = true, .b_was = true, .text = "ready\n" },
        { RESTS, UP, .a_required = true, .a_was = true, .b_was = true, .text = "ready\n" },
        { UP, AGAIN, .a_required = true, .a_was = true, .text = "ready\n" },
        /* one that was ever connected is enough */
        { BEGINS, BEGINS, .text = none_yet },
        { FAILED, FAILED, .text = none_yet },
        { BEGINS, AGAIN, .b_was = true, .text = "ready\n" },
        { RESTS, RESTS, .a_lazy = true, .b_lazy = true, .text = "ready\n" },
        { RESTS, BEGINS, .a_lazy = true, .text = none_yet },
        { OFF, RESTS, .a_unwanted = true, .b_lazy = true, .text = "ready\n" },
        /* names are for those who may see them */
        { AGAIN, UP, .a_required = true, .a_was = true, .b_was = true, .shown = all,
          .text = "not ready: a required server is not connected\na: reconnecting\n" },
        { BEGINS, BEGINS, .shown = all,
          .text = "not ready: no server was connected yet\na: connecting\nb: connecting\n" },
        { BEGINS, BEGINS, .shown = not_b,
          .text = "not ready: no server was connected yet\na: connecting\n" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        struct hf_server_entry servers[] = { server("a", row->a, row->a_was),
                                             server("b", row->b, row->b_was) };
        servers[0].now.is_required = row->a_required;
        servers[0].now.is_lazy = row->a_lazy;
        servers[0].now.wanted = !row->a_unwanted;
        servers[1].now.is_lazy = row->b_lazy;
        const struct hf_engine_status engine = { .servers = servers, .server_count = 2 };
        struct hf_buf out;
        hf_buf_init(&out, 4096);
        const bool is_ready = hf_ready_write(&out, &engine, row->is_stopping, row->shown, NULL);
        const bool is_right =
            hf_span_is(hf_buf_span(&out), row->text) && is_ready == !strcmp(row->text, "ready\n");
        if (!is_right)
            printf("# row %zu: %.*s\n", i, HF_FMT(hf_buf_span(&out)));
        CHECK(is_right);
        hf_buf_done(&out);
    }
}

TEST(it_is_ready_without_servers_and_says_why_one_is_down)
{
    struct hf_engine_status engine = { 0 };
    struct hf_buf out;
    hf_buf_init(&out, 4096);
    CHECK(hf_ready_write(&out, &engine, false, all, NULL));
    hf_buf_clear(&out);
    struct hf_server_entry failed = server("a", HF_SLOT_PERMANENTLY_FAILED, false);
    failed.now.last_reason = "spawn_failed: \033[2Jno\nsuch";
    engine = (struct hf_engine_status) { .servers = &failed, .server_count = 1 };
    CHECK(!hf_ready_write(&out, &engine, false, all, NULL));
    CHECK_SPAN(hf_buf_span(&out), "not ready: no server was connected yet\n"
                                  "a: permanently_failed (spawn_failed:  [2Jno such)\n");
    hf_buf_done(&out);
}
