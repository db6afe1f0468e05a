/*
 * test_seal.c - HMAC-SHA256 by its published vectors, and seals that cannot be changed, moved or
 * made by others.
 */
#include "test.h"
#include "base/hex.h"
#include "core/machine/seal.h"

static const uint8_t secret[HF_SECRET_SIZE] = "a secret of thirty-two bytes ...";
static const uint8_t bound[HF_SHA256_SIZE] = "bound to this caller, its tool .";
static const struct hf_seal one = { 11, 3, 77, 2 };

static struct hf_buf sealed(const uint8_t key[HF_SECRET_SIZE])
{
    struct hf_buf text;
    hf_buf_init(&text, 4096);
    hf_seal_write(&text, key, &one, bound);
    return text;
}

/* RFC 4231, cases 1 to 4, 6 and 7. */
TEST(the_published_vectors_of_hmac_sha256_come_out)
{
    static const struct {
        const char *key, *data, *mac; /* in hex */
    } rows[] = {
        { "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "4869205468657265",
          "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7" },
        { "4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
          "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843" },
        { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
          "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"
          "dddddddddddddd",
          "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe" },
        { "0102030405060708090a0b0c0d0e0f10111213141516171819",
          "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"
          "cdcdcdcdcdcdcd",
          "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t key[64], data[64], mac[HF_SHA256_SIZE], expected[HF_SHA256_SIZE];
        const size_t keys = strlen(rows[i].key) / 2, datas = strlen(rows[i].data) / 2;
        REQUIRE(hf_hex_read(hf_span_of(rows[i].key), key, keys));
        REQUIRE(hf_hex_read(hf_span_of(rows[i].data), data, datas));
        REQUIRE(hf_hex_read(hf_span_of(rows[i].mac), expected, sizeof expected));
        hf_hmac_sha256((struct hf_span) { (const char *)key, keys },
                       (struct hf_span) { (const char *)data, datas }, mac);
        CHECK(hf_digest_same(mac, expected));
    }
}

TEST(a_key_longer_than_a_block_is_hashed_first)
{
    char key[131];
    uint8_t mac[HF_SHA256_SIZE], expected[HF_SHA256_SIZE];
    memset(key, 0xaa, sizeof key);
    hf_hmac_sha256((struct hf_span) { key, sizeof key },
                   HF_SPAN("Test Using Larger Than Block-Size Key - Hash Key First"), mac);
    REQUIRE(hf_hex_read(HF_SPAN("60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"),
                        expected, sizeof expected));
    CHECK(hf_digest_same(mac, expected));
}

TEST(a_seal_says_what_it_was_made_of_and_needs_no_escapes)
{
    struct hf_buf text = sealed(secret);
    struct hf_seal read;
    CHECK_EQ(hf_seal_read(hf_buf_span(&text), secret, bound, &read), HF_SEAL_GOOD);
    CHECK(read.server == one.server && read.generation == one.generation);
    CHECK(read.call == one.call && read.round == one.round);
    for (size_t i = 0; i < hf_buf_len(&text); i++)
        CHECK(strchr("hf1.0123456789abcdef", text.p[text.start + i]));
    hf_buf_done(&text);
}

TEST(a_seal_with_any_byte_changed_cut_off_or_added_is_good_for_nothing)
{
    struct hf_buf text = sealed(secret);
    const size_t n = hf_buf_len(&text);
    struct hf_seal read;
    for (size_t i = 0; i < n; i++) {
        char *at = text.p + text.start + i;
        const char was = *at;
        for (int other = 1; other < 256; other++) {
            *at = (char)other;
            const enum hf_seal_verdict found =
                hf_seal_read(hf_buf_span(&text), secret, bound, &read);
            CHECK_EQ(found == HF_SEAL_GOOD, *at == was);
        }
        *at = was;
        CHECK(hf_seal_read((struct hf_span) { text.p, i }, secret, bound, &read) != HF_SEAL_GOOD);
    }
    hf_buf_add_char(&text, '0');
    CHECK_EQ(hf_seal_read(hf_buf_span(&text), secret, bound, &read), HF_SEAL_BROKEN);
    hf_buf_done(&text);
}

TEST(a_seal_is_good_only_for_what_it_is_bound_to)
{
    struct hf_buf text = sealed(secret);
    struct hf_seal read;
    for (size_t i = 0; i < HF_SHA256_SIZE; i++) {
        uint8_t other[HF_SHA256_SIZE];
        memcpy(other, bound, sizeof other);
        other[i] ^= 1;
        CHECK_EQ(hf_seal_read(hf_buf_span(&text), secret, other, &read), HF_SEAL_BROKEN);
    }
    hf_buf_done(&text);
}

TEST(a_seal_of_another_secret_is_known_as_such_and_other_states_are_no_seals)
{
    static const uint8_t other[HF_SECRET_SIZE] = "another secret of so many bytes.";
    struct hf_buf text = sealed(other);
    struct hf_seal read;
    CHECK_EQ(hf_seal_read(hf_buf_span(&text), secret, bound, &read), HF_SEAL_OTHER);
    CHECK_EQ(read.call, one.call);
    CHECK_EQ(hf_seal_read(HF_SPAN("eyJ3YW50IjoxfQ"), secret, bound, &read), HF_SEAL_NONE);
    CHECK_EQ(hf_seal_read(HF_SPAN(""), secret, bound, &read), HF_SEAL_NONE);
    CHECK_EQ(hf_seal_read(HF_SPAN("hf1."), secret, bound, &read), HF_SEAL_BROKEN);
    CHECK(hf_seal_name(HF_SPAN("a")) != hf_seal_name(HF_SPAN("b")));
    hf_buf_done(&text);
}
