/* test_calls_read.c - rows of calls: written once, found by every filter, resolved, retired. */
#include "store/calls_read.h"
#include "store_fixture.h"
#include "test.h"

static void put(struct hf_store *store, const struct hf_store_request *request)
{
    CHECK_EQ(fixture_do(store, request), HF_STORE_DONE);
}

static void put_call(struct hf_store *store, enum hf_store_kind kind, uint64_t number,
                     const char *tool, enum hf_call_end end)
{
    const struct hf_store_request request = fixture_call(kind, number, tool, end);
    put(store, &request);
}

static struct hf_store *store_with_rows(void)
{
    struct hf_store *store = fixture_store("aaaaaaaa");
    put_call(store, HF_STORE_APPEND_CALL, 1, "pay", HF_CALL_END_RESULT);
    put_call(store, HF_STORE_OPEN_CALL, 2, "pay", HF_CALL_END_OPEN);
    put_call(store, HF_STORE_APPEND_CALL, 3, "look", HF_CALL_END_UNKNOWN);
    put_call(store, HF_STORE_APPEND_CALL, 4, "look", HF_CALL_END_FAILED);
    struct hf_store_request other =
        fixture_call(HF_STORE_APPEND_CALL, 5, "pay", HF_CALL_END_RESULT);
    other.call.server = HF_SPAN("shop");
    other.call.caller = HF_SPAN("bob");
    put(store, &other);
    return store;
}

TEST(rows_are_found_by_server_tool_caller_end_and_time_and_only_the_newest_if_so_wished)
{
    static const struct {
        struct hf_calls_filter filter;
        const char *rows;
    } cases[] = {
        { { .server = { "shop", 4 } }, "aaaaaaaa-5 pay result" },
        { { .server = { "bank", 4 }, .tool = { "look", 4 } },
          "aaaaaaaa-3 look unknown\naaaaaaaa-4 look failed" },
        { { .caller = { "bob", 3 } }, "aaaaaaaa-5 pay result" },
        { { .has_end = true, .end = HF_CALL_END_FAILED }, "aaaaaaaa-4 look failed" },
        { { .has_end = true, .end = HF_CALL_END_OPEN }, "aaaaaaaa-2 pay running" },
        { { .is_unknown = true }, "aaaaaaaa-3 look unknown" },
        { { .from_ms = 1700000000002, .to_ms = 1700000000004 },
          "aaaaaaaa-2 pay running\naaaaaaaa-3 look unknown" },
        { { .limit = 2 }, "aaaaaaaa-4 look failed\naaaaaaaa-5 pay result" },
        { { .after_seq = 4 }, "aaaaaaaa-5 pay result" },
        { { .server = { "bank' OR 1--", 12 } }, "" },
    };
    (void)store_with_rows();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK_STR(fixture_rows(&cases[i].filter), cases[i].rows);
}

TEST(a_call_that_was_open_moves_to_the_end_when_it_is_closed_and_has_one_row)
{
    struct hf_store *store = store_with_rows();
    put_call(store, HF_STORE_CLOSE_CALL, 2, "pay", HF_CALL_END_RESULT);
    CHECK_STR(fixture_rows(&(struct hf_calls_filter) { .after_seq = 5 }), "aaaaaaaa-2 pay result");
    CHECK_STR(fixture_rows(&(struct hf_calls_filter) { .tool = HF_SPAN("pay") }),
              "aaaaaaaa-1 pay result\naaaaaaaa-5 pay result\naaaaaaaa-2 pay result");
}

TEST(a_late_answer_ends_a_call_that_was_unknown_but_no_other)
{
    struct hf_store *store = store_with_rows();
    put_call(store, HF_STORE_APPEND_CALL, 3, "look", HF_CALL_END_RESULT);
    put_call(store, HF_STORE_APPEND_CALL, 4, "look", HF_CALL_END_UNKNOWN);
    CHECK_STR(fixture_rows(&(struct hf_calls_filter) { .tool = HF_SPAN("look") }),
              "aaaaaaaa-3 look result\naaaaaaaa-4 look failed");
}

/* ---- one ---- */

static bool copy_row(void *context, const struct hf_call_row *row)
{
    struct hf_call_row *copy = context;
    *copy = *row;
    copy->note = (struct hf_span) { hf_span_dup(row->note), row->note.n };
    copy->arguments = (struct hf_span) { hf_span_dup(row->arguments), row->arguments.n };
    CHECK_SPAN(row->caller, "alice");
    CHECK_SPAN(row->evidence, "dispatched");
    return true;
}

static void drop_row(struct hf_call_row *row)
{
    hf_free((void *)(uintptr_t)row->note.p);
    hf_free((void *)(uintptr_t)row->arguments.p);
}

TEST(one_call_is_found_by_its_name_with_all_that_was_kept)
{
    struct hf_store *store = fixture_store("aaaaaaaa");
    struct hf_store_request request =
        fixture_call(HF_STORE_APPEND_CALL, 77, "pay", HF_CALL_END_UNKNOWN);
    struct hf_call_row row;
    struct hf_err err = { "" };
    memset(request.call.arguments_hash, 9, sizeof request.call.arguments_hash);
    request.call.arguments = HF_SPAN("{\"sum\":1e3}");
    request.call.code = -31002;
    request.call.waited_ms = 1200;
    put(store, &request);
    struct hf_calls *calls = hf_calls_open(fixture_directory(), &err);
    REQUIRE(calls && hf_calls_one(calls, HF_SPAN("aaaaaaaa-77"), copy_row, &row, &err));
    CHECK(row.generation == 7 && row.attempts == 1 && row.code == -31002 && row.waited_ms == 1200);
    CHECK(row.came_ms == 1700000000077 && row.dispatched_ms == 1700000000078 &&
          row.ended_ms == 1700000000079);
    CHECK(memcmp(row.arguments_hash, request.call.arguments_hash, HF_SHA256_SIZE) == 0);
    CHECK_SPAN(row.arguments, "{\"sum\":1e3}");
    CHECK_EQ(row.resolution, HF_RESOLVED_NOT);
    drop_row(&row);
    CHECK(!hf_calls_one(calls, HF_SPAN("aaaaaaaa-78"), copy_row, &row, &err));
    CHECK(strstr(err.text, "no such call"));
    static const char *const wrong[] = {
        "", "77", "aaaaaaaa-", "aaaaaaaa-x", "aaaaaaaaa-77", "aaaaaaaa-99999999999999999999"
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK(!hf_calls_one(calls, hf_span_of(wrong[i]), copy_row, &row, &err) &&
              strstr(err.text, "not the name of a call"));
    hf_calls_close(calls);
}

TEST(an_operator_resolves_a_call_whose_end_is_unknown_and_no_other)
{
    struct hf_store *store = store_with_rows();
    struct hf_store_request request = {
        .kind = HF_STORE_RESOLVE_CALL,
        .is_durable = true,
        .call = { .instance = HF_SPAN("aaaaaaaa"),
                  .number = 3,
                  .resolution = HF_RESOLVED_NOT_RUN,
                  .resolved_by = HF_SPAN("carol"),
                  .resolved_ms = 42,
                  .note = HF_SPAN("asked the bank") },
    };
    struct hf_call_row row;
    struct hf_err err = { "" };
    put(store, &request);
    CHECK_STR(fixture_rows(&(struct hf_calls_filter) { .is_unknown = true }), "");
    struct hf_calls *calls = hf_calls_open(fixture_directory(), &err);
    REQUIRE(calls && hf_calls_one(calls, HF_SPAN("aaaaaaaa-3"), copy_row, &row, &err));
    CHECK(row.resolution == HF_RESOLVED_NOT_RUN && row.resolved_ms == 42);
    CHECK_SPAN(row.note, "asked the bank");
    drop_row(&row);
    hf_calls_close(calls);
    put_call(store, HF_STORE_APPEND_CALL, 3, "look", HF_CALL_END_UNKNOWN); /* keeps it resolved */
    CHECK_STR(fixture_rows(&(struct hf_calls_filter) { .is_unknown = true }), "");
    request.call.number = 1; /* its end is known */
    CHECK_EQ(fixture_ask(store, &request)->reason, HF_STORE_BECAUSE_NOT_FOUND);
    request.call.number = 99;
    CHECK_EQ(fixture_do(store, &request), HF_STORE_FAILED);
}

TEST(a_directory_without_a_store_cannot_be_read_and_stays_empty)
{
    struct hf_err err = { "" };
    CHECK(!hf_calls_open(fixture_directory(), &err));
    CHECK(strstr(err.text, "cannot be opened") && !fixture_has("holdfast.db"));
}

/* ---- too old, or too many ---- */

enum { MANY = 2500 };

static void put_many(struct hf_store *store)
{
    for (uint64_t i = 1; i <= MANY; i++) {
        const struct hf_store_request request = fixture_call(
            HF_STORE_APPEND_CALL, i, "pay", i == 5 ? HF_CALL_END_OPEN : HF_CALL_END_RESULT);
        REQUIRE(hf_store_ask(store, &request));
    }
    hf_store_flush(store);
    for (unsigned i = 0; i < MANY;) {
        i += hf_store_next(store) != NULL;
        REQUIRE(i == MANY || hf_store_wait(store, 60000));
    }
}

static unsigned portions(struct hf_store *store, const struct hf_retention *bounds)
{
    const struct hf_store_request request = { .kind = HF_STORE_RETAIN, .retention = *bounds };
    unsigned count = 1;
    while (fixture_ask(store, &request)->value)
        count++;
    return count;
}

TEST(rows_that_are_too_old_are_removed_in_portions_but_for_open_ones)
{
    struct hf_store *store = fixture_store("aaaaaaaa");
    put_many(store);
    const struct hf_retention bounds = { .calls_before_ms = 1700000000000 + MANY - 1 };
    CHECK(portions(store, &bounds) > 3);
    CHECK_STR(fixture_all_rows(),
              "aaaaaaaa-5 pay running\naaaaaaaa-2499 pay result\naaaaaaaa-2500 pay result");
}

TEST(the_oldest_rows_go_when_the_file_is_too_large)
{
    struct hf_store *store = fixture_store("aaaaaaaa");
    put_many(store);
    CHECK_EQ(portions(store, &(struct hf_retention) { .bytes_max = 64 << 20 }), 1);
    (void)portions(store, &(struct hf_retention) { .bytes_max = 300 << 10 });
    const char *rows = fixture_all_rows();
    CHECK(strstr(rows, "-2500 ") && !strstr(rows, "-6 ") && strstr(rows, "-5 pay running"));
}

TEST(sessions_that_nobody_used_for_long_are_forgotten)
{
    struct hf_store *store = fixture_store("aaaaaaaa");
    for (uint64_t i = 1; i <= 3; i++)
        put(store,
            &(struct hf_store_request) {
                .kind = HF_STORE_PUT_SESSION,
                .session = {
                    { (uint8_t)i }, HF_SPAN("l"), HF_SPAN(""), HF_SPAN(""), HF_SPAN(""), i, i } });
    (void)portions(store, &(struct hf_retention) { .sessions_before_ms = 3 });
    struct hf_loaded *loaded = fixture_load(store, "l", NULL);
    REQUIRE(loaded && loaded->session_count == 1);
    CHECK_EQ(loaded->sessions[0].id_hash[0], 3);
    hf_loaded_free(loaded);
}
