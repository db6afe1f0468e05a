/* test_shell.c - who writes at the end of a turn, and who has to wait for the next. */
#include "io/portion.h"
#include "io/shell.h"
#include "busy.h"
#include "test.h"

enum { CROWD = 20 };

struct writer {
    struct hf_flush flush; /* first member: a pointer to it is a pointer to the writer */
    struct hf_shell *shell;
    int again; /* how often the writer has more to write as soon as it has written */
    int times;
};

static void write_once(struct hf_flush *flush)
{
    struct writer *writer = (struct writer *)(void *)flush;
    writer->times++;
    be_busy(HF_PORTION_WRITES_US); /* so each portion has time for one */
    if (writer->again-- > 0)
        hf_shell_flush_later(writer->shell, flush);
}

static void shell_init(struct hf_shell *shell)
{
    hf_link_init(&shell->dirty);
    hf_link_init(&shell->later);
}

static void join(struct hf_shell *shell, struct writer *writer, int again)
{
    *writer = (struct writer) { .flush.flush = write_once, .shell = shell, .again = again };
    hf_link_init(&writer->flush.link);
    hf_shell_flush_later(shell, &writer->flush);
}

static int written(const struct writer *crowd)
{
    int count = 0;
    for (int i = 0; i < CROWD; i++)
        count += crowd[i].times;
    return count;
}

TEST(a_crowd_is_written_to_in_portions_until_all_of_it_was_served_once)
{
    static struct writer crowd[CROWD];
    struct hf_shell shell = { 0 };
    shell_init(&shell);
    for (int i = 0; i < CROWD; i++)
        join(&shell, &crowd[i], 0);
    int turns = 0, before = 0;
    for (bool is_done = false; !is_done; turns++) {
        is_done = hf_shell_flush(&shell);
        CHECK(written(crowd) > before && written(crowd) - before <= 2);
        before = written(crowd);
    }
    CHECK(turns > 1);
    CHECK(hf_shell_flush(&shell));
    for (int i = 0; i < CROWD; i++)
        CHECK_EQ(crowd[i].times, 1);
}

TEST(whoever_comes_after_a_crowd_is_written_to_before_the_rest_of_it)
{
    static struct writer crowd[CROWD];
    struct writer late;
    struct hf_shell shell = { 0 };
    shell_init(&shell);
    for (int i = 0; i < CROWD; i++)
        join(&shell, &crowd[i], 0);
    CHECK(!hf_shell_flush(&shell));
    join(&shell, &late, 0);
    CHECK_EQ(crowd[CROWD - 1].times, 0);
    (void)hf_shell_flush(&shell);
    CHECK_EQ(late.times, 1);
}

TEST(one_that_always_has_more_to_write_ends_its_turn_all_the_same)
{
    static struct writer crowd[CROWD];
    struct hf_shell shell = { 0 };
    shell_init(&shell);
    join(&shell, &crowd[0], 10 * CROWD);
    CHECK(!hf_shell_flush(&shell));
    CHECK(crowd[0].times <= 3); /* one alone begins its portion after it has written */
}
