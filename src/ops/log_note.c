/*
 * log_note.c - the engine's notes, `event key=value key="some words" more words`, as entries.
 *
 * The only file that knows this form. The sentence is the whole note; its first word becomes the
 * event, and the pairs after it become fields, up to the first word that is no pair.
 */
#include "ops/log.h"

enum { FIELDS_MAX = 12, DIGITS_MAX = 18 };

static size_t word_length(struct hf_span text)
{
    size_t n = 0;
    while (n < text.n && ((text.p[n] >= 'a' && text.p[n] <= 'z') || text.p[n] == '_'))
        n++;
    return n;
}

/* Fields whose value a peer may have written, with spaces or quotes in it: they take the rest. */
static bool has_the_rest(struct hf_span key)
{
    return hf_span_is(key, "data") || hf_span_is(key, "hidden") || hf_span_is(key, "stderr");
}

static struct hf_span unquoted(struct hf_span words)
{
    if (words.n && words.p[0] == '"')
        words = hf_span_from(words, 1);
    if (words.n && words.p[words.n - 1] == '"')
        words.n--;
    return words;
}

static void set_value(struct hf_log_field *field, struct hf_span words)
{
    int64_t number = 0;
    size_t n = 0;
    field->words = unquoted(words);
    while (n < words.n && n < DIGITS_MAX && words.p[n] >= '0' && words.p[n] <= '9')
        number = 10 * number + (words.p[n++] - '0');
    if (n > 0 && n == words.n) {
        field->type = HF_LOG_NUMBER;
        field->number = number;
    }
}

/* Cuts one pair from the front of `rest`; false if there is none. */
static bool take_field(struct hf_span *rest, struct hf_log_field *ret)
{
    const size_t key = word_length(*rest);
    if (key == 0 || key == rest->n || rest->p[key] != '=')
        return false;
    *ret = (struct hf_log_field) { .key = { rest->p, key } };
    *rest = hf_span_from(*rest, key + 1);
    const bool is_quoted = rest->n && rest->p[0] == '"';
    const size_t from = is_quoted ? 1 : 0;
    const char *end =
        rest->n > from ? memchr(rest->p + from, is_quoted ? '"' : ' ', rest->n - from) : NULL;
    size_t length = end ? (size_t)(end - rest->p) + from : rest->n;
    if (has_the_rest(ret->key))
        length = rest->n;
    set_value(ret, (struct hf_span) { rest->p, length });
    *rest = hf_span_from(*rest, length);
    while (rest->n && rest->p[0] == ' ')
        *rest = hf_span_from(*rest, 1);
    return true;
}

void hf_log_note(struct hf_log *log, enum hf_log_level level, struct hf_span server,
                 uint64_t generation, struct hf_span note, uint64_t now_ms)
{
    struct hf_log_field fields[FIELDS_MAX];
    size_t count = 0;
    const size_t event = word_length(note);
    struct hf_span rest = hf_span_from(note, event);
    while (rest.n && rest.p[0] == ' ')
        rest = hf_span_from(rest, 1);
    while (count < FIELDS_MAX && take_field(&rest, &fields[count]))
        count++;
    hf_log_write(log,
                 &(struct hf_log_entry) {
                     .level = level,
                     .event = event ? (struct hf_span) { note.p, event } : HF_SPAN("note"),
                     .server = server,
                     .generation = generation,
                     .fields = fields,
                     .field_count = count,
                     .sentence = note,
                 },
                 now_ms);
}
