/* option_tokens.c - the option `tokens`: clients of the HTTP front, by the hash of their token. */
#include <assert.h>
#include <stdio.h>
#include "base/hex.h"
#include "base/edit_distance.h"
#include "base/strings.h"
#include "ops/config_text.h"
#include "ops/option_checks.h"
#include "ops/option_parts.h"
#include "wire/json.h"

static const char never_plain[] =
    "only the hash of a token stands in a file, as \"sha256:\" and 64 hex digits; `holdfast token` "
    "makes a token and prints the entry for it";

/* ---- strings of a token ---- */

static bool read_name(struct hf_setting *s, struct hf_span value, struct hf_token_config *token)
{
    struct hf_err err;
    token->name = hf_setting_string(s, value);
    if (!token->name)
        return false;
    return hf_check_token_name(token->name, &err) || hf_setting_refuse(s, value.p, "%s", err.text);
}

static bool parse_hash(struct hf_span text, uint8_t ret_hash[HF_SHA256_SIZE])
{
    static const struct hf_span prefix = { "sha256:", 7 };
    const struct hf_span digits = hf_span_from(text, prefix.n);
    return hf_span_starts(text, prefix) && hf_hex_read(digits, ret_hash, HF_SHA256_SIZE);
}

static bool read_hash(struct hf_setting *s, struct hf_span value, struct hf_token_config *token)
{
    char *text = hf_setting_string(s, value);
    if (!text)
        return false;
    const bool good = parse_hash(hf_span_of(text), token->hash);
    hf_free(text);
    return good || hf_setting_refuse(s, value.p, "%s", never_plain);
}

static bool read_globs(struct hf_setting *s, struct hf_span value, char ***globs)
{
    if (hf_json_type(value) != HF_JSON_ARRAY)
        return hf_setting_refuse(s, value.p, "found %s; allowed is an array of strings",
                                 hf_option_kind_of(value));
    char **list = hf_setting_strings(s, value);
    if (!list)
        return false;
    hf_strings_free(*globs);
    *globs = list;
    return true;
}

static bool read_servers(struct hf_setting *s, struct hf_span value, struct hf_token_config *token)
{
    return read_globs(s, value, &token->servers);
}

static bool read_allow(struct hf_setting *s, struct hf_span value, struct hf_token_config *token)
{
    return read_globs(s, value, &token->allow);
}

static bool read_deny(struct hf_setting *s, struct hf_span value, struct hf_token_config *token)
{
    return read_globs(s, value, &token->deny);
}

static bool read_errors_as(struct hf_setting *s, struct hf_span value,
                           struct hf_token_config *token)
{
    token->errors_as = hf_json_string_is(value, HF_SPAN("result"))  ? HF_ERRORS_AS_RESULT
                       : hf_json_string_is(value, HF_SPAN("error")) ? HF_ERRORS_AS_ERROR
                                                                    : HF_ERRORS_UNSAID;
    return token->errors_as != HF_ERRORS_UNSAID ||
           hf_setting_refuse(s, value.p, "allowed is \"result\" or \"error\"");
}

/* ---- members of an object ---- */

struct member {
    const char *key; /* NULL: the list is over */
    bool (*read)(struct hf_setting *s, struct hf_span value, struct hf_token_config *token);
};

static bool unknown_member(struct hf_setting *s, struct hf_span key, const struct member *members,
                           const char *all)
{
    static const char *const plain[] = { "token", "value", "secret", "password", "bearer" };
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (hf_edit_distance(key, hf_span_of(plain[i])) == 0)
            return hf_setting_refuse(s, key.p, "%s", never_plain);
    for (; members->key; members++)
        if (hf_edit_distance(key, hf_span_of(members->key)) < HF_TOO_FAR)
            return hf_setting_refuse(s, key.p, "there is no such key; did you mean \"%s\"?",
                                     members->key);
    return hf_setting_refuse(s, key.p, "there is no such key; %s", all);
}

/* `all` names the members, for whoever wrote another one. */
static bool read_members(struct hf_setting *s, struct hf_span json, struct hf_token_config *token,
                         const struct member *members, const char *all)
{
    char shown[HF_SHOWN_MAX];
    const size_t before = strlen(s->fault->item);
    if (hf_json_type(json) != HF_JSON_OBJECT)
        return hf_setting_refuse(s, json.p, "found %s; allowed is an object",
                                 hf_option_kind_of(json));
    for (struct hf_json_iter it = hf_json_iter(json); hf_json_next(&it);) {
        const struct member *member = members;
        hf_text_shown(it.key, shown);
        (void)snprintf(s->fault->item + before, sizeof s->fault->item - before, ".%s", shown);
        while (member->key && !hf_json_key_is(it.key, hf_span_of(member->key)))
            member++;
        if (!member->key)
            return unknown_member(s, it.key, members, all);
        if (hf_json_get(json, hf_span_of(member->key)).p != it.value.p)
            return hf_setting_refuse(s, it.key.p, "it is given twice");
        if (!member->read(s, it.value, token))
            return false;
    }
    s->fault->item[before] = '\0';
    return true;
}

/* ---- limits ---- */

enum { COUNT_MAX = 1000000000 };
static const int64_t bytes_max = COUNT_MAX * INT64_C(1000000);

static bool read_number(struct hf_setting *s, struct hf_span value, int64_t max, int64_t *ret)
{
    return (hf_json_int(value, ret) && *ret >= 1 && *ret <= max) ||
           hf_setting_refuse(s, value.p, "allowed is a whole number from 1 to %lld",
                             (long long)max);
}

static bool read_bytes(struct hf_setting *s, struct hf_span value, struct hf_token_config *token)
{
    int64_t number;
    if (!read_number(s, value, bytes_max, &number))
        return false;
    token->limits.bytes = (uint64_t)number;
    return true;
}

static bool read_count(struct hf_setting *s, struct hf_span value, uint32_t *count)
{
    int64_t number;
    if (!read_number(s, value, COUNT_MAX, &number))
        return false;
    *count = (uint32_t)number;
    return true;
}

#define COUNT(field)                                                                               \
    static bool read_##field(struct hf_setting *s, struct hf_span value,                           \
                             struct hf_token_config *token)                                        \
    {                                                                                              \
        return read_count(s, value, &token->limits.field);                                         \
    }
COUNT(calls)
COUNT(sessions)
COUNT(streams)
COUNT(subscriptions)
COUNT(rate_per_minute)
#undef COUNT

static bool read_limits(struct hf_setting *s, struct hf_span value, struct hf_token_config *token)
{
    static const struct member members[] = {
        { "calls", read_calls },
        { "sessions", read_sessions },
        { "streams", read_streams },
        { "bytes", read_bytes },
        { "subscriptions", read_subscriptions },
        { "ratePerMinute", read_rate_per_minute },
        { NULL, NULL },
    };
    return read_members(s, value, token, members,
                        "limits are calls, sessions, streams, bytes, subscriptions and "
                        "ratePerMinute");
}

/* ---- one token ---- */

static const struct member token_members[] = {
    { "name", read_name },     { "hash", read_hash }, { "servers", read_servers },
    { "allow", read_allow },   { "deny", read_deny }, { "errorsAs", read_errors_as },
    { "limits", read_limits }, { NULL, NULL },
};

static bool read_token(struct hf_setting *s, struct hf_span json, struct hf_token_config *token)
{
    if (hf_json_type(json) == HF_JSON_STRING)
        return hf_setting_refuse(s, json.p, "%s", never_plain);
    token->servers = hf_strings_new();
    token->allow = hf_strings_new();
    token->deny = hf_strings_new();
    token->errors_as = HF_ERRORS_UNSAID;
    hf_strings_add(&token->servers, hf_strdup("*"));
    hf_strings_add(&token->allow, hf_strdup("*"));
    if (!read_members(s, json, token, token_members,
                      "a token has a name, a hash, servers, allow, deny, errorsAs and limits"))
        return false;
    if (!token->name)
        return hf_setting_refuse(s, json.p, "it has no name");
    return hf_json_get(json, HF_SPAN("hash")).p || hf_setting_refuse(s, json.p, "it has no hash");
}

/* ---- all tokens ---- */

struct tokens {
    struct hf_token_config *items;
    size_t count;
};

static void tokens_free(struct tokens *tokens)
{
    for (size_t i = 0; i < tokens->count; i++) {
        struct hf_token_config *token = &tokens->items[i];
        hf_free(token->name);
        hf_strings_free(token->servers);
        hf_strings_free(token->allow);
        hf_strings_free(token->deny);
    }
    hf_free(tokens->items);
    *tokens = (struct tokens) { 0 };
}

/* Compares the last token with those before it. */
static bool last_is_unique(struct hf_setting *s, const struct tokens *tokens, struct hf_span json)
{
    const struct hf_token_config *last = &tokens->items[tokens->count - 1];
    assert(last->name);
    for (size_t i = 0; i + 1 < tokens->count; i++) {
        const struct hf_token_config *other = &tokens->items[i];
        if (strcmp(other->name, last->name) == 0)
            return hf_setting_refuse(s, json.p, "there are two tokens with the name \"%s\"",
                                     last->name);
        if (hf_digest_same(other->hash, last->hash))
            return hf_setting_refuse(s, json.p, "\"%s\" and \"%s\" are the same token", other->name,
                                     last->name);
    }
    return true;
}

static bool read_tokens(struct hf_setting *s, struct hf_span value, struct tokens *tokens)
{
    for (struct hf_json_iter it = hf_json_iter(value); hf_json_next(&it);) {
        (void)snprintf(s->fault->item, sizeof s->fault->item, "[%zu]", tokens->count);
        if (tokens->count == HF_OPTION_ITEMS_MAX)
            return hf_setting_refuse(s, it.value.p, "there are more than %d tokens",
                                     HF_OPTION_ITEMS_MAX);
        tokens->items =
            hf_realloc(tokens->items, (tokens->count + 1) * sizeof(struct hf_token_config));
        tokens->items[tokens->count] = (struct hf_token_config) { 0 };
        if (!read_token(s, it.value, &tokens->items[tokens->count++]) ||
            !last_is_unique(s, tokens, it.value))
            return false;
    }
    return true;
}

static void put_tokens(const struct hf_option *o, void *root, struct tokens tokens)
{
    void *count = (char *)root + o->also_at;
    *(struct hf_token_config **)hf_option_field(o, root) = tokens.items;
    *(size_t *)count = tokens.count;
}

bool hf_setting_tokens(struct hf_setting *s, struct hf_span value)
{
    struct tokens tokens = { 0 };
    if (hf_json_type(value) != HF_JSON_ARRAY)
        return hf_setting_wrong(s, value);
    if (!read_tokens(s, value, &tokens)) {
        tokens_free(&tokens);
        return false;
    }
    hf_tokens_clear(s->option, s->root);
    put_tokens(s->option, s->root, tokens);
    return true;
}

void hf_tokens_clear(const struct hf_option *o, void *root)
{
    const void *count = (char *)root + o->also_at;
    struct tokens tokens = { *(struct hf_token_config **)hf_option_field(o, root),
                             *(const size_t *)count };
    tokens_free(&tokens);
    put_tokens(o, root, tokens);
}
