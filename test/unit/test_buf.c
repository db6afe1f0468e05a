/* test_buf.c - bytes that grow up to a maximum, and rings of links. */
#include "base/buf.h"
#include "base/list.h"
#include "test.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static struct hf_buf buf_of(size_t max)
{
    struct hf_buf b;
    hf_buf_init(&b, max);
    return b;
}

static bool holds(const struct hf_buf *b, const char *text)
{
    return hf_span_is(hf_buf_span(b), text);
}

TEST(a_new_buffer_holds_nothing_and_owns_nothing)
{
    struct hf_buf b = buf_of(100);
    CHECK(hf_buf_len(&b) == 0 && b.p == NULL && b.cap == 0);
    hf_buf_done(&b);
}

TEST(what_is_added_stands_in_order)
{
    struct hf_buf b = buf_of(1000);
    hf_buf_add(&b, HF_SPAN("ab"));
    hf_buf_add(&b, (struct hf_span) { NULL, 0 });
    hf_buf_add_str(&b, "c");
    hf_buf_add_char(&b, '-');
    hf_buf_add_u64(&b, 0);
    hf_buf_add_char(&b, '-');
    hf_buf_add_u64(&b, UINT64_MAX);
    hf_buf_printf(&b, " %s %d", "x", -7);
    hf_buf_printf(&b, "%s", "");
    CHECK(holds(&b, "abc-0-18446744073709551615 x -7"));
    hf_buf_done(&b);
    CHECK(b.p == NULL && b.cap == 0 && b.max == 1000);
}

TEST(a_nul_is_a_byte_like_any_other)
{
    struct hf_buf b = buf_of(100);
    hf_buf_add(&b, (struct hf_span) { "a\0b", 3 });
    CHECK(hf_buf_len(&b) == 3 && memcmp(b.p, "a\0b", 3) == 0);
    hf_buf_done(&b);
}

TEST(going_over_the_maximum_fails_that_add_and_changes_nothing)
{
    struct hf_buf b = buf_of(1000);
    char many[1001];
    memset(many, 'x', sizeof many);
    CHECK(!hf_buf_try_add(&b, (struct hf_span) { many, 1001 }));
    CHECK_EQ(b.p, NULL);
    CHECK(hf_buf_try_add(&b, (struct hf_span) { many, 300 }));
    const struct hf_buf before = b;
    CHECK(!hf_buf_try_add(&b, (struct hf_span) { many, 701 }));
    CHECK(!hf_buf_reserve(&b, SIZE_MAX));
    CHECK(!hf_buf_reserve(&b, SIZE_MAX - 100));
    CHECK(memcmp(&b, &before, sizeof b) == 0);
    CHECK(hf_buf_try_add(&b, (struct hf_span) { many, 700 }));
    CHECK_EQ(hf_buf_len(&b), 1000);
    hf_buf_done(&b);
}

TEST(consumed_bytes_do_not_count_against_the_maximum)
{
    struct hf_buf b = buf_of(1000);
    char many[600];
    memset(many, 'x', sizeof many);
    for (int i = 0; i < 50; i++) {
        REQUIRE(hf_buf_try_add(&b, (struct hf_span) { many, sizeof many }));
        hf_buf_consume(&b, 599 - (size_t)i % 2);
        REQUIRE(hf_buf_len(&b) <= 100);
    }
    CHECK(b.cap <= 1024);
    hf_buf_done(&b);
}

TEST(growing_and_consuming_keep_the_content_at_every_step)
{
    struct hf_buf b = buf_of(1 << 16);
    unsigned in = 0, out = 0;
    for (unsigned i = 0; i < 5000; i++) {
        for (unsigned n = i * 7 % 61; n > 0; n--)
            hf_buf_add_char(&b, (char)(in++ * 31 % 251));
        for (unsigned n = i * 5 % 59; n > 0 && hf_buf_len(&b) > 0; n--) {
            REQUIRE_EQ(*hf_buf_span(&b).p, (char)(out++ * 31 % 251));
            hf_buf_consume(&b, 1);
        }
        REQUIRE_EQ(hf_buf_len(&b), in - out);
        REQUIRE(b.start <= b.end && b.end <= b.cap);
    }
    hf_buf_done(&b);
}

TEST(reserve_gives_room_that_can_be_written)
{
    struct hf_buf b = buf_of(100000);
    hf_buf_add_str(&b, "head");
    hf_buf_consume(&b, 2);
    REQUIRE(hf_buf_reserve(&b, 5000));
    CHECK(b.cap - b.end >= 5000);
    memset(b.p + b.end, 'y', 5000);
    b.end += 5000;
    CHECK(hf_buf_len(&b) == 5002 && memcmp(hf_buf_span(&b).p, "ady", 3) == 0);
    hf_buf_done(&b);
}

TEST(an_emptied_buffer_begins_anew_and_keeps_its_memory)
{
    struct hf_buf b = buf_of(1000);
    hf_buf_add_str(&b, "abc");
    const size_t cap = b.cap;
    hf_buf_consume(&b, 1);
    CHECK(holds(&b, "bc") && b.start == 1);
    hf_buf_consume(&b, 2);
    CHECK(b.start == 0 && b.end == 0 && b.cap == cap);
    hf_buf_add_str(&b, "xyz");
    hf_buf_clear(&b);
    CHECK(hf_buf_len(&b) == 0 && b.cap == cap);
    hf_buf_done(&b);
}

TEST(only_an_empty_buffer_over_the_mark_shrinks)
{
    struct hf_buf b = buf_of(10000);
    hf_buf_add_str(&b, "abc");
    hf_buf_shrink(&b, 0);
    CHECK(holds(&b, "abc"));
    hf_buf_clear(&b);
    hf_buf_shrink(&b, b.cap);
    CHECK(b.p != NULL);
    hf_buf_shrink(&b, b.cap - 1);
    CHECK(b.p == NULL && b.cap == 0 && b.max == 10000);
    hf_buf_add_str(&b, "again");
    CHECK(holds(&b, "again"));
    hf_buf_done(&b);
}

static void add_too_much(void)
{
    struct hf_buf b = buf_of(4);
    hf_buf_add_str(&b, "hello");
}

/* So many that their bytes, counted in a size_t, would be few. */
static void ask_for_too_many(void)
{
    uint64_t *numbers = hf_new_array(uint64_t, SIZE_MAX / sizeof(uint64_t) + 2);
    hf_free(numbers);
}

static bool ends_the_process(void (*run)(void))
{
    int status = 0;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        (void)!freopen("/dev/null", "w", stderr);
        run();
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
           WTERMSIG(status) == SIGABRT;
}

TEST(content_of_our_own_over_the_maximum_ends_the_process)
{
    CHECK(ends_the_process(add_too_much));
}

TEST(an_array_of_more_bytes_than_can_be_counted_ends_the_process_instead_of_being_small)
{
    CHECK(ends_the_process(ask_for_too_many));
    uint64_t *numbers = hf_new_array(uint64_t, 3);
    CHECK(numbers[0] == 0 && numbers[2] == 0);
    hf_free(numbers);
}

/* ---- list.h ---- */

struct item {
    int number;
    struct hf_link link;
};

static bool order_is(struct hf_link *list, const char *digits)
{
    struct item *item;
    HF_LIST_EACH (item, list, struct item, link) {
        if (*digits != '0' + item->number)
            return false;
        digits++;
    }
    return *digits == '\0';
}

TEST(a_list_keeps_the_order_of_both_ends)
{
    struct hf_link list;
    struct item items[4] = { { .number = 0 }, { .number = 1 }, { .number = 2 }, { .number = 3 } };
    hf_link_init(&list);
    CHECK(hf_list_empty(&list) && order_is(&list, ""));
    CHECK_EQ(HF_LIST_FIRST(&list, struct item, link), NULL);
    hf_list_push(&list, &items[1].link);
    hf_list_push(&list, &items[3].link);
    hf_list_push_front(&list, &items[0].link);
    hf_list_add_before(&items[3].link, &items[2].link);
    CHECK(order_is(&list, "0123") && !hf_list_empty(&list));
    CHECK(HF_LIST_FIRST(&list, struct item, link) == &items[0]);
    hf_unlink(&items[2].link);
    hf_unlink(&items[0].link);
    CHECK(order_is(&list, "13"));
}

TEST(unlinking_twice_is_harmless_and_membership_can_be_asked)
{
    struct hf_link list;
    struct item items[2] = { { .number = 0 }, { .number = 1 } };
    hf_link_init(&list);
    hf_link_init(&items[0].link);
    CHECK(!hf_linked(&items[0].link));
    hf_list_push(&list, &items[0].link);
    hf_list_push(&list, &items[1].link);
    CHECK(hf_linked(&items[0].link));
    hf_unlink(&items[0].link);
    hf_unlink(&items[0].link);
    CHECK(!hf_linked(&items[0].link) && order_is(&list, "1"));
    hf_unlink(&items[1].link);
    CHECK(hf_list_empty(&list));
}

TEST(an_item_may_leave_the_list_while_the_safe_loop_stands_on_it)
{
    struct hf_link list;
    hf_link_init(&list);
    for (int i = 0; i < 5; i++) {
        struct item *item = hf_new(struct item);
        item->number = i;
        hf_list_push(&list, &item->link);
    }
    struct item *item;
    HF_LIST_EACH_SAFE (item, &list, struct item, link) {
        if (item->number % 2)
            continue;
        hf_unlink(&item->link);
        hf_free(item);
    }
    CHECK(order_is(&list, "13"));
    HF_LIST_EACH_SAFE (item, &list, struct item, link) {
        hf_unlink(&item->link);
        hf_free(item);
    }
    CHECK(hf_list_empty(&list));
}
