/* edit_distance.c - see edit_distance.h. */
#include "base/edit_distance.h"
#include "base/fold.h"

enum { WORD_MAX = 48, SHORT = 5 };

struct letters {
    char c[WORD_MAX];
    size_t n;
};

static bool only_letters(struct hf_span word, struct letters *ret)
{
    size_t n = 0;
    for (size_t i = 0; i < word.n; i++) {
        const char c = word.p[i];
        if (c == '-' || c == '_' || c == '.')
            continue;
        if (n == WORD_MAX)
            return false;
        ret->c[n++] = hf_lower(c);
    }
    ret->n = n;
    return n > 0;
}

static unsigned least(unsigned a, unsigned b, unsigned c)
{
    const unsigned ab = a < b ? a : b;
    return ab < c ? ab : c;
}

static unsigned count_edits(const struct letters *a, const struct letters *b)
{
    unsigned row[WORD_MAX + 1];
    for (unsigned j = 0; j <= b->n; j++)
        row[j] = j;
    for (unsigned i = 1; i <= a->n; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b->n; j++) {
            const unsigned above = row[j];
            row[j] = least(above + 1, row[j - 1] + 1, diagonal + (a->c[i - 1] != b->c[j - 1]));
            diagonal = above;
        }
    }
    return row[b->n];
}

unsigned hf_edit_distance(struct hf_span a, struct hf_span b)
{
    struct letters x, y;
    if (!only_letters(a, &x) || !only_letters(b, &y))
        return HF_TOO_FAR;
    const unsigned allowed = x.n < SHORT || y.n < SHORT ? 1 : 2;
    if (x.n > y.n + allowed || y.n > x.n + allowed)
        return HF_TOO_FAR; /* most pairs end here */
    const unsigned distance = count_edits(&x, &y);
    return distance <= allowed ? distance : HF_TOO_FAR;
}
