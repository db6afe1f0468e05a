/*
 * json_skim.c - the top-level id of a text that is too long to keep; see json.h.
 *
 * One function per mode; each takes at least one byte or changes the mode, and the state holds all
 * that is known between two bytes, so the text may be cut anywhere. It does not check: a broken
 * text may still tell its id. The id itself is checked, since it will be written to somebody.
 */
#include "wire/json.h"
#include "wire/scan.h"

enum mode {
    BEFORE,        /* the top-level brace has not come yet */
    BETWEEN,       /* inside the top-level object, in no string */
    STRING,        /* in a string that does not matter */
    STRING_ESCAPE, /* behind a backslash there */
    KEY,           /* in a top-level key */
    KEY_ESCAPE,
    COLON,    /* behind the key "id" */
    ID_BEGIN, /* behind its colon */
    ID_STRING,
    ID_ESCAPE,
    ID_NUMBER,
    AFTER, /* the top-level object is closed */
    LOST,  /* no object */
};

enum flag {
    KEY_IS_NEXT = 1, /* a string at depth 1 would be a key */
    HAVE_ID = 2,
    HAVE_METHOD = 4,
    HAVE_RESULT = 8,
    HAVE_VERSION = 16, /* a "jsonrpc", whatever it says */
};

static void set_mode(struct hf_json_skim *s, enum mode mode)
{
    s->mode = (uint8_t)mode;
}

static void set_flag(struct hf_json_skim *s, enum flag flag)
{
    s->flags = (uint8_t)(s->flags | flag);
}

static void clear_flag(struct hf_json_skim *s, enum flag flag)
{
    s->flags = (uint8_t)(s->flags & ~(unsigned)flag);
}

/* Around the top-level object: only white space may stand there. */
static const char *outside(struct hf_json_skim *s, const char *p, const char *end)
{
    p = hf_scan_space(p, end);
    if (p == end)
        return p;
    if (s->mode == BEFORE && *p == '{') {
        s->depth = 1;
        set_flag(s, KEY_IS_NEXT);
        set_mode(s, BETWEEN);
    } else {
        set_mode(s, LOST);
    }
    return p + 1;
}

static void open_string(struct hf_json_skim *s)
{
    const bool key = s->depth == 1 && (s->flags & KEY_IS_NEXT);
    clear_flag(s, KEY_IS_NEXT);
    s->key_len = 0;
    set_mode(s, key ? KEY : STRING);
}

static const char *between(struct hf_json_skim *s, const char *p, const char *end)
{
    if (s->depth > 1)
        p = hf_scan_nesting(p, end);
    if (p == end)
        return p;
    switch (*p) {
    case '"': open_string(s); break;
    case ',': set_flag(s, KEY_IS_NEXT); break;
    case '{':
    case '[': s->depth++; break;
    case '}':
    case ']':
        if (--s->depth == 0)
            set_mode(s, AFTER);
        break;
    default: break;
    }
    return p + 1;
}

static const char *string(struct hf_json_skim *s, const char *p, const char *end)
{
    p = hf_scan_string_stop(p, end);
    if (p == end)
        return p;
    set_mode(s, *p == '"' ? BETWEEN : STRING_ESCAPE);
    return p + 1;
}

static const char *string_escape(struct hf_json_skim *s, const char *p, const char *end)
{
    (void)end;
    set_mode(s, STRING);
    return p + 1;
}

static void end_key(struct hf_json_skim *s)
{
    const struct hf_span raw = { s->key, s->key_len };
    set_mode(s, BETWEEN);
    if (hf_json_key_is(raw, HF_SPAN("method"))) {
        set_flag(s, HAVE_METHOD);
    } else if (hf_json_key_is(raw, HF_SPAN("result"))) {
        set_flag(s, HAVE_RESULT);
    } else if (hf_json_key_is(raw, HF_SPAN("jsonrpc"))) {
        set_flag(s, HAVE_VERSION);
    } else if (hf_json_key_is(raw, HF_SPAN("id"))) {
        clear_flag(s, HAVE_ID); /* the last one counts, as with nearly every reader */
        set_mode(s, COLON);
    }
}

/* A key too long to be one of ours goes on as any other string, at the same byte. */
static const char *key(struct hf_json_skim *s, const char *p, const char *end)
{
    (void)end;
    const bool escaped = s->mode == KEY_ESCAPE;
    if (*p == '"' && !escaped) {
        end_key(s);
        return p + 1;
    }
    if (s->key_len == sizeof s->key) {
        set_mode(s, escaped ? STRING_ESCAPE : STRING);
        return p;
    }
    s->key[s->key_len++] = *p;
    set_mode(s, *p == '\\' && !escaped ? KEY_ESCAPE : KEY);
    return p + 1;
}

static const char *colon(struct hf_json_skim *s, const char *p, const char *end)
{
    p = hf_scan_space(p, end);
    if (p == end)
        return p;
    set_mode(s, *p == ':' ? ID_BEGIN : BETWEEN);
    return *p == ':' ? p + 1 : p;
}

static const char *id_begin(struct hf_json_skim *s, const char *p, const char *end)
{
    p = hf_scan_space(p, end);
    if (p == end)
        return p;
    s->id_len = 0;
    if (*p == '"') {
        s->id[s->id_len++] = *p++;
        set_mode(s, ID_STRING);
    } else {
        set_mode(s, *p == '-' || (*p >= '0' && *p <= '9') ? ID_NUMBER : BETWEEN);
    }
    return p;
}

static void end_id(struct hf_json_skim *s)
{
    set_mode(s, BETWEEN);
    if (hf_json_check((struct hf_span) { s->id, s->id_len }, 0, NULL))
        set_flag(s, HAVE_ID);
}

/* An id too long to keep goes on as any other string, at the same byte. */
static const char *id_string(struct hf_json_skim *s, const char *p, const char *end)
{
    (void)end;
    const bool escaped = s->mode == ID_ESCAPE;
    if (s->id_len == HF_JSON_SKIM_ID_MAX) {
        set_mode(s, escaped ? STRING_ESCAPE : STRING);
        return p;
    }
    s->id[s->id_len++] = *p;
    set_mode(s, *p == '\\' && !escaped ? ID_ESCAPE : ID_STRING);
    if (*p == '"' && !escaped)
        end_id(s);
    return p + 1;
}

static const char *id_number(struct hf_json_skim *s, const char *p, const char *end)
{
    (void)end;
    if (*p == ',' || *p == '}' || hf_is_space(*p)) {
        end_id(s);
        return p;
    }
    if (s->id_len == HF_JSON_SKIM_ID_MAX) {
        set_mode(s, BETWEEN);
        return p;
    }
    s->id[s->id_len++] = *p;
    return p + 1;
}

static const char *lost(struct hf_json_skim *s, const char *p, const char *end)
{
    (void)s, (void)p;
    return end;
}

static const char *(*const steps[])(struct hf_json_skim *s, const char *p, const char *end) = {
    [BEFORE] = outside,
    [AFTER] = outside,
    [BETWEEN] = between,
    [STRING] = string,
    [KEY] = key,
    [KEY_ESCAPE] = key,
    [COLON] = colon,
    [STRING_ESCAPE] = string_escape,
    [ID_BEGIN] = id_begin,
    [ID_STRING] = id_string,
    [ID_ESCAPE] = id_string,
    [ID_NUMBER] = id_number,
    [LOST] = lost,
};

void hf_json_skim_init(struct hf_json_skim *s)
{
    *s = (struct hf_json_skim) { .mode = BEFORE };
}

void hf_json_skim_feed(struct hf_json_skim *s, struct hf_span bytes)
{
    if (bytes.n == 0)
        return;
    for (const char *p = bytes.p, *end = p + bytes.n; p < end;)
        p = steps[s->mode](s, p, end);
}

struct hf_span hf_json_skim_id(const struct hf_json_skim *s)
{
    const bool good = (s->flags & HAVE_ID) && s->mode != LOST;
    return good ? (struct hf_span) { s->id, s->id_len } : (struct hf_span) { NULL, 0 };
}

bool hf_json_skim_has_method(const struct hf_json_skim *s)
{
    return s->flags & HAVE_METHOD;
}

bool hf_json_skim_is_answer(const struct hf_json_skim *s)
{
    return !(s->flags & HAVE_METHOD) && s->flags & (HAVE_RESULT | HAVE_VERSION) &&
           hf_json_skim_id(s).n;
}
