/* test_share.c - what one party gets of a bound, beside none, one and many others. */
#include "base/share.h"
#include "test.h"

enum { PARTIES_MAX = 64 };

/* All take one after the other, one at a time, until nobody is given any more. */
static void take_all(struct hf_bound *bound, struct hf_share **parties, unsigned count)
{
    bool is_moving = true;
    while (is_moving) {
        is_moving = false;
        for (unsigned i = 0; i < count; i++) {
            if (hf_share_judge(bound, parties[i], 1) != HF_SHARE_FITS)
                continue;
            hf_share_take(bound, parties[i], 1);
            is_moving = true;
        }
    }
}

TEST(one_alone_gets_three_quarters_and_two_get_43_percent_each)
{
    static const struct {
        uint64_t limit;
        uint32_t shares;
        unsigned parties;
        uint64_t each; /* at least, and at most one more */
    } rows[] = {
        { 1000, 3, 1, 750 }, { 1000, 3, 2, 428 }, { 1000, 3, 3, 300 }, { 1000, 3, 10, 96 },
        { 1000, 1, 1, 500 }, { 1000, 1, 2, 333 }, { 1000, 9, 1, 900 }, { 1000, 0, 1, 1000 },
        { 4, 3, 1, 3 },      { 2, 3, 1, 1 },      { 1, 3, 1, 1 },      { 10000, 3, 50, 198 },
        { 10, 3, 10, 1 },    { 0, 3, 1, 0 },      { 7, 3, 2, 3 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hf_bound bound = { .limit = rows[i].limit, .shares = rows[i].shares };
        struct hf_share shares[PARTIES_MAX] = { 0 }, *parties[PARTIES_MAX];
        for (unsigned p = 0; p < rows[i].parties; p++)
            parties[p] = &shares[p];
        take_all(&bound, parties, rows[i].parties);
        for (unsigned p = 0; p < rows[i].parties; p++) {
            const bool is_right =
                shares[p].used >= rows[i].each && shares[p].used <= rows[i].each + 1;
            if (!is_right)
                printf("# row %zu: party %u has %llu\n", i, p, (unsigned long long)shares[p].used);
            CHECK(is_right);
        }
    }
}

TEST(whoever_comes_when_another_has_taken_all_it_may_finds_something)
{
    struct hf_bound bound = { .limit = 1000, .shares = 3 };
    struct hf_share first = { 0 }, second = { 0 }, third = { 0 };
    take_all(&bound, (struct hf_share *[]) { &first }, 1);
    CHECK_EQ(first.used, 750);
    take_all(&bound, (struct hf_share *[]) { &second }, 1);
    CHECK_EQ(second.used, 187);
    take_all(&bound, (struct hf_share *[]) { &third }, 1);
    CHECK(third.used == 47 && bound.used == 984);
    hf_share_give(&bound, &first, 700); /* what it gives back is there for the others */
    take_all(&bound, (struct hf_share *[]) { &second, &third }, 2);
    CHECK(second.used > 350 && third.used > 350);
}

TEST(the_verdict_says_whose_limit_it_was)
{
    struct hf_bound bound = { .limit = 100, .shares = 3 };
    struct hf_share party = { 0 }, other = { 0 }, bounded = { .max = 5 };
    CHECK(hf_share_judge(&bound, &party, 75) == HF_SHARE_FITS);
    CHECK(hf_share_judge(&bound, &party, 76) == HF_SHARE_OF_PARTY);
    CHECK(hf_share_judge(&bound, &party, 101) == HF_SHARE_OF_ALL);
    CHECK(hf_share_judge(&bound, NULL, 100) == HF_SHARE_FITS);
    CHECK(hf_share_judge(&bound, NULL, 101) == HF_SHARE_OF_ALL);
    CHECK(hf_share_judge(&bound, &bounded, 5) == HF_SHARE_FITS);
    CHECK(hf_share_judge(&bound, &bounded, 6) == HF_SHARE_OF_PARTY);
    hf_share_take(&bound, NULL, 100);
    CHECK(hf_share_judge(&bound, &other, 1) == HF_SHARE_OF_ALL);
    CHECK(hf_share_judge(&bound, &other, 0) == HF_SHARE_FITS);
}

TEST(a_session_leaves_something_to_the_others_of_its_token)
{
    struct hf_bound bound = { .limit = 1000, .shares = 3 };
    struct hf_share token = { 0 }, stranger = { 0 };
    struct hf_share first = { .within = &token }, second = { .within = &token };
    take_all(&bound, (struct hf_share *[]) { &first }, 1);
    CHECK(first.used >= 561 && first.used <= 563 && token.used == first.used);
    take_all(&bound, (struct hf_share *[]) { &second }, 1);
    CHECK(second.used > 100 && token.used == first.used + second.used && token.used <= 750);
    take_all(&bound, (struct hf_share *[]) { &stranger }, 1);
    CHECK(stranger.used > 180 && bound.used == token.used + stranger.used);
    hf_share_give(&bound, &first, first.used);
    hf_share_give(&bound, &second, second.used);
    CHECK(token.used == 0 && bound.used == stranger.used);
}

TEST(many_sessions_of_one_token_have_no_more_than_one_token_may)
{
    struct hf_bound bound = { .limit = 10000, .shares = 3 };
    struct hf_share token = { 0 }, sessions[PARTIES_MAX], *parties[PARTIES_MAX];
    for (unsigned i = 0; i < PARTIES_MAX; i++) {
        sessions[i] = (struct hf_share) { .within = &token };
        parties[i] = &sessions[i];
    }
    take_all(&bound, parties, PARTIES_MAX);
    CHECK(token.used > 7000 && token.used <= 7500);
    CHECK(sessions[0].used <= sessions[PARTIES_MAX - 1].used + 1);
}

TEST(one_is_over_its_share_when_others_came_or_it_took_without_asking)
{
    struct hf_bound bound = { .limit = 100, .shares = 3 };
    struct hf_share token = { 0 }, session = { .within = &token }, other = { 0 };
    hf_share_take(&bound, &session, 50);
    CHECK(!hf_share_is_over(&bound, &session) && !hf_share_is_over(&bound, NULL));
    hf_share_take(&bound, &other, 40);
    CHECK(hf_share_is_over(&bound, &session) && hf_share_is_over(&bound, &token));
    CHECK(hf_share_is_over(&bound, &other));
    hf_share_give(&bound, &session, 50);
    CHECK(!hf_share_is_over(&bound, &other) && !hf_share_is_over(&bound, &session));
    hf_share_take(&bound, NULL, 61);
    CHECK(hf_share_is_over(&bound, NULL));
}

TEST(bounds_of_any_size_do_not_overflow)
{
    struct hf_bound bound = { .limit = UINT64_MAX, .shares = 3 };
    struct hf_share party = { 0 };
    CHECK(hf_share_room(&bound, &party) >= UINT64_MAX / 4);
    hf_share_take(&bound, &party, UINT64_MAX / 2);
    CHECK(!hf_share_is_over(&bound, &party));
    CHECK(hf_share_judge(&bound, NULL, UINT64_MAX) == HF_SHARE_OF_ALL);
}
