/* json_write.c - strings, keys and commas of our own making; see json.h. */
#include "wire/json.h"
#include "wire/scan.h"
#include "wire/utf8.h"

static void add_escaped(struct hf_buf *out, unsigned char c)
{
    static const char letters[0x20] = {
        ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't',
    };
    const char letter = c < 0x20 ? letters[c] : (char)c;
    if (letter)
        hf_buf_add(out, (struct hf_span) { (const char[]) { '\\', letter }, 2 });
    else
        hf_buf_printf(out, "\\u%04x", c);
}

void hf_json_add_string(struct hf_buf *out, struct hf_span bytes)
{
    hf_buf_add_char(out, '"');
    while (bytes.n) {
        const char *stop = hf_scan_unplain(bytes.p, bytes.p + bytes.n);
        size_t plain = (size_t)(stop - bytes.p), length;
        while (plain < bytes.n && (unsigned char)bytes.p[plain] >= 0x80 &&
               (length = hf_utf8_length(bytes.p + plain, bytes.n - plain)) > 0)
            plain += length;
        hf_buf_add(out, (struct hf_span) { bytes.p, plain });
        bytes = hf_span_from(bytes, plain);
        if (bytes.n == 0 || !hf_byte_unplain((unsigned char)bytes.p[0]))
            continue;
        if ((unsigned char)bytes.p[0] >= 0x80)
            hf_buf_add(out, HF_SPAN("\xef\xbf\xbd"));
        else
            add_escaped(out, (unsigned char)bytes.p[0]);
        bytes = hf_span_from(bytes, 1);
    }
    hf_buf_add_char(out, '"');
}

/* Whether the content ends in one of these, after which no comma belongs. */
static bool fresh(const struct hf_buf *out, const char *openers)
{
    return hf_buf_len(out) == 0 || strchr(openers, out->p[out->end - 1]);
}

void hf_json_add_key(struct hf_buf *out, const char *name)
{
    if (!fresh(out, "{["))
        hf_buf_add_char(out, ',');
    hf_json_add_string(out, hf_span_of(name));
    hf_buf_add_char(out, ':');
}

void hf_json_add_comma(struct hf_buf *out)
{
    if (!fresh(out, "{[:"))
        hf_buf_add_char(out, ',');
}

static struct hf_buf unbounded(void)
{
    struct hf_buf buf;
    hf_buf_init(&buf, SIZE_MAX / 2);
    return buf;
}

char *hf_json_canonical_string(struct hf_span raw_string)
{
    struct hf_buf plain = unbounded(), spelled = unbounded();
    if (hf_json_unescape(raw_string, &plain))
        hf_json_add_string(&spelled, hf_buf_span(&plain));
    else
        hf_buf_add(&spelled, raw_string);
    char *uri = hf_span_dup(hf_buf_span(&spelled));
    hf_buf_done(&plain);
    hf_buf_done(&spelled);
    return uri;
}
