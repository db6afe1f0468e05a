/*
 * test.h - TEST and CHECK, and a main() that runs every TEST of its binary.
 *
 * A test's name is a sentence. Each binary prints TAP, so that one runner can count C, Node and
 * shell suites alike. `binary PART` runs only the tests whose names contain PART.
 *
 * The CHECKs go on after a failure, the REQUIREs end the test: they are for conditions without
 * which the rest makes no sense. Those that compare print both values. Each argument is evaluated
 * once.
 */
#ifndef HF_TEST_H
#define HF_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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

/* Runs `end(it)` when the test is over, however it ended; what came last is ended first. */
void test_at_end(void (*end)(void *it), void *it);
void test_has_ended(void *it); /* it need not be ended again */

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
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            test_fail(__FILE__, __LINE__, #condition);                                             \
            return;                                                                                \
        }                                                                                          \
    } while (0)

/* ---- numbers, enums and pointers ---- */

struct test_value {
    enum { TEST_SIGNED, TEST_UNSIGNED, TEST_POINTER } kind;
    uint64_t bits;
};

static inline struct test_value test_signed(int64_t value)
{
    return (struct test_value) { TEST_SIGNED, (uint64_t)value };
}

static inline struct test_value test_unsigned(uint64_t value)
{
    return (struct test_value) { TEST_UNSIGNED, value };
}

static inline struct test_value test_pointer(const void *value)
{
    return (struct test_value) { TEST_POINTER, (uintptr_t)value };
}

/* A char pointer is compared as a pointer: CHECK_STR reads what it points to. */
#define TEST_VALUE(x)                                                                              \
    _Generic((x), char                                                                             \
             : test_signed, signed char                                                            \
             : test_signed, short                                                                  \
             : test_signed, int                                                                    \
             : test_signed, long                                                                   \
             : test_signed, long long                                                              \
             : test_signed, bool                                                                   \
             : test_unsigned, unsigned char                                                        \
             : test_unsigned, unsigned short                                                       \
             : test_unsigned, unsigned                                                             \
             : test_unsigned, unsigned long                                                        \
             : test_unsigned, unsigned long long                                                   \
             : test_unsigned, default                                                              \
             : test_pointer)(x)

bool test_equal(const char *file, int line, const char *what, struct test_value got,
                struct test_value wanted);
#define TEST_EQUAL(what, got, wanted)                                                              \
    test_equal(__FILE__, __LINE__, what, TEST_VALUE(got), TEST_VALUE(wanted))
#define CHECK_EQ(got, wanted) ((void)TEST_EQUAL(#got " == " #wanted, got, wanted))
#define REQUIRE_EQ(got, wanted)                                                                    \
    do {                                                                                           \
        if (!TEST_EQUAL(#got " == " #wanted, got, wanted))                                         \
            return;                                                                                \
    } while (0)

/* ---- texts ---- */

/* NULL equals only NULL. */
bool test_same_text(const char *file, int line, const char *what, const char *got,
                    const char *wanted);
#define CHECK_STR(got, wanted)                                                                     \
    ((void)test_same_text(__FILE__, __LINE__, #got " is " #wanted, got, wanted))

/* A struct hf_span and the text that it holds. */
bool test_same_bytes(const char *file, int line, const char *what, const char *got, size_t length,
                     const char *wanted);
#define CHECK_SPAN(got, wanted)                                                                    \
    do {                                                                                           \
        const struct hf_span test_got = (got);                                                     \
        (void)test_same_bytes(__FILE__, __LINE__, #got " is " #wanted, test_got.p, test_got.n,     \
                              wanted);                                                             \
    } while (0)

#endif
