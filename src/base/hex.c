/* hex.c - see hex.h. */
#include "base/hex.h"

enum { IS_DIGIT = 0x10 };

/* A digit's value, with IS_DIGIT. A table, because ids are random: a branch on each digit would be
 * guessed wrong half of the time. */
#define D(value) (IS_DIGIT | (value))
static const uint8_t values[256] = {
    ['0'] = D(0),  ['1'] = D(1),  ['2'] = D(2),  ['3'] = D(3),  ['4'] = D(4),  ['5'] = D(5),
    ['6'] = D(6),  ['7'] = D(7),  ['8'] = D(8),  ['9'] = D(9),  ['a'] = D(10), ['b'] = D(11),
    ['c'] = D(12), ['d'] = D(13), ['e'] = D(14), ['f'] = D(15), ['A'] = D(10), ['B'] = D(11),
    ['C'] = D(12), ['D'] = D(13), ['E'] = D(14), ['F'] = D(15),
};
#undef D

int hf_hex_digit(char c)
{
    const unsigned value = values[(unsigned char)c];
    return value ? (int)(value - IS_DIGIT) : -1;
}

bool hf_hex_read(struct hf_span text, uint8_t *ret_bytes, size_t n)
{
    unsigned all = IS_DIGIT;
    if (text.n != 2 * n)
        return false;
    for (size_t i = 0; i < n; i++) {
        const unsigned high = values[(unsigned char)text.p[2 * i]];
        const unsigned low = values[(unsigned char)text.p[2 * i + 1]];
        all &= high & low;
        ret_bytes[i] = (uint8_t)(high << 4 | (low & 15));
    }
    return all & IS_DIGIT;
}

void hf_hex_write(const uint8_t *bytes, size_t n, char *ret_text)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        ret_text[2 * i] = digits[bytes[i] >> 4];
        ret_text[2 * i + 1] = digits[bytes[i] & 15];
    }
    ret_text[2 * n] = '\0';
}
