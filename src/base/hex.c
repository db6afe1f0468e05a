/* hex.c - see hex.h. */
#include "base/hex.h"

/* One more than the digit's value, so that 0 says it is none. A table, because ids are random: a
 * branch on each digit would be guessed wrong half of the time. */
static const uint8_t values[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

int hf_hex_digit(char c)
{
    return values[(unsigned char)c] - 1;
}

bool hf_hex_read(struct hf_span text, uint8_t *ret_bytes, size_t n)
{
    bool is_good = true;
    if (text.n != 2 * n)
        return false;
    for (size_t i = 0; i < n; i++) {
        const unsigned high = values[(unsigned char)text.p[2 * i]];
        const unsigned low = values[(unsigned char)text.p[2 * i + 1]];
        is_good &= high && low;
        ret_bytes[i] = (uint8_t)((high - 1) << 4 | (low - 1));
    }
    return is_good;
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
