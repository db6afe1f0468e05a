/* test_hex.c - bytes as pairs of digits. */
#include "base/hex.h"
#include "test.h"

TEST(exactly_the_digits_of_both_cases_have_a_value)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    for (int c = 0; c < 256; c++) {
        const char *at = c ? strchr(digits, c) : NULL;
        CHECK_EQ(hf_hex_digit((char)c), at ? (int)((at - digits) % 16) : -1);
    }
}

TEST(what_is_written_is_read_back_and_one_wrong_digit_anywhere_is_refused)
{
    uint8_t bytes[256], again[256];
    char text[513];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)i;
    hf_hex_write(bytes, sizeof bytes, text);
    REQUIRE_EQ(strlen(text), 512);
    CHECK(hf_hex_read(hf_span_of(text), again, 256) && memcmp(bytes, again, 256) == 0);
    CHECK(!hf_hex_read((struct hf_span) { text, 511 }, again, 256));
    CHECK(!hf_hex_read((struct hf_span) { text, 510 }, again, 256));
    for (size_t i = 0; i < 512; i++) {
        const char digit = text[i];
        text[i] = 'g';
        CHECK(!hf_hex_read(hf_span_of(text), again, 256));
        text[i] = digit;
    }
}
