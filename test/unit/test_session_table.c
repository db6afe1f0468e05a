/* test_session_table.c - sessions are found by their whole id and ordered by their last use. */
#include "front/session_table.h"
#include "test.h"

static const struct hf_map_key key = { { 1, 2 } };

static void make_id(uint8_t id[HF_SESSION_ID_BYTES], unsigned number)
{
    for (unsigned i = 0; i < HF_SESSION_ID_BYTES; i++)
        id[i] = (uint8_t)(number >> (8 * (i % 4)) ^ 37 * i);
}

static struct hf_session_entry *find(const struct hf_session_table *table,
                                     const struct hf_session_entry *like)
{
    char text[HF_SESSION_ID_TEXT + 1];
    hf_session_id_text(like, text);
    return hf_session_table_find(table, hf_span_of(text));
}

TEST(every_session_is_found_however_many_there_are_and_none_that_left)
{
    enum { COUNT = 1000 };
    static struct hf_session_entry entry[COUNT];
    struct hf_session_table table;
    uint8_t id[HF_SESSION_ID_BYTES];
    hf_session_table_init(&table, &key);
    for (unsigned i = 0; i < COUNT; i++) {
        make_id(id, i);
        hf_session_table_add(&table, &entry[i], id, i);
    }
    CHECK_EQ(hf_session_table_count(&table), COUNT);
    for (unsigned i = 0; i < COUNT; i++)
        CHECK(find(&table, &entry[i]) == &entry[i]);
    for (unsigned i = 0; i < COUNT; i += 2)
        hf_session_table_remove(&table, &entry[i]);
    for (unsigned i = 0; i < COUNT; i++)
        CHECK_EQ(find(&table, &entry[i]), i % 2 ? &entry[i] : NULL);
    for (unsigned i = 1; i < COUNT; i += 2)
        hf_session_table_remove(&table, &entry[i]);
    CHECK(hf_session_table_count(&table) == 0 && hf_list_empty(&table.by_use));
    hf_session_table_done(&table);
}

TEST(an_id_that_differs_in_one_digit_or_in_length_is_another)
{
    struct hf_session_entry entry;
    struct hf_session_table table;
    uint8_t id[HF_SESSION_ID_BYTES];
    char text[HF_SESSION_ID_TEXT + 1];
    hf_session_table_init(&table, &key);
    make_id(id, 0xabcdef);
    hf_session_table_add(&table, &entry, id, 0);
    hf_session_id_text(&entry, text);
    CHECK(hf_session_table_find(&table, hf_span_of(text)) == &entry);
    for (unsigned i = 0; i < HF_SESSION_ID_TEXT; i++) {
        const char was = text[i];
        text[i] = was == '0' ? '1' : '0';
        CHECK(!hf_session_table_find(&table, hf_span_of(text)));
        text[i] = 'x';
        CHECK(!hf_session_table_find(&table, hf_span_of(text)));
        text[i] = was;
        CHECK(!hf_session_table_find(&table, (struct hf_span) { text, i }));
    }
    CHECK(!hf_session_table_find(&table, (struct hf_span) { text, sizeof text }));
    hf_session_table_remove(&table, &entry);
    hf_session_table_done(&table);
}

TEST(the_longest_unused_session_is_first)
{
    struct hf_session_entry entry[3];
    struct hf_session_table table;
    uint8_t id[HF_SESSION_ID_BYTES];
    hf_session_table_init(&table, &key);
    for (unsigned i = 0; i < 3; i++) {
        make_id(id, i);
        hf_session_table_add(&table, &entry[i], id, 10 + i);
    }
    hf_session_table_touch(&table, &entry[0], 20);
    CHECK(table.by_use.next == &entry[1].link && table.by_use.prev == &entry[0].link);
    CHECK(entry[0].used_ms == 20 && entry[1].used_ms == 11);
    hf_session_table_remove(&table, &entry[1]);
    CHECK(table.by_use.next == &entry[2].link);
    hf_session_table_remove(&table, &entry[0]);
    hf_session_table_remove(&table, &entry[2]);
    hf_session_table_done(&table);
}
