/* test_fold.c - text in any case, against the plainest way to compare it. */
#include "base/fold.h"
#include "test.h"

enum { LENGTH_MAX = 20 };

static bool plainly_same(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const int x = (unsigned char)a[i], y = (unsigned char)b[i];
        if ((x >= 'A' && x <= 'Z' ? x + 32 : x) != (y >= 'A' && y <= 'Z' ? y + 32 : y))
            return false;
    }
    return true;
}

/* Eight bytes at a time, and what is left: so every length, every place and every byte. */
TEST(every_byte_in_every_place_is_the_same_as_its_other_case_and_as_nothing_else)
{
    static const char name[] = "mcp-param-~_`{[@z9\xe4!!";
    char text[LENGTH_MAX];
    for (size_t n = 1; n <= LENGTH_MAX; n++)
        for (size_t at = 0; at < n; at++)
            for (int c = 0; c < 256; c++) {
                const struct hf_span a = { text, n }, b = { name, n };
                memcpy(text, name, n);
                text[at] = (char)c;
                const bool is_same = plainly_same(text, name, n);
                if (hf_fold_is(a, b) != is_same || hf_fold_same(b, a) != is_same ||
                    hf_fold_starts(a, b) != is_same) {
                    printf("# length %zu, byte %d at %zu\n", n, c, at);
                    CHECK(!"the same as the plain way");
                }
            }
}

TEST(what_is_shorter_or_longer_is_not_the_same_and_may_be_a_beginning)
{
    CHECK(hf_fold_is(HF_SPAN("HoSt"), HF_SPAN("host")) &&
          !hf_fold_is(HF_SPAN("HOSTS"), HF_SPAN("host")));
    CHECK(!hf_fold_same(HF_SPAN("Host"), HF_SPAN("hosts")) &&
          hf_fold_same(HF_SPAN(""), HF_SPAN("")));
    CHECK(!hf_fold_same(HF_SPAN("Hosts"), HF_SPAN("host")) &&
          hf_fold_same(HF_SPAN("hOST"), HF_SPAN("Host")));
    CHECK(hf_fold_starts(HF_SPAN("Bearer x"), HF_SPAN("bearer ")));
    CHECK(!hf_fold_starts(HF_SPAN("Beare"), HF_SPAN("bearer ")));
    CHECK(hf_fold_starts(HF_SPAN("x"), HF_SPAN("")));
}
