/* test_era.c - messages dressed for the other era: something is added, and nothing is changed. */
#include "test.h"
#include "core/machine/era.h"

/* The text with its inserts, which are freed; static memory. */
static const char *with(const char *text, struct hf_insert inserts[HF_INSERTS_MAX])
{
    static char whole[1024];
    const size_t n = strlen(text);
    size_t from = 0, length = 0;
    for (size_t i = 0; i < HF_INSERTS_MAX; i++) {
        if (!inserts[i].bytes)
            continue;
        CHECK(inserts[i].at >= from && inserts[i].at <= n);
        length += (size_t)snprintf(whole + length, sizeof whole - length, "%.*s%.*s",
                                   (int)(inserts[i].at - from), text + from, (int)inserts[i].length,
                                   inserts[i].bytes);
        from = inserts[i].at;
    }
    (void)snprintf(whole + length, sizeof whole - length, "%s", text + from);
    hf_era_undress(inserts);
    return whole;
}

static bool is(const char *text, const char *expected)
{
    const bool same = strcmp(text, expected) == 0;
    if (!same)
        printf("# it is %s\n", text);
    return same;
}

TEST(a_request_is_dressed_by_adding_alone_wherever_its_params_and_its_meta_are)
{
    static const struct {
        const char *text, *extra, *dressed;
    } rows[] = {
        { "{\"id\":1}", "", "{\"id\":1,\"params\":{\"_meta\":{\"m\":1}}}" },
        { "{\"id\":1} ", "\"e\":2", "{\"id\":1,\"params\":{\"e\":2,\"_meta\":{\"m\":1}}} " },
        { "{\"params\":{},\"id\":1}", "", "{\"params\":{\"_meta\":{\"m\":1}},\"id\":1}" },
        { "{\"params\":{\"x\":1.50}}", "", "{\"params\":{\"_meta\":{\"m\":1},\"x\":1.50}}" },
        { "{\"params\":{\"x\":1e2}}", "\"e\":2",
          "{\"params\":{\"e\":2,\"_meta\":{\"m\":1},\"x\":1e2}}" },
        { "{\"params\":{\"_meta\":{},\"x\":1}}", "", "{\"params\":{\"_meta\":{\"m\":1},\"x\":1}}" },
        { "{\"params\":{\"x\":1, \"_meta\" : {\"own\":[ 1 ]}}}", "",
          "{\"params\":{\"x\":1, \"_meta\" : {\"m\":1,\"own\":[ 1 ]}}}" },
        { "{\"params\":{\"_meta\":{\"own\":1}}}", "\"e\":2",
          "{\"params\":{\"e\":2,\"_meta\":{\"m\":1,\"own\":1}}}" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hf_insert inserts[HF_INSERTS_MAX];
        hf_era_dress(hf_span_of(rows[i].text), HF_SPAN("\"m\":1"), hf_span_of(rows[i].extra),
                     inserts);
        CHECK(is(with(rows[i].text, inserts), rows[i].dressed));
    }
}

#define INFO  "{\"name\":\"n\"}"
#define TOLD  "\"" HF_META_SERVER "\":" INFO
#define TYPE  "\"resultType\":\"complete\""
#define CACHE "\"ttlMs\":0,\"cacheScope\":\"private\""

TEST(a_result_is_completed_by_adding_alone_and_what_it_says_itself_stays)
{
    static const struct {
        const char *text, *info;
        bool is_cacheable;
        const char *completed;
    } rows[] = {
        { "{}", "", false, "{" TYPE "}" },
        { "{}", INFO, false, "{" TYPE ",\"_meta\":{" TOLD "}}" },
        { "{\"x\":1.0}", INFO, true, "{" TYPE "," CACHE ",\"_meta\":{" TOLD "},\"x\":1.0}" },
        { "{\"resultType\":\"task\"}", "", false, "{\"resultType\":\"task\"}" },
        { "{\"ttlMs\":7,\"cacheScope\":\"public\"}", "", true,
          "{" TYPE ",\"ttlMs\":7,\"cacheScope\":\"public\"}" },
        { "{\"_meta\":{}}", INFO, false, "{" TYPE ",\"_meta\":{" TOLD "}}" },
        { "{\"_meta\":{\"own\":1}}", INFO, false, "{" TYPE ",\"_meta\":{" TOLD ",\"own\":1}}" },
        { "{\"_meta\":{\"" HF_META_SERVER "\":1}}", INFO, false,
          "{" TYPE ",\"_meta\":{\"" HF_META_SERVER "\":1}}" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hf_insert inserts[HF_INSERTS_MAX];
        hf_era_complete(hf_span_of(rows[i].text), hf_span_of(rows[i].info), rows[i].is_cacheable,
                        inserts);
        CHECK(is(with(rows[i].text, inserts), rows[i].completed));
    }
}
