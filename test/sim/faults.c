/* faults.c - which faults of remote servers happened, how exchanges ended, and why some did not. */
#include "sim.h"

#define NAME(id, name) name,
static const char *const fault_names[] = { FAULTS(NAME) };
static const char *const fate_names[] = { FATES(NAME) };
static const char *const verbs[] = { "message", "listen", "resume", "goodbye" };

/* What no seed can show, and why. */
static const struct {
    enum hf_remote_exchange_kind verb;
    enum fate fate;
    const char *why;
} excuses[] = {
    { HF_EXCHANGE_STREAM, FATE_S3XX, "only requests are redirected here" },
    { HF_EXCHANGE_RESUME, FATE_S3XX, "only requests are redirected here" },
    { HF_EXCHANGE_DELETE, FATE_S3XX, "only requests are redirected here" },
};

static const char *excuse_for(size_t verb, size_t fate)
{
    for (size_t i = 0; i < sizeof excuses / sizeof *excuses; i++)
        if (excuses[i].verb == verb && excuses[i].fate == fate)
            return excuses[i].why;
    return NULL;
}

/* False: never seen and unexplained, or seen and explained. */
static bool report_fate(const struct stats *stats, size_t verb, size_t fate, bool is_full_run)
{
    const uint64_t count = stats->fates[verb][fate];
    const char *why = excuse_for(verb, fate);
    if (why && !count)
        printf("# table: post %s × %s never seen: %s\n", verbs[verb], fate_names[fate], why);
    else if (why)
        printf("# post %s × %s was seen, although it is explained that it cannot be\n", verbs[verb],
               fate_names[fate]);
    else if (!count && is_full_run)
        printf("# post %s × %s was never seen, and nothing says why\n", verbs[verb],
               fate_names[fate]);
    return why ? !count : count || !is_full_run;
}

bool faults_report(const struct stats *stats, bool is_full_run)
{
    bool ok = true;
    for (size_t verb = 0; verb < VERB_COUNT; verb++) {
        printf("# table: post %-8s", verbs[verb]);
        for (size_t fate = 0; fate < FATE_COUNT; fate++)
            printf(" %s:%llu", fate_names[fate], (unsigned long long)stats->fates[verb][fate]);
        putchar('\n');
    }
    for (size_t i = 0; i < FAULT_COUNT; i++) {
        printf("# table: fault %-38s %llu\n", fault_names[i], (unsigned long long)stats->faults[i]);
        if (!stats->faults[i] && is_full_run)
            ok = false;
    }
    for (size_t verb = 0; verb < VERB_COUNT; verb++)
        for (size_t fate = 0; fate < FATE_COUNT; fate++)
            ok &= report_fate(stats, verb, fate, is_full_run);
    return ok;
}
