/* library_reload.c - see library_reload.h. */
#include "lib/library_reload.h"
#include <string.h>
#include "base/hex.h"
#include "base/sha256.h"
#include "base/strings.h"

enum { NAMES_MAX = 1 << 20, SENTENCE_MAX = 8 << 20 };

/* ---- tokens ---- */

static void feed(struct hf_sha256 *hash, char *const *list)
{
    for (size_t i = 0; list && list[i]; i++)
        hf_sha256_feed(hash, (struct hf_span) { list[i], strlen(list[i]) + 1 });
    hf_sha256_feed(hash, HF_SPAN("\n"));
}

static char *print_of(const struct hf_token_config *token)
{
    struct hf_sha256 hash;
    uint8_t digest[HF_SHA256_SIZE];
    char hex[2 * HF_SHA256_SIZE + 1];
    hf_sha256_init(&hash);
    hf_sha256_feed(&hash, (struct hf_span) { (const char *)token->hash, HF_SHA256_SIZE });
    feed(&hash, token->servers);
    feed(&hash, token->allow);
    feed(&hash, token->deny);
    hf_sha256_feed(&hash,
                   (struct hf_span) { (const char *)&token->errors_as, sizeof token->errors_as });
    hf_sha256_end(&hash, digest);
    hf_hex_write(digest, sizeof digest, hex);
    return hf_strdup(hex);
}

void hf_library_tokens_done(struct hf_library_tokens *tokens)
{
    hf_strings_free(tokens->names);
    hf_strings_free(tokens->prints);
    *tokens = (struct hf_library_tokens) { NULL, NULL };
}

void hf_library_tokens_keep(struct hf_library_tokens *tokens, const struct hf_config *config)
{
    hf_library_tokens_done(tokens);
    tokens->names = hf_strings_new();
    tokens->prints = hf_strings_new();
    for (size_t i = 0; i < config->serve.token_count; i++) {
        hf_strings_add(&tokens->names, hf_strdup(config->serve.tokens[i].name));
        hf_strings_add(&tokens->prints, print_of(&config->serve.tokens[i]));
    }
}

/* ---- what changed ---- */

void hf_library_reload_init(struct hf_library_reload *reload)
{
    for (size_t i = 0; i < HF_RELOAD_PART_COUNT; i++)
        hf_buf_init(&reload->names[i], NAMES_MAX);
}

void hf_library_reload_add(struct hf_library_reload *reload, enum hf_reload_part part,
                           const char *name)
{
    struct hf_buf *names = &reload->names[part];
    hf_buf_printf(names, "%s%s", hf_buf_len(names) ? ", " : "", name);
}

static const char *print_named(const struct hf_library_tokens *tokens, const char *name)
{
    for (size_t i = 0; tokens->names && tokens->names[i]; i++)
        if (strcmp(tokens->names[i], name) == 0)
            return tokens->prints[i];
    return NULL;
}

void hf_library_reload_tokens(struct hf_library_reload *reload, struct hf_library_tokens *tokens,
                              const struct hf_config *config)
{
    struct hf_library_tokens now = { NULL, NULL };
    hf_library_tokens_keep(&now, config);
    for (size_t i = 0; now.names[i]; i++) {
        const char *before = print_named(tokens, now.names[i]);
        if (!before)
            hf_library_reload_add(reload, HF_RELOAD_TOKENS_ADDED, now.names[i]);
        else if (strcmp(before, now.prints[i]) != 0)
            hf_library_reload_add(reload, HF_RELOAD_TOKENS_CHANGED, now.names[i]);
    }
    for (size_t i = 0; tokens->names && tokens->names[i]; i++)
        if (!print_named(&now, tokens->names[i]))
            hf_library_reload_add(reload, HF_RELOAD_TOKENS_REMOVED, tokens->names[i]);
    hf_library_tokens_done(tokens);
    *tokens = now;
}

void hf_library_reload_keeps_tokens(struct hf_library_log *log)
{
    hf_library_log_write(
        log, &(struct hf_log_entry) {
                 .level = HF_LOG_ERROR,
                 .event = HF_SPAN("tokens_kept"),
                 .sentence = HF_SPAN("the tokens of before stay in use: other machines can reach "
                                     "holdfast, and the new file has no tokens"),
             });
}

void hf_library_reload_done(struct hf_library_reload *reload, struct hf_library_log *log)
{
    static const struct {
        const char *key, *words;
    } parts[HF_RELOAD_PART_COUNT] = {
        [HF_RELOAD_ADDED] = { "added", "added" },
        [HF_RELOAD_REMOVED] = { "removed", "removed" },
        [HF_RELOAD_CHANGED] = { "changed", "changed" },
        [HF_RELOAD_UNCHANGED] = { "unchanged", "unchanged" },
        [HF_RELOAD_TOKENS_ADDED] = { "tokens_added", "tokens added" },
        [HF_RELOAD_TOKENS_REMOVED] = { "tokens_removed", "tokens removed" },
        [HF_RELOAD_TOKENS_CHANGED] = { "tokens_changed", "tokens changed" },
    };
    struct hf_log_field fields[HF_RELOAD_PART_COUNT];
    size_t count = 0;
    struct hf_buf sentence;
    hf_buf_init(&sentence, SENTENCE_MAX);
    hf_buf_add_str(&sentence, "the config was read again");
    for (size_t i = 0; i < HF_RELOAD_PART_COUNT; i++) {
        const struct hf_span names = hf_buf_span(&reload->names[i]);
        if (names.n == 0)
            continue;
        hf_buf_printf(&sentence, "; %s: %.*s", parts[i].words, HF_FMT(names));
        fields[count++] = (struct hf_log_field) { .key = hf_span_of(parts[i].key), .words = names };
    }
    hf_library_log_write(log, &(struct hf_log_entry) { .level = HF_LOG_INFO,
                                                       .event = HF_SPAN("reloaded"),
                                                       .fields = fields,
                                                       .field_count = count,
                                                       .sentence = hf_buf_span(&sentence) });
    hf_buf_done(&sentence);
    for (size_t i = 0; i < HF_RELOAD_PART_COUNT; i++)
        hf_buf_done(&reload->names[i]);
}
