/* test_store.c - what is asked of a store is there for the next process that opens it. */
#include "store/store.h"
#include <poll.h>
#include "store_fixture.h"
#include "test.h"

static struct hf_server_key key_of(const char *command)
{
    return hf_server_key_of(&(struct hf_server_identity) { .command = hf_span_of(command) });
}

/* ---- keys ---- */

TEST(a_server_is_known_by_what_it_is_started_with_and_not_by_values_of_its_environment)
{
    char *args[] = { "a", "b", NULL }, *joined[] = { "ab", NULL };
    char *names[] = { "TOKEN", "HOME", NULL }, *turned[] = { "HOME", "TOKEN", NULL };
    const struct hf_server_identity plain = { .command = HF_SPAN("x"),
                                              .args = args,
                                              .env_names = names };
    struct hf_server_identity other = plain;
    const struct hf_server_key key = hf_server_key_of(&plain);
#define IS_SAME                                                                                    \
    (memcmp(&key, &(struct hf_server_key[1]) { hf_server_key_of(&other) }, sizeof key) == 0)
    other.env_names = turned;
    CHECK(IS_SAME);
    other.env_names = NULL;
    CHECK(!IS_SAME);
    other = plain;
    other.args = joined;
    CHECK(!IS_SAME);
    other = plain;
    other.command = HF_SPAN("");
    other.url = HF_SPAN("x");
    CHECK(!IS_SAME);
    other = plain;
    other.cwd = HF_SPAN("/");
    CHECK(!IS_SAME);
}

/* ---- kept ---- */

static void put_things(struct hf_store *store)
{
    const struct hf_server_key key = key_of("bank");
    const struct hf_store_request requests[] = {
        { .kind = HF_STORE_PUT_CATALOG, .catalog = { key, 2, HF_SPAN("{\"tools\":[]}"), 1000 } },
        { .kind = HF_STORE_PUT_CATALOG, .catalog = { key_of("gone"), 1, HF_SPAN("{}"), 1000 } },
        { .kind = HF_STORE_PUT_SWITCH,
          .is_durable = true,
          .change = { HF_SPAN("/c.json bank"), true, true, HF_SPAN("carol"), 2000 } },
        { .kind = HF_STORE_PUT_SWITCH,
          .change = { HF_SPAN("/c.json gone"), true, false, HF_SPAN("carol"), 2000 } },
        { .kind = HF_STORE_PUT_SESSION,
          .session = { { 1 },
                       HF_SPAN("127.0.0.1:1"),
                       HF_SPAN("/mcp"),
                       HF_SPAN("t"),
                       HF_SPAN("{\"v\":1}"),
                       3000,
                       3001 } },
        { .kind = HF_STORE_PUT_SESSION,
          .session = { { 2 },
                       HF_SPAN("127.0.0.1:2"),
                       HF_SPAN(""),
                       HF_SPAN(""),
                       HF_SPAN("{}"),
                       1,
                       1 } },
        { .kind = HF_STORE_PUT_SESSION,
          .session = { { 3 },
                       HF_SPAN("127.0.0.1:1"),
                       HF_SPAN(""),
                       HF_SPAN(""),
                       HF_SPAN("{}"),
                       1,
                       1 } },
        { .kind = HF_STORE_TOUCH_SESSION, .session = { .id_hash = { 1 }, .seen_ms = 4000 } },
        { .kind = HF_STORE_TOUCH_SESSION, .session = { .id_hash = { 9 }, .seen_ms = 4000 } },
        { .kind = HF_STORE_FORGET_SESSION, .session = { .id_hash = { 3 } } },
        { .kind = HF_STORE_FORGET_CATALOG, .catalog = { .key = key_of("gone") } },
        { .kind = HF_STORE_FORGET_SWITCH, .change = { .server = HF_SPAN("/c.json gone") } },
        { .kind = HF_STORE_PUT_CATALOG, .catalog = { .key = key, .era = 3, .at_ms = 1001 } },
    };
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++)
        CHECK_EQ(fixture_do(store, &requests[i]), HF_STORE_DONE);
}

TEST(catalogs_switches_sessions_and_the_secret_outlive_the_process)
{
    const struct hf_server_key key = key_of("bank");
    struct hf_store *store = fixture_store("aaaaaaaa");
    struct hf_loaded *first = fixture_load(store, "", NULL);
    REQUIRE(first);
    CHECK_EQ(first->catalog_count + first->switch_count + first->session_count, 0);
    put_things(store);
    fixture_store_end(store);

    struct hf_loaded *second = fixture_load(fixture_store("bbbbbbbb"), "127.0.0.1:1", &key);
    REQUIRE(second);
    CHECK(memcmp(first->sealing_secret, second->sealing_secret, HF_SEALING_SECRET_SIZE) == 0);
    REQUIRE_EQ(second->catalog_count, 1);
    CHECK(memcmp(&second->catalogs[0].key, &key, sizeof key) == 0);
    CHECK_SPAN(second->catalogs[0].catalog, "{\"tools\":[]}"); /* an era alone leaves it */
    CHECK_EQ(second->catalogs[0].era, 3);
    CHECK_EQ(second->catalogs[0].at_ms, 1001);
    REQUIRE_EQ(second->switch_count, 1);
    CHECK_SPAN(second->switches[0].server, "/c.json bank");
    CHECK_SPAN(second->switches[0].who, "carol");
    CHECK(second->switches[0].is_wanted && second->switches[0].was_disabled);
    CHECK_EQ(second->switches[0].at_ms, 2000);
    REQUIRE_EQ(second->session_count, 1);
    CHECK_EQ(second->sessions[0].id_hash[0], 1);
    CHECK_SPAN(second->sessions[0].listen, "127.0.0.1:1");
    CHECK_SPAN(second->sessions[0].endpoint, "/mcp");
    CHECK_SPAN(second->sessions[0].token, "t");
    CHECK_SPAN(second->sessions[0].payload, "{\"v\":1}");
    CHECK(second->sessions[0].made_ms == 3000 && second->sessions[0].seen_ms == 4000);
    hf_loaded_free(first);
    hf_loaded_free(second);
}

static void check_generations(struct hf_store *store, uint64_t first)
{
    const struct hf_server_key key = key_of("bank");
    const struct hf_store_request take = { .kind = HF_STORE_TAKE_GENERATIONS,
                                           .generations = { key, 100 } };
    struct hf_loaded *loaded = fixture_load(store, "", &key);
    REQUIRE(loaded && loaded->generation_count == 1);
    CHECK_EQ(loaded->generations[0].first, first);
    CHECK_EQ(loaded->generations[0].count, 10);
    hf_loaded_free(loaded);
    CHECK_EQ(fixture_ask(store, &take)->value, first + 10);
    CHECK_EQ(fixture_ask(store, &take)->value, first + 110);
}

TEST(generations_go_on_counting_and_no_block_is_given_twice)
{
    struct hf_store *store = fixture_store("aaaaaaaa");
    check_generations(store, 1);
    check_generations(fixture_store("bbbbbbbb"), 211); /* while the first one is still there */
    check_generations(store, 421);
}

TEST(without_a_file_generations_count_and_the_secret_stays_for_the_life_of_the_process)
{
    struct hf_err err;
    struct hf_store *store = hf_store_memory_new(&err);
    REQUIRE(store);
    struct hf_loaded *first = fixture_load(store, "", NULL), *second;
    check_generations(store, 1);
    check_generations(store, 211);
    put_things(store);
    second = fixture_load(store, "127.0.0.1:1", NULL);
    CHECK(memcmp(first->sealing_secret, second->sealing_secret, HF_SEALING_SECRET_SIZE) == 0);
    const struct hf_store_request resolve = { .kind = HF_STORE_RESOLVE_CALL };
    CHECK_EQ(fixture_ask(store, &resolve)->reason, HF_STORE_BECAUSE_NOT_FOUND);
    CHECK_EQ(hf_store_health(store).state, HF_STORE_IN_MEMORY);
    hf_loaded_free(first);
    hf_loaded_free(second);
    hf_store_free(store, 0);
}

/* ---- how it is asked ---- */

TEST(requests_of_one_turn_are_one_transaction_and_are_answered_in_their_order)
{
    struct hf_store *store = fixture_store("aaaaaaaa");
    hf_loaded_free(fixture_load(store, "", NULL));
    const uint64_t before = hf_store_health(store).transactions;
    for (uint64_t i = 1; i <= 100; i++) {
        const struct hf_store_request request =
            fixture_call(HF_STORE_APPEND_CALL, i, "pay", HF_CALL_END_RESULT);
        REQUIRE(hf_store_ask(store, &request));
    }
    CHECK(!hf_store_next(store)); /* nothing is handed over yet */
    CHECK(!hf_store_is_urgent(store));
    const struct hf_store_request touch = { .kind = HF_STORE_TOUCH_SESSION, .tag = 101 };
    CHECK(hf_store_ask(store, &touch) && hf_store_is_urgent(store));
    hf_store_flush(store);
    for (uint64_t i = 1; i <= 100; i++) {
        struct hf_store_answer *answer;
        while (!(answer = hf_store_next(store)))
            REQUIRE(hf_store_wait(store, 60000));
        CHECK(answer->outcome == HF_STORE_DONE && answer->request.tag == i);
        CHECK_SPAN(answer->request.call.tool, "pay");
    }
    const struct hf_store_answer *last = hf_store_next(store);
    CHECK(last && last->request.tag == 101 && !hf_store_is_urgent(store));
    CHECK(!hf_store_next(store));
    CHECK_EQ(hf_store_health(store).transactions, before + 1);
}

TEST(what_is_on_its_way_is_bounded_and_what_is_over_the_bound_is_refused)
{
    struct hf_store *store = fixture_store("aaaaaaaa");
    char *text = hf_alloc(8 << 20);
    struct hf_store_request request = { .kind = HF_STORE_PUT_CATALOG,
                                        .catalog = { .catalog = { text, 8 << 20 } } };
    unsigned taken = 0;
    memset(text, 'x', 8 << 20);
    while (taken < 100 && hf_store_ask(store, &request)) {
        request.catalog.key.bytes[0]++;
        taken++;
    }
    CHECK_EQ(taken, 7);
    CHECK_EQ(hf_store_health(store).refused, 1);
    hf_store_flush(store);
    for (unsigned i = 0; i < taken;) {
        i += hf_store_next(store) != NULL;
        REQUIRE(i == taken || hf_store_wait(store, 60000));
    }
    CHECK(!hf_store_next(store) && hf_store_ask(store, &request)); /* there is room again */
    hf_free(text);
}

TEST(a_store_that_is_freed_writes_what_it_was_asked_for)
{
    struct hf_store *store = fixture_store("aaaaaaaa");
    for (uint64_t i = 1; i <= 3; i++) {
        const struct hf_store_request request =
            fixture_call(HF_STORE_APPEND_CALL, i, "pay", HF_CALL_END_RESULT);
        REQUIRE(hf_store_ask(store, &request));
    }
    fixture_store_end(store);
    CHECK_STR(fixture_all_rows(), "aaaaaaaa-1 pay result\naaaaaaaa-2 pay result\n"
                                  "aaaaaaaa-3 pay result");
    CHECK(!fixture_has("holdfast.db-wal"));
}
