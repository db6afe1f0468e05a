/* test.c - see test.h. */
#include "test.h"
#include <inttypes.h>

enum { ENDS_MAX = 64, SHOWN_MAX = 2000 };

struct test_case *test_first, **test_last = &test_first;
bool test_failed;

static struct {
    void (*end)(void *it);
    void *it; /* NULL: it has ended */
} ends[ENDS_MAX];
static size_t end_count;

void test_fail(const char *file, int line, const char *what)
{
    test_failed = true;
    printf("# %s:%d: not true: %s\n", file, line, what);
}

void test_at_end(void (*end)(void *it), void *it)
{
    if (end_count == ENDS_MAX) {
        printf("# more than %d things wait for the end of the test\n", ENDS_MAX);
        abort();
    }
    ends[end_count].end = end;
    ends[end_count++].it = it;
}

void test_has_ended(void *it)
{
    for (size_t i = 0; i < end_count; i++)
        if (ends[i].it == it)
            ends[i].it = NULL;
    while (end_count > 0 && !ends[end_count - 1].it)
        end_count--;
}

static void end_all(void)
{
    while (end_count > 0) {
        end_count--;
        if (ends[end_count].it)
            ends[end_count].end(ends[end_count].it);
    }
}

static bool are_equal(struct test_value a, struct test_value b)
{
    const bool is_a_negative = a.kind == TEST_SIGNED && (int64_t)a.bits < 0;
    const bool is_b_negative = b.kind == TEST_SIGNED && (int64_t)b.bits < 0;
    return a.bits == b.bits && is_a_negative == is_b_negative;
}

static void show(const char *word, struct test_value value)
{
    if (value.kind == TEST_SIGNED)
        printf("%s %" PRId64, word, (int64_t)value.bits);
    else if (value.kind == TEST_UNSIGNED)
        printf("%s %" PRIu64, word, value.bits);
    else
        printf("%s 0x%" PRIx64, word, value.bits);
}

bool test_equal(const char *file, int line, const char *what, struct test_value got,
                struct test_value wanted)
{
    if (are_equal(got, wanted))
        return true;
    test_fail(file, line, what);
    show("#   got", got);
    show(", wanted", wanted);
    putchar('\n');
    return false;
}

/* On one line, whatever stands in it: a line of TAP begins with "#" or says something. */
static void show_text(const char *word, const char *text, size_t length)
{
    printf("#   %s ", word);
    if (!text)
        printf("NULL");
    for (size_t i = 0; text && i < length && i < SHOWN_MAX; i++)
        if (text[i] == '\n')
            printf("\\n");
        else if (text[i] == '\r')
            printf("\\r");
        else
            putchar(text[i]);
    if (length > SHOWN_MAX)
        printf("… (%zu bytes)", length);
    putchar('\n');
}

static bool same(const char *file, int line, const char *what, const char *got, size_t got_length,
                 const char *wanted, size_t wanted_length)
{
    if (!got == !wanted && got_length == wanted_length &&
        (!got || memcmp(got, wanted, got_length) == 0))
        return true;
    test_fail(file, line, what);
    show_text("got   ", got, got_length);
    show_text("wanted", wanted, wanted_length);
    return false;
}

bool test_same_text(const char *file, int line, const char *what, const char *got,
                    const char *wanted)
{
    return same(file, line, what, got, got ? strlen(got) : 0, wanted, wanted ? strlen(wanted) : 0);
}

bool test_same_bytes(const char *file, int line, const char *what, const char *got, size_t length,
                     const char *wanted)
{
    return same(file, line, what, length ? got : "", length, wanted, strlen(wanted));
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";
    int count = 0, bad = 0;
    for (struct test_case *t = test_first; t; t = t->next) {
        if (!strstr(t->name, part))
            continue;
        test_failed = false;
        t->run();
        end_all();
        printf("%sok %d - %s\n", test_failed ? "not " : "", ++count, t->name);
        fflush(stdout);
        bad += test_failed;
    }
    printf("1..%d\n", count);
    return bad ? 1 : 0;
}
