/* test_random.c - random bytes, and how those that must not be guessed are compared. */
#include "base/secret.h"
#include "io/random.h"
#include "test.h"

/* More than the system gives in one call that a signal may cut. */
enum { MANY = 100000 };

TEST(all_bytes_that_were_asked_for_are_random_and_none_behind_them)
{
    static unsigned char bytes[MANY + 1];
    unsigned counts[256] = { 0 };
    bytes[MANY] = 7;
    hf_random(bytes, MANY);
    for (size_t i = MANY / 2; i < MANY; i++)
        counts[bytes[i]]++;
    for (unsigned c = 0; c < 256; c++)
        CHECK(counts[c] > 0 && counts[c] < 1000); /* 195 on average; far beyond any chance */
    CHECK_EQ(bytes[MANY], 7);
    hf_random(bytes, 0);
}

TEST(no_two_draws_are_the_same)
{
    uint8_t a[16], b[16];
    hf_random(a, sizeof a);
    hf_random(b, sizeof b);
    CHECK(!hf_secret_same(a, b, sizeof a) && hf_secret_same(a, a, sizeof a));
}

TEST(secrets_that_differ_in_any_one_bit_are_not_the_same_whatever_their_length)
{
    uint8_t a[40], b[40];
    hf_random(a, sizeof a);
    memcpy(b, a, sizeof b);
    for (size_t n = 0; n <= sizeof a; n++)
        for (size_t bit = 0; bit < 8 * sizeof a; bit++) {
            b[bit / 8] ^= (uint8_t)(1U << (bit % 8));
            CHECK_EQ(hf_secret_same(a, b, n), bit / 8 >= n);
            b[bit / 8] ^= (uint8_t)(1U << (bit % 8));
        }
}
