/* hex.c - see hex.h. */
#include "base/hex.h"

int hf_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool hf_hex_read(struct hf_span text, uint8_t *ret_bytes, size_t n)
{
    if (text.n != 2 * n)
        return false;
    for (size_t i = 0; i < n; i++) {
        const int high = hf_hex_digit(text.p[2 * i]), low = hf_hex_digit(text.p[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        ret_bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
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
