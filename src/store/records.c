/* records.c - see records.h. */
#include "store/records.h"
#include "base/strings.h"

/* Each part with its length before it: no two different identities feed the same bytes. */
static void feed(struct hf_sha256 *hash, struct hf_span part)
{
    const uint64_t n = part.n;
    hf_sha256_feed(hash, (struct hf_span) { (const char *)&n, sizeof n });
    hf_sha256_feed(hash, part);
}

static void feed_number(struct hf_sha256 *hash, uint64_t number)
{
    hf_sha256_feed(hash, (struct hf_span) { (const char *)&number, sizeof number });
}

/* The smallest name that is greater than `last`: lists of environment variables are short. */
static const char *name_after(char *const *names, const char *last)
{
    const char *best = NULL;
    for (size_t i = 0; names && names[i]; i++)
        if ((!last || strcmp(names[i], last) > 0) && (!best || strcmp(names[i], best) < 0))
            best = names[i];
    return best;
}

struct hf_server_key hf_server_key_of(const struct hf_server_identity *identity)
{
    struct hf_server_key key = { { 0 } };
    struct hf_sha256 hash;
    hf_sha256_init(&hash);
    feed(&hash, identity->command);
    feed(&hash, identity->url);
    feed(&hash, identity->cwd);
    feed_number(&hash, hf_strings_count(identity->args));
    for (size_t i = 0; identity->args && identity->args[i]; i++)
        feed(&hash, hf_span_of(identity->args[i]));
    for (const char *name = NULL; (name = name_after(identity->env_names, name));)
        feed(&hash, hf_span_of(name));
    hf_sha256_end(&hash, key.bytes);
    return key;
}

struct hf_loaded *hf_loaded_new(void)
{
    return hf_new(struct hf_loaded);
}

void hf_loaded_free(struct hf_loaded *loaded)
{
    if (!loaded)
        return;
    hf_free(loaded->catalogs);
    hf_free(loaded->switches);
    hf_free(loaded->sessions);
    hf_free(loaded->generations);
    hf_arena_done(&loaded->arena);
    hf_free(loaded);
}
