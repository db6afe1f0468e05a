/*
 * scan.h - to the next byte that matters, many bytes at a time. Private to wire.
 *
 * Nothing here reads at or past `end`: whole blocks while they fit, the rest byte by byte.
 * Where there is no SSE2 a block is eight bytes in an integer; both ways are exact per byte, so
 * the first hit is the first hit on machines of either byte order.
 */
#ifndef HF_WIRE_SCAN_H
#define HF_WIRE_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>

#define HF_BLOCK __m128i
enum { HF_BLOCK_SIZE = 16 };

static inline __m128i hf_block_load(const char *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}
static inline __m128i hf_block_or(__m128i a, __m128i b)
{
    return _mm_or_si128(a, b);
}
static inline __m128i hf_block_all(char c)
{
    return _mm_set1_epi8(c);
}
static inline __m128i hf_block_equal(__m128i block, char c)
{
    return _mm_cmpeq_epi8(block, _mm_set1_epi8(c));
}
/* Signed, so that one comparison finds the control bytes and everything from 0x80 on. */
static inline __m128i hf_block_not_ascii_text(__m128i block)
{
    return _mm_cmplt_epi8(block, _mm_set1_epi8(0x20));
}
static inline unsigned hf_block_first(__m128i hits)
{
    const unsigned mask = (unsigned)_mm_movemask_epi8(hits);
    return mask ? (unsigned)__builtin_ctz(mask) : HF_BLOCK_SIZE;
}
#else
#define HF_BLOCK uint64_t
enum { HF_BLOCK_SIZE = 8 };

static inline uint64_t hf_block_load(const char *p)
{
    uint64_t block;
    memcpy(&block, p, sizeof block);
    return block;
}
static inline uint64_t hf_block_or(uint64_t a, uint64_t b)
{
    return a | b;
}
static inline uint64_t hf_block_all(char c)
{
    return (unsigned char)c * UINT64_C(0x0101010101010101);
}
/* 0x80 in each byte that is zero. No carry crosses a byte. */
static inline uint64_t hf_block_zero(uint64_t block)
{
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    return ~(((block & low) + low) | block | low);
}
static inline uint64_t hf_block_equal(uint64_t block, char c)
{
    return hf_block_zero(block ^ hf_block_all(c));
}
static inline uint64_t hf_block_not_ascii_text(uint64_t block)
{
    const uint64_t control = hf_block_zero(block & UINT64_C(0x6060606060606060));
    return control | (block & UINT64_C(0x8080808080808080));
}
static inline unsigned hf_block_first(uint64_t hits)
{
    if (hits == 0)
        return HF_BLOCK_SIZE;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return (unsigned)__builtin_clzll(hits) / 8;
#else
    return (unsigned)__builtin_ctzll(hits) / 8;
#endif
}
#endif

/* The sets of bytes to stop at, for a block and for one byte. */

static inline HF_BLOCK hf_block_string_stop(HF_BLOCK b)
{
    return hf_block_or(hf_block_equal(b, '"'), hf_block_equal(b, '\\'));
}
static inline bool hf_byte_string_stop(unsigned char c)
{
    return c == '"' || c == '\\';
}
static inline HF_BLOCK hf_block_unplain(HF_BLOCK b)
{
    return hf_block_or(hf_block_string_stop(b), hf_block_not_ascii_text(b));
}
static inline bool hf_byte_unplain(unsigned char c)
{
    return hf_byte_string_stop(c) || c < 0x20 || c >= 0x80;
}
/* '[' and '{', and ']' and '}', differ in one bit only. */
static inline HF_BLOCK hf_block_nesting(HF_BLOCK b)
{
    const HF_BLOCK curly = hf_block_or(b, hf_block_all(0x20));
    const HF_BLOCK brackets = hf_block_or(hf_block_equal(curly, '{'), hf_block_equal(curly, '}'));
    return hf_block_or(brackets, hf_block_equal(b, '"'));
}
static inline bool hf_byte_nesting(unsigned char c)
{
    return (c | 0x20) == '{' || (c | 0x20) == '}' || c == '"';
}
static inline HF_BLOCK hf_block_list_stop(HF_BLOCK b)
{
    return hf_block_or(hf_block_equal(b, ','), hf_block_equal(b, ';'));
}
static inline bool hf_byte_list_stop(unsigned char c)
{
    return c == ',' || c == ';';
}
static inline HF_BLOCK hf_block_unprintable(HF_BLOCK b)
{
    return hf_block_or(hf_block_equal(b, 0x7f), hf_block_not_ascii_text(b));
}
static inline bool hf_byte_unprintable(unsigned char c)
{
    return c < 0x20 || c >= 0x7f;
}

#define HF_SCAN(name, set)                                                                         \
    static inline const char *name(const char *p, const char *end)                                 \
    {                                                                                              \
        for (; end - p >= HF_BLOCK_SIZE; p += HF_BLOCK_SIZE) {                                     \
            const unsigned at = hf_block_first(hf_block_##set(hf_block_load(p)));                  \
            if (at < HF_BLOCK_SIZE)                                                                \
                return p + at;                                                                     \
        }                                                                                          \
        while (p < end && !hf_byte_##set((unsigned char)*p))                                       \
            p++;                                                                                   \
        return p;                                                                                  \
    }

HF_SCAN(hf_scan_string_stop, string_stop) /* a quote or a backslash */
HF_SCAN(hf_scan_unplain, unplain)         /* those, a control byte, or a byte over 0x7f */
HF_SCAN(hf_scan_nesting, nesting)         /* a quote or a bracket of either kind */
HF_SCAN(hf_scan_list_stop, list_stop)     /* a comma or a semicolon */
HF_SCAN(hf_scan_unprintable, unprintable) /* a control byte, or a byte over 0x7e */

static inline bool hf_scan_same_4(const char *a, const char *b)
{
    uint32_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x == y;
}

/* As memcmp() == 0, without a call for up to eight bytes: two words that may overlap. */
static inline bool hf_scan_same(const char *a, const char *b, size_t n)
{
    if (n > 8)
        return memcmp(a, b, n) == 0;
    if (n >= 4)
        return hf_scan_same_4(a, b) && hf_scan_same_4(a + n - 4, b + n - 4);
    while (n > 0 && a[n - 1] == b[n - 1])
        n--;
    return n == 0;
}

static inline bool hf_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline const char *hf_scan_space(const char *p, const char *end)
{
    /* one comparison where there is none, as in most messages */
    while (p < end && (unsigned char)*p <= ' ' && hf_is_space(*p))
        p++;
    return p;
}

#endif
