/* main.c - seeds, two workers, and what came of it as TAP.
 *
 *   test_sim                      20,000 seeds (or as many as SIM_SEEDS says)
 *   test_sim --seeds A-B          those; with --progress it says on stderr how far it is
 *   test_sim --seed N [--trace]   that one, with everything that happened in it */
#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sim.h"

enum { WORKERS = 2, FAILURES_MAX = 40, FULL_RUN = 20000, REPLAYS = 50, PROGRESS = 5000 };

static const char *const promise_names[] = {
#define NAME(id, name) name,
    PROMISES(NAME)
#undef NAME
};

static struct sim the_sim;
static bool tells_progress;

static void prepare(struct sim *sim, struct stats *stats, bool trace)
{
    sim->stats = stats;
    sim->trace = trace;
    hf_buf_init(&sim->scratch, SIZE_MAX / 2);
    hf_buf_init(&sim->message, SIZE_MAX / 2);
    hf_buf_init(&sim->got, SIZE_MAX / 2);
    hf_buf_init(&sim->posted, SIZE_MAX / 2);
    cells_watch(stats);
}

static void clean(struct sim *sim)
{
    hf_buf_done(&sim->scratch);
    hf_buf_done(&sim->message);
    hf_buf_done(&sim->got);
    hf_buf_done(&sim->posted);
    for (size_t i = 0; i < CHILDREN; i++) {
        hf_buf_done(&sim->children[i].in);
        hf_buf_done(&sim->children[i].out);
        hf_lines_done(&sim->children[i].lines);
    }
}

static void run_seeds(struct stats *stats, uint64_t from, uint64_t to, uint64_t step, bool trace)
{
    prepare(&the_sim, stats, trace);
    for (uint64_t seed = from; seed <= to && stats->failed_seeds < FAILURES_MAX; seed += step) {
        stats->current_seed = seed;
        sim_run(&the_sim, seed);
        if (tells_progress && seed % PROGRESS == 0)
            fprintf(stderr, "sim: %llu of %llu\n", (unsigned long long)seed,
                    (unsigned long long)to);
    }
    clean(&the_sim);
}

/* What is chosen next depends on everything that happened before. */
static uint64_t digest_of(uint64_t seed)
{
    sim_run(&the_sim, seed);
    return the_sim.random ^ the_sim.now_ms << 32 ^ the_sim.events;
}

static void replay(struct stats *stats, uint64_t from)
{
    static struct stats unused;
    prepare(&the_sim, &unused, false);
    for (uint64_t seed = from; seed < from + REPLAYS; seed++) {
        const uint64_t once = digest_of(seed), again = digest_of(seed);
        stats->inexact += once != again;
    }
    clean(&the_sim);
}

/* ---- sums ---- */

static void add_codes(struct stats *sum, const struct stats *one)
{
    for (size_t i = 0; i < CODES; i++)
        for (size_t k = 0; one->code_count[i] && k < CODES; k++)
            if (!sum->code_count[k] || sum->code[k] == one->code[i]) {
                sum->code[k] = one->code[i];
                sum->code_count[k] += one->code_count[i];
                break;
            }
}

static void add_broken(struct stats *sum, const struct stats *one)
{
    for (size_t p = 0; p < PROMISE_COUNT; p++) {
        const bool first = one->broken[p].count &&
                           (!sum->broken[p].count || one->broken[p].seed < sum->broken[p].seed);
        const uint64_t count = sum->broken[p].count + one->broken[p].count;
        if (first)
            sum->broken[p] = one->broken[p];
        sum->broken[p].count = count;
    }
}

static void add(struct stats *sum, const struct stats *one)
{
    sum->seeds += one->seeds;
    sum->events += one->events;
    sum->spawns += one->spawns;
    sum->deaths += one->deaths;
    sum->calls += one->calls;
    sum->effects += one->effects;
    sum->unknowns += one->unknowns;
    sum->answers_after_death += one->answers_after_death;
    sum->failed_seeds += one->failed_seeds;
    sum->inexact += one->inexact;
    if (!sum->least_events || one->least_events < sum->least_events)
        sum->least_events = one->least_events;
    for (size_t i = 0; i < HF_EVIDENCE_COUNT; i++)
        sum->resends[i] += one->resends[i];
    sum->exchanges += one->exchanges;
    sum->renewals += one->renewals;
    sum->vias += one->vias;
    sum->vias_gone += one->vias_gone;
    sum->modern_clients += one->modern_clients;
    sum->modern_requests += one->modern_requests;
    sum->modern_cancels += one->modern_cancels;
    sum->parked += one->parked;
    sum->exams += one->exams;
    sum->anew += one->anew;
    sum->passed += one->passed;
    sum->rounds += one->rounds;
    sum->given += one->given;
    sum->never += one->never;
    sum->expired += one->expired;
    sum->after_death += one->after_death;
    sum->kept += one->kept;
    for (size_t i = 0; i < RETRY_COUNT; i++)
        sum->retries[i] += one->retries[i];
    for (size_t i = 0; i < LISTENS_COUNT; i++)
        sum->listens[i] += one->listens[i];
    for (size_t i = 0; i < FAULT_COUNT; i++)
        sum->faults[i] += one->faults[i];
    for (size_t i = 0; i < MODERN_COUNT; i++)
        sum->modern[i] += one->modern[i];
    for (size_t v = 0; v < VERB_COUNT; v++)
        for (size_t f = 0; f < FATE_COUNT; f++)
            sum->fates[v][f] += one->fates[v][f];
    for (size_t s = 0; s < HF_SLOT_STATE_COUNT; s++)
        for (size_t e = 0; e < HF_SLOT_EVENT_COUNT; e++)
            sum->slot_cells[s][e] += one->slot_cells[s][e];
    for (size_t s = 0; s < HF_RUNTIME_STATE_COUNT; s++)
        for (size_t e = 0; e < HF_RUNTIME_EVENT_COUNT; e++)
            sum->runtime_cells[s][e] += one->runtime_cells[s][e];
    add_codes(sum, one);
    add_broken(sum, one);
}

/* ---- workers ---- */

/* A worker that dies (an assertion, a sanitizer) leaves the seed it was at. */
static void take_result(struct stats *sum, const struct stats *one, int status)
{
    add(sum, one);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return;
    struct stats died = { 0 };
    died.broken[PROMISE_INNER].count = died.failed_seeds = 1;
    died.broken[PROMISE_INNER].seed = one->current_seed;
    (void)snprintf(died.broken[PROMISE_INNER].text, sizeof died.broken[0].text,
                   "the worker died at it, wait status %d", status);
    add(sum, &died);
}

static void run_workers(struct stats *sum, uint64_t from, uint64_t to)
{
    pid_t pids[WORKERS];
    struct stats *parts = mmap(NULL, WORKERS * sizeof *parts, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (parts == MAP_FAILED)
        abort();
    for (int i = 0; i < WORKERS; i++) {
        pids[i] = fork();
        if (pids[i] < 0)
            abort();
        if (pids[i] == 0) {
            run_seeds(&parts[i], from + (uint64_t)i, to, WORKERS, false);
            memset(&the_sim, 0, sizeof the_sim);
            if (i == 0)
                replay(&parts[i], from);
            exit(0);
        }
    }
    for (int i = 0; i < WORKERS; i++) {
        int status = -1;
        while (waitpid(pids[i], &status, 0) < 0 && errno == EINTR)
            ;
        take_result(sum, &parts[i], status);
    }
    (void)munmap(parts, WORKERS * sizeof *parts);
}

/* ---- telling ---- */

#define NAME(id, name) name,

static void print_counts(const char *what, const char *const *names, const uint64_t *counts,
                         size_t count)
{
    printf("# table: %s:", what);
    for (size_t i = 0; i < count; i++)
        printf("%s %s %llu", i ? "," : "", names[i], (unsigned long long)counts[i]);
    printf("\n");
}

static void print_tables(const struct stats *s)
{
    printf(
        "# table: seeds %llu, events %llu (%.1f a seed, at least %llu), servers %d, clients %d\n",
        (unsigned long long)s->seeds, (unsigned long long)s->events,
        s->seeds ? (double)s->events / (double)s->seeds : 0.0, (unsigned long long)s->least_events,
        SERVERS, CLIENTS);
    printf("# table: processes started %llu, deaths %llu, calls %llu, effects %llu\n",
           (unsigned long long)s->spawns, (unsigned long long)s->deaths,
           (unsigned long long)s->calls, (unsigned long long)s->effects);
    printf("# table: re-sends: unsent %llu, partial %llu, unread %llu, refused %llu, dispatched "
           "(repeatable) %llu; outcome unknown or unreadable %llu; answered after the death %llu\n",
           (unsigned long long)s->resends[HF_EVIDENCE_UNSENT],
           (unsigned long long)s->resends[HF_EVIDENCE_PARTIAL],
           (unsigned long long)s->resends[HF_EVIDENCE_UNREAD],
           (unsigned long long)s->resends[HF_EVIDENCE_REFUSED],
           (unsigned long long)s->resends[HF_EVIDENCE_DISPATCHED], (unsigned long long)s->unknowns,
           (unsigned long long)s->answers_after_death);
    printf("# table: exchanges %llu, sessions made anew %llu; messages of clients over HTTP %llu, "
           "vanished %llu\n",
           (unsigned long long)s->exchanges, (unsigned long long)s->renewals,
           (unsigned long long)s->vias, (unsigned long long)s->vias_gone);
    printf("# table: modern clients %llu, their requests %llu, of which they closed the stream of "
           "%llu\n",
           (unsigned long long)s->modern_clients, (unsigned long long)s->modern_requests,
           (unsigned long long)s->modern_cancels);
    printf("# table: parked calls %llu (%llu in calm, %llu to be sent anew), questions %llu, "
           "answers given with the call %llu, kept for the retry %llu, never come back for %llu\n",
           (unsigned long long)s->parked, (unsigned long long)s->exams, (unsigned long long)s->anew,
           (unsigned long long)s->rounds, (unsigned long long)s->given, (unsigned long long)s->kept,
           (unsigned long long)s->never);
    printf("# table: come again to modern servers %llu\n", (unsigned long long)s->passed);
    printf("# table: retries: answered %llu, twice the same %llu, twice different %llu, in part "
           "%llu, wrongly %llu, tampered %llu, foreign %llu; expired %llu, after death %llu\n",
           (unsigned long long)s->retries[RETRY_ANSWER], (unsigned long long)s->retries[RETRY_SAME],
           (unsigned long long)s->retries[RETRY_OTHER], (unsigned long long)s->retries[RETRY_PART],
           (unsigned long long)s->retries[RETRY_WRONG],
           (unsigned long long)s->retries[RETRY_TAMPERED],
           (unsigned long long)s->retries[RETRY_FOREIGN], (unsigned long long)s->expired,
           (unsigned long long)s->after_death);
    static const char *const listens[] = { LISTENS(NAME) }, *const modern[] = { MODERN(NAME) };
    print_counts("subscriptions/listen of clients", listens, s->listens, LISTENS_COUNT);
    print_counts("the modern era", modern, s->modern, MODERN_COUNT);
    printf("# table: answers by code:");
    for (size_t i = 0; i < CODES; i++)
        if (s->code_count[i])
            printf(" %d:%llu", (int)s->code[i], (unsigned long long)s->code_count[i]);
    printf("\n");
}

static bool tell(const char *program, const struct stats *sum, bool is_full_run)
{
    int number = 0;
    print_tables(sum);
    const bool cells_ok = cells_report(sum, is_full_run);
    const bool faults_ok = faults_report(sum, is_full_run);
    for (size_t p = 0; p < PROMISE_COUNT; p++) {
        const uint64_t count = sum->broken[p].count;
        if (count)
            printf("# seed %llu (the first of %llu): %s\n# replay: %s --seed %llu --trace\n",
                   (unsigned long long)sum->broken[p].seed, (unsigned long long)count,
                   sum->broken[p].text, program, (unsigned long long)sum->broken[p].seed);
        printf("%sok %d - %s\n", count ? "not " : "", ++number, promise_names[p]);
    }
    printf("%sok %d - every_cell_of_state_and_event_is_visited_or_explained\n",
           cells_ok ? "" : "not ", ++number);
    printf("%sok %d - every_fault_and_fate_of_an_exchange_happened_or_is_explained\n",
           faults_ok ? "" : "not ", ++number);
    printf("%sok %d - a_seed_replays_exactly\n", sum->inexact ? "not " : "", ++number);
    const bool was_enough = sum->least_events >= 200 || sum->failed_seeds;
    printf("%sok %d - every_seed_has_at_least_200_events\n", was_enough ? "" : "not ", ++number);
    printf("1..%d\n", number);
    return !sum->inexact && cells_ok && faults_ok && was_enough && !sum->failed_seeds;
}

int main(int argc, char **argv)
{
    static struct stats sum;
    unsigned long long from = 1, to = FULL_RUN, seed = 0;
    const char *seeds = getenv("SIM_SEEDS");
    bool trace = false, one = false;
    if (seeds)
        to = strtoull(seeds, NULL, 10);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--trace") == 0)
            trace = true;
        else if (strcmp(argv[i], "--progress") == 0)
            tells_progress = true;
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            one = sscanf(argv[++i], "%llu", &seed) == 1;
        else if (strcmp(argv[i], "--seeds") != 0 || i + 1 >= argc ||
                 sscanf(argv[++i], "%llu-%llu", &from, &to) != 2) {
            fprintf(stderr, "usage: %s [--seed N [--trace] | --seeds A-B [--progress]]\n", argv[0]);
            return 2;
        }
    }
    if (one)
        run_seeds(&sum, seed, seed, 1, trace);
    else
        run_workers(&sum, from, to);
    return tell(argv[0], &sum, !one && to - from + 1 >= FULL_RUN) ? 0 : 1;
}
