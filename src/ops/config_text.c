/* config_text.c - see config_text.h. */
#include "ops/config_text.h"
#include "wire/utf8.h"

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

struct hf_text_place hf_text_place(struct hf_span text, size_t at)
{
    struct hf_text_place place = { 1, 1 };
    for (size_t i = 0; i < at && i < text.n; i++) {
        if (text.p[i] == '\n') {
            place.line++;
            place.column = 1;
        } else if (!is_continuation(text.p[i])) {
            place.column++;
        }
    }
    return place;
}

unsigned hf_text_control(struct hf_span bytes, size_t at, size_t *ret_length)
{
    const unsigned char *c = (const unsigned char *)bytes.p + at;
    const size_t length = *c < 0x80 ? 1 : hf_utf8_length((const char *)c, bytes.n - at);
    *ret_length = length ? length : 1;
    if (length == 0) /* no UTF-8: a terminal may take the byte for a C1 control */
        return *c;
    unsigned code = *c;
    if (length == 2)
        code = (c[0] & 0x1fu) << 6 | (c[1] & 0x3fu);
    else if (length == 3)
        code = (c[0] & 0x0fu) << 12 | (c[1] & 0x3fu) << 6 | (c[2] & 0x3fu);
    else if (length > 3)
        return 0;
    const bool is_c0 = code < 0x20, is_c1 = code >= 0x7f && code <= 0x9f;
    const bool is_bidi = code == 0x61c || code == 0x200e || code == 0x200f ||
                         (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
    if (code == 0)
        return HF_TEXT_NUL;
    return is_c0 || is_c1 || is_bidi ? code : 0;
}

void hf_text_shown(struct hf_span bytes, char ret_shown[HF_SHOWN_MAX])
{
    static const char cut[] = "…";
    size_t n = bytes.n;
    if (n > HF_SHOWN_MAX - sizeof cut) {
        n = HF_SHOWN_MAX - sizeof cut;
        while (n > 0 && is_continuation(bytes.p[n]))
            n--;
    }
    size_t out = 0;
    for (size_t i = 0, length; i < n;) {
        if (hf_text_control((struct hf_span) { bytes.p, n }, i, &length)) {
            ret_shown[out++] = '?';
        } else {
            memcpy(ret_shown + out, bytes.p + i, length);
            out += length;
        }
        i += length;
    }
    memcpy(ret_shown + out, cut, n < bytes.n ? sizeof cut : 0);
    ret_shown[out + (n < bytes.n ? sizeof cut - 1 : 0)] = '\0';
}

void hf_text_add_escaped(struct hf_buf *out, struct hf_span text)
{
    for (size_t i = 0, length; i < text.n; i += length) {
        const unsigned code = hf_text_control(text, i, &length);
        if (code == 0)
            hf_buf_add(out, (struct hf_span) { text.p + i, length });
        else if (length == 1)
            hf_buf_printf(out, "\\x%02x", (unsigned char)text.p[i]);
        else
            hf_buf_printf(out, "\\u%04x", code);
    }
}
