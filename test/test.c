/* test.c - see test.h. */
#include "test.h"

struct test_case *test_first, **test_last = &test_first;
bool test_failed;

void test_fail(const char *file, int line, const char *what)
{
    test_failed = true;
    printf("# %s:%d: not true: %s\n", file, line, what);
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
        printf("%sok %d - %s\n", test_failed ? "not " : "", ++count, t->name);
        fflush(stdout);
        bad += test_failed;
    }
    printf("1..%d\n", count);
    return bad ? 1 : 0;
}
