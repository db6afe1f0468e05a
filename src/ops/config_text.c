/* config_text.c - see config_text.h. */
#include "ops/config_text.h"

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

/* Also the C1 controls, two bytes in UTF-8: terminals obey them. */
static bool is_control(struct hf_span bytes, size_t at)
{
    const unsigned char c = (unsigned char)bytes.p[at];
    if (c < 0x20 || c == 0x7f)
        return true;
    return c == 0xc2 && at + 1 < bytes.n && (unsigned char)bytes.p[at + 1] < 0xa0;
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
    for (size_t i = 0; i < n; i++) {
        const bool control = is_control(bytes, i);
        ret_shown[out++] = control ? '?' : bytes.p[i];
        if (control && (unsigned char)bytes.p[i] == 0xc2)
            i++;
    }
    memcpy(ret_shown + out, cut, n < bytes.n ? sizeof cut : 0);
    ret_shown[out + (n < bytes.n ? sizeof cut - 1 : 0)] = '\0';
}
