/* cookies.c - see cookies.h. */
#include "wire/cookies.h"
#include "base/fold.h"
#include "wire/http_text.h"

void hf_cookies_done(struct hf_cookies *cookies)
{
    for (unsigned i = 0; i < cookies->count; i++)
        hf_free(cookies->list[i].text);
    hf_free(cookies->list);
    *cookies = (struct hf_cookies) { .list = NULL };
}

/* ---- dates ---- */

struct date {
    int day, month, year, second; /* -1: not seen yet; second: of the day */
};

static bool take_number(struct hf_span *text, size_t digits_max, int *ret)
{
    size_t n = 0;
    *ret = 0;
    for (; n < text->n && n <= digits_max && hf_http_is_digit(text->p[n]); n++)
        *ret = n < digits_max ? *ret * 10 + (text->p[n] - '0') : 0;
    *text = hf_span_from(*text, n);
    return n > 0 && n <= digits_max;
}

static bool take_time(struct hf_span word, struct date *date)
{
    int part[3];
    for (int i = 0; i < 3; i++) {
        if (!take_number(&word, 2, &part[i]) || (i < 2 && !hf_span_starts(word, HF_SPAN(":"))))
            return false;
        word = hf_span_from(word, 1);
    }
    if (part[0] > 23 || part[1] > 59 || part[2] > 59)
        return false;
    date->second = part[0] * 3600 + part[1] * 60 + part[2];
    return true;
}

static bool take_month(struct hf_span word, struct date *date)
{
    static const char months[] = "janfebmaraprmayjunjulaugsepoctnovdec";
    for (int i = 0; i < 12; i++) {
        if (!hf_fold_starts(word, (struct hf_span) { months + 3 * i, 3 }))
            continue;
        date->month = i;
        return true;
    }
    return false;
}

/* RFC 6265, 5.1.1: the first word that can be each part is it. */
static void take_word(struct hf_span word, struct date *date)
{
    struct hf_span rest = word;
    int number = 0;
    if (date->second < 0 && take_time(word, date))
        return;
    if (date->day < 0 && take_number(&rest, 2, &number) && rest.n == 0) {
        date->day = number;
        return;
    }
    if (date->month < 0 && take_month(word, date))
        return;
    rest = word;
    if (date->year < 0 && take_number(&rest, 4, &number) && rest.n == 0 && word.n != 3)
        date->year = number + (word.n > 2 ? 0 : number < 70 ? 2000 : 1900);
}

/* Days from 1970-01-01 of the calendar that everybody uses; a year begins in March, so that the day
 * which some years have more is its last. */
static int64_t days_of(const struct date *date)
{
    const int64_t year = date->year - (date->month < 2);
    const int64_t month = (date->month + 10) % 12;
    const int64_t day_of_year = (153 * month + 2) / 5 + date->day - 1;
    return year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719468;
}

/* False: it is no date. One before 1970 is 1. */
static bool read_date(struct hf_span text, uint64_t *ret_ms)
{
    struct date date = { -1, -1, -1, -1 };
    while (text.n) {
        size_t n = 0;
        while (n < text.n && !strchr(" ,-\t", text.p[n]))
            n++;
        if (n)
            take_word((struct hf_span) { text.p, n }, &date);
        text = hf_span_from(text, n + 1);
    }
    if (date.day < 1 || date.day > 31 || date.month < 0 || date.year < 1601 || date.second < 0)
        return false;
    const int64_t ms = (days_of(&date) * 86400 + date.second) * 1000;
    *ret_ms = ms > 0 ? (uint64_t)ms : 1;
    return true;
}

/* ---- taking one ---- */

static struct hf_span trimmed(struct hf_span text)
{
    while (text.n && (text.p[0] == ' ' || text.p[0] == '\t'))
        text = hf_span_from(text, 1);
    while (text.n && (text.p[text.n - 1] == ' ' || text.p[text.n - 1] == '\t'))
        text.n--;
    return text;
}

/* Up to the next `c`, which is dropped; all of it if there is none. */
static struct hf_span take_until(struct hf_span *text, char c)
{
    const char *at = text->n ? memchr(text->p, c, text->n) : NULL;
    const struct hf_span part = { text->p, at ? (size_t)(at - text->p) : text->n };
    *text = hf_span_from(*text, part.n + 1);
    return trimmed(part);
}

static bool is_of_host(struct hf_span host, struct hf_span domain)
{
    if (domain.n && domain.p[0] == '.')
        domain = hf_span_from(domain, 1);
    if (domain.n == 0 || hf_fold_same(host, domain))
        return true;
    return host.n > domain.n && host.p[host.n - domain.n - 1] == '.' &&
           hf_fold_same(hf_span_from(host, host.n - domain.n), domain);
}

static struct hf_span path_only(struct hf_span target)
{
    const char *query = target.n ? memchr(target.p, '?', target.n) : NULL;
    return query ? (struct hf_span) { target.p, (size_t)(query - target.p) } : target;
}

static struct hf_span default_path(struct hf_span target)
{
    struct hf_span path = path_only(target);
    while (path.n > 1 && path.p[path.n - 1] != '/')
        path.n--;
    if (path.n > 1)
        path.n--;
    return path.n ? path : HF_SPAN("/");
}

struct wishes { /* what the attributes say */
    struct hf_span path, domain;
    bool wants_safety, has_age;
    uint64_t expires_ms;
};

static void take_age(struct hf_span value, uint64_t wall_ms, struct wishes *wishes)
{
    int seconds = 0;
    const bool is_negative = hf_span_starts(value, HF_SPAN("-"));
    if (!is_negative && (!value.n || !hf_http_is_digit(value.p[0])))
        return;
    wishes->has_age = true;
    if (is_negative)
        wishes->expires_ms = 1;
    else if (take_number(&value, 9, &seconds))
        wishes->expires_ms = seconds ? wall_ms + (uint64_t)seconds * 1000 : 1;
    else
        wishes->expires_ms = 0; /* in more than thirty years */
}

static void take_attribute(struct hf_span text, uint64_t wall_ms, struct wishes *wishes)
{
    uint64_t expires_ms = 0;
    const struct hf_span name = take_until(&text, '='), value = trimmed(text);
    if (hf_fold_is(name, HF_SPAN("path")) && hf_span_starts(value, HF_SPAN("/")))
        wishes->path = value;
    else if (hf_fold_is(name, HF_SPAN("domain")))
        wishes->domain = value;
    else if (hf_fold_is(name, HF_SPAN("secure")))
        wishes->wants_safety = true;
    else if (hf_fold_is(name, HF_SPAN("max-age")))
        take_age(value, wall_ms, wishes);
    else if (hf_fold_is(name, HF_SPAN("expires")) && !wishes->has_age &&
             read_date(value, &expires_ms))
        wishes->expires_ms = expires_ms;
}

static struct hf_span name_of(const struct hf_cookie *cookie)
{
    return (struct hf_span) { cookie->text, cookie->name_n };
}

static struct hf_span path_of(const struct hf_cookie *cookie)
{
    return (struct hf_span) { cookie->text + cookie->text_n, cookie->path_n };
}

static void remove_at(struct hf_cookies *cookies, unsigned at)
{
    hf_free(cookies->list[at].text);
    cookies->count--;
    memmove(&cookies->list[at], &cookies->list[at + 1],
            (cookies->count - at) * sizeof *cookies->list);
}

static void remove_oldest(struct hf_cookies *cookies)
{
    unsigned oldest = 0;
    for (unsigned i = 1; i < cookies->count; i++)
        if (cookies->list[i].serial < cookies->list[oldest].serial)
            oldest = i;
    remove_at(cookies, oldest);
}

/* Its place among those of the same path stays the same: `serial` is that of the one it replaces.
 */
static void insert(struct hf_cookies *cookies, struct hf_span pair, size_t name_n,
                   const struct wishes *wishes, uint64_t serial)
{
    unsigned at = 0;
    if (!cookies->list)
        cookies->list = hf_new_array(struct hf_cookie, HF_COOKIES_MAX);
    if (cookies->count == HF_COOKIES_MAX)
        remove_oldest(cookies);
    while (at < cookies->count &&
           (cookies->list[at].path_n > wishes->path.n ||
            (cookies->list[at].path_n == wishes->path.n && cookies->list[at].serial < serial)))
        at++;
    memmove(&cookies->list[at + 1], &cookies->list[at],
            (cookies->count - at) * sizeof *cookies->list);
    cookies->count++;
    char *text = hf_alloc(pair.n + wishes->path.n);
    memcpy(text, pair.p, pair.n);
    memcpy(text + pair.n, wishes->path.p, wishes->path.n);
    cookies->list[at] = (struct hf_cookie) { .text = text,
                                             .name_n = name_n,
                                             .text_n = pair.n,
                                             .path_n = wishes->path.n,
                                             .serial = serial,
                                             .expires_ms = wishes->expires_ms };
}

void hf_cookies_take(struct hf_cookies *cookies, struct hf_span value, struct hf_span host,
                     struct hf_span path, bool is_safe, uint64_t wall_ms)
{
    const struct hf_span pair = take_until(&value, ';');
    struct hf_span rest = pair;
    const struct hf_span name = take_until(&rest, '=');
    struct wishes wishes = { .path = default_path(path) };
    uint64_t serial = ++cookies->serial;
    while (value.n)
        take_attribute(take_until(&value, ';'), wall_ms, &wishes);
    if (!name.n || !memchr(pair.p, '=', pair.n) || memchr(pair.p, '\t', pair.n) ||
        pair.n + wishes.path.n > HF_COOKIE_BYTES_MAX || !is_of_host(host, wishes.domain) ||
        (wishes.wants_safety && !is_safe))
        return;
    for (unsigned i = 0; i < cookies->count; i++) {
        const struct hf_cookie *old = &cookies->list[i];
        if (!hf_span_eq(name_of(old), name) || !hf_span_eq(path_of(old), wishes.path))
            continue;
        serial = old->serial;
        remove_at(cookies, i);
        break;
    }
    if (!wishes.expires_ms || wishes.expires_ms > wall_ms)
        insert(cookies, pair, name.n, &wishes, serial);
}

/* ---- sending them back ---- */

static bool is_for_path(struct hf_span wanted, struct hf_span path)
{
    if (!hf_span_starts(path, wanted))
        return false;
    return path.n == wanted.n || wanted.p[wanted.n - 1] == '/' || path.p[wanted.n] == '/';
}

void hf_cookies_write(struct hf_cookies *cookies, struct hf_span path, uint64_t wall_ms,
                      struct hf_buf *out)
{
    size_t written = 0;
    path = path_only(path);
    for (unsigned i = 0; i < cookies->count;) {
        const struct hf_cookie *cookie = &cookies->list[i];
        if (cookie->expires_ms && cookie->expires_ms <= wall_ms) {
            remove_at(cookies, i);
            continue;
        }
        i++;
        if (!is_for_path(path_of(cookie), path) ||
            written + 2 + cookie->text_n > HF_COOKIES_LINE_MAX)
            continue;
        hf_buf_add(out, written ? HF_SPAN("; ") : HF_SPAN(""));
        hf_buf_add(out, (struct hf_span) { cookie->text, cookie->text_n });
        written += 2 + cookie->text_n;
    }
}
