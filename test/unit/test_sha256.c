/*
 * test_sha256.c - the vectors of the standard (FIPS 180-4 and its examples), and every cut.
 */
#include "test.h"
#include "base/sha256.h"

static bool is_hex(const uint8_t digest[HF_SHA256_SIZE], const char *hex)
{
    char found[2 * HF_SHA256_SIZE + 1];
    for (unsigned i = 0; i < HF_SHA256_SIZE; i++)
        (void)snprintf(found + 2 * i, 3, "%02x", digest[i]);
    if (strcmp(found, hex) != 0)
        printf("# got %s\n", found);
    return strcmp(found, hex) == 0;
}

TEST(the_vectors_of_the_standard_come_out)
{
    static const char *const rows[][2] = {
        { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
        { "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnop"
          "qrlmnopqrsmnopqrstnopqrstu",
          "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint8_t digest[HF_SHA256_SIZE];
        hf_sha256(hf_span_of(rows[i][0]), digest);
        CHECK(is_hex(digest, rows[i][1]));
    }
}

TEST(a_million_times_a_comes_out)
{
    char some[1000];
    struct hf_sha256 hash;
    uint8_t digest[HF_SHA256_SIZE];
    memset(some, 'a', sizeof some);
    hf_sha256_init(&hash);
    for (unsigned i = 0; i < 1000; i++)
        hf_sha256_feed(&hash, (struct hf_span) { some, sizeof some });
    hf_sha256_end(&hash, digest);
    CHECK(is_hex(digest, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"));
}

TEST(lengths_around_the_block_and_its_padding_come_out)
{
    /* SHA-256 of the digests of "a", "aa", … up to 200 letters, each made by another program */
    static const char *const of_all =
        "6c89623113d154786ae9d3f365ab70ebe6c55353f5f3ec4260415a9b04d6d1e9";
    struct hf_sha256 all;
    char text[200];
    uint8_t digest[HF_SHA256_SIZE];
    memset(text, 'a', sizeof text);
    hf_sha256_init(&all);
    for (size_t n = 1; n <= sizeof text; n++) {
        hf_sha256((struct hf_span) { text, n }, digest);
        hf_sha256_feed(&all, (struct hf_span) { (const char *)digest, sizeof digest });
    }
    hf_sha256_end(&all, digest);
    CHECK(is_hex(digest, of_all));
}

TEST(it_does_not_matter_where_the_bytes_are_cut)
{
    char text[150];
    uint8_t whole[HF_SHA256_SIZE], parts[HF_SHA256_SIZE];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i * 7);
    hf_sha256((struct hf_span) { text, sizeof text }, whole);
    for (size_t cut = 0; cut <= sizeof text; cut++) {
        struct hf_sha256 hash;
        hf_sha256_init(&hash);
        hf_sha256_feed(&hash, (struct hf_span) { text, cut });
        hf_sha256_feed(&hash, (struct hf_span) { text + cut, sizeof text - cut });
        hf_sha256_end(&hash, parts);
        CHECK(hf_digest_same(whole, parts));
    }
}

TEST(digests_that_differ_in_any_one_bit_are_not_the_same)
{
    uint8_t a[HF_SHA256_SIZE], b[HF_SHA256_SIZE];
    hf_sha256(HF_SPAN("x"), a);
    memcpy(b, a, sizeof b);
    CHECK(hf_digest_same(a, b));
    for (unsigned bit = 0; bit < 8 * HF_SHA256_SIZE; bit++) {
        b[bit / 8] ^= (uint8_t)(1U << (bit % 8));
        CHECK(!hf_digest_same(a, b));
        b[bit / 8] ^= (uint8_t)(1U << (bit % 8));
    }
}
