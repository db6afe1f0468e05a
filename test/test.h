/*
 * test.h - TEST and CHECK, and a main() that runs every TEST of its binary.
 *
 * A test's name is a sentence. Each binary prints TAP, so that one runner can count C, Node and
 * shell suites alike. `binary PART` runs only the tests whose names contain PART.
 */
#ifndef HF_TEST_H
#define HF_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct test_case {
    const char *name;
    void (*run)(void);
    struct test_case *next;
};

extern struct test_case *test_first, **test_last;
extern bool test_failed;
void test_fail(const char *file, int line, const char *what);

#define TEST(id)                                                                                   \
    static void id(void);                                                                          \
    static struct test_case case_##id = { #id, id, NULL };                                         \
    __attribute__((constructor)) static void add_##id(void)                                        \
    {                                                                                              \
        *test_last = &case_##id;                                                                   \
        test_last = &case_##id.next;                                                               \
    }                                                                                              \
    static void id(void)

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            test_fail(__FILE__, __LINE__, #condition);                                             \
    } while (0)
/* Ends the test: for a condition without which the rest makes no sense. */
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            test_fail(__FILE__, __LINE__, #condition);                                             \
            return;                                                                                \
        }                                                                                          \
    } while (0)

#endif
