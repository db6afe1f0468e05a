/*
 * http_client.c - `make bench` over HTTP: holdfast beside the proxies that people use, in one run.
 *
 * One thread keeps one call in flight on each of 1, 16 and 64 keep-alive connections, through each
 * proxy in turn, to an echo server behind it over stdio and over HTTP. All proxies stand at the
 * same time and take turns in short rounds, so that whatever else the machine does meets all of
 * them alike. It asserts nothing: a slow machine is no failure.
 *
 *   http_client HOLDFAST ECHO HTTP_ECHO NODE_MODULES SCRATCH [PROXY stdio|http CONNECTIONS LENGTH]
 *
 * With the last four it is one cell alone, for a profiler and for `turns`. LENGTH: 5 is seconds,
 * 2000x is calls. PROXY holdfast-sse is holdfast spoken to in HTTP+SSE, which the table leaves out.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "http_rig.h"
#include "rig.h"

enum {
    ROUNDS = 11,
    ROUND_MS = 500,
    WARM_MS = 100,
    WARM_CALLS = 500,
    WIDTH_COUNT = 3,
    LIFE_S = 900,
    LOOK_MS = 20, /* at who still works, before a round */
    LOOKS_MAX = 50,
};

static const unsigned widths[WIDTH_COUNT] = { 1, 16, 64 };

struct cell {
    double rate[ROUNDS];
    uint64_t calls, cpu_ns;
    struct latencies latencies;
};

struct column { /* one proxy */
    struct stand stand;
    bool is_there;
    struct cell cells[WIDTH_COUNT];
    long rss_kb;
};

struct sheet {
    struct column columns[IN_TABLE];
};

/* ---- measuring ---- */

static uint64_t cpu_of_all(const struct sheet *sheet)
{
    uint64_t sum = 0;
    for (enum proxy proxy = 0; proxy < IN_TABLE; proxy++)
        if (sheet->columns[proxy].is_there)
            sum += stand_cpu_ns(&sheet->columns[proxy].stand);
    return sum;
}

/* Whoever was measured last may still tidy up behind its load (64 connections closed, garbage
 * collected): that is not to be paid by the next one. Waits until all of them together use less
 * than a twentieth of a processor. */
static void wait_until_quiet(const struct sheet *sheet)
{
    uint64_t before = cpu_of_all(sheet);
    for (int look = 0; look < LOOKS_MAX; look++) {
        (void)usleep(LOOK_MS * 1000);
        const uint64_t now = cpu_of_all(sheet);
        if (now - before < LOOK_MS * 1000000u / 20)
            return;
        before = now;
    }
}

static void measure(struct column *column, unsigned width, unsigned round)
{
    struct cell *cell = &column->cells[width];
    const struct target *target = &column->stand.target;
    struct latencies none = { NULL, 0 };
    struct load load;
    column->is_there = target_load(target, widths[width], for_ms(WARM_MS), &none, &load);
    const uint64_t before = stand_cpu_ns(&column->stand);
    column->is_there = column->is_there && target_load(target, widths[width], for_ms(ROUND_MS),
                                                       &cell->latencies, &load);
    cell->cpu_ns += stand_cpu_ns(&column->stand) - before;
    cell->rate[round] = (double)load.calls / load.seconds;
    cell->calls += load.calls;
    if (!column->is_there) {
        printf("%s failed under load and is left out\n", proxy_name(column->stand.proxy));
        stand_stop(&column->stand);
    }
}

static void measure_all(struct sheet *sheet, enum far far, const struct places *places,
                        const struct far_end *end)
{
    for (enum proxy proxy = far == HTTP ? NOTHING : OURS; proxy < IN_TABLE; proxy++) {
        struct column *column = &sheet->columns[proxy];
        column->is_there = stand_start(&column->stand, proxy, far, places, end);
        for (unsigned w = 0; w < WIDTH_COUNT; w++)
            latencies_init(&column->cells[w].latencies);
    }
    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned w = 0; w < WIDTH_COUNT; w++)
            for (enum proxy proxy = 0; proxy < IN_TABLE; proxy++)
                if (sheet->columns[proxy].is_there) {
                    wait_until_quiet(sheet);
                    measure(&sheet->columns[proxy], w, round);
                }
    for (enum proxy proxy = 0; proxy < IN_TABLE; proxy++)
        if (sheet->columns[proxy].is_there) {
            sheet->columns[proxy].rss_kb = stand_rss_kb(&sheet->columns[proxy].stand);
            stand_stop(&sheet->columns[proxy].stand);
        }
}

/* ---- telling ---- */

static double rate_of(const struct cell *cell)
{
    return median(cell->rate, ROUNDS);
}

/* How many times as fast: the median of the rounds' own ratios. A round is a few seconds, and the
 * moods of a shared machine last longer: both were measured in the same one. */
static double times_as_fast(const struct cell *cell, const struct cell *other)
{
    double ratio[ROUNDS];
    for (unsigned round = 0; round < ROUNDS; round++)
        ratio[round] = cell->rate[round] / other->rate[round];
    return median(ratio, ROUNDS);
}

static double cpu_of(const struct cell *cell)
{
    return (double)cell->cpu_ns / 1000.0 / (double)cell->calls;
}

static void print_sheet(const struct sheet *sheet, enum far far)
{
    printf("\n%-14s %-13s %11s %9s %9s %9s %12s %9s\n", "", "proxy", "connections", "calls/s",
           "p50 us", "p99 us", "CPU us/call", "RSS kB");
    for (unsigned w = 0; w < WIDTH_COUNT; w++)
        for (enum proxy proxy = 0; proxy < IN_TABLE; proxy++) {
            const struct column *column = &sheet->columns[proxy];
            const struct cell *cell = &column->cells[w];
            if (column->is_there)
                printf("%-14s %-13s %11u %9.0f %9.1f %9.1f %12.1f %9ld\n", far_name(far),
                       proxy_name(proxy), widths[w], rate_of(cell),
                       latencies_us(&cell->latencies, 0.5), latencies_us(&cell->latencies, 0.99),
                       cpu_of(cell), column->rss_kb);
        }
    (void)fflush(stdout);
}

static void print_ratio(const char *what, double ratio, unsigned target)
{
    printf("  %-26s %6.1f times", what, ratio);
    if (target)
        printf(" (target: at least %u): %s", target, ratio >= target ? "met" : "NOT MET");
    printf("\n");
}

/* They only pass bytes on: what of that is left of us, and what we take for it. */
static void print_share(const char *relay, const struct cell *its, const struct cell *mine)
{
    printf("  beside %-19s %6.2f of its calls/s, %.2f of its CPU per call\n", relay,
           times_as_fast(mine, its), cpu_of(mine) / cpu_of(its));
}

/* The fastest of those that speak MCP, at the widest; NULL: none is there. */
static const struct column *fastest(const struct sheet *sheet)
{
    const struct column *best = NULL;
    for (enum proxy proxy = SUPERGATEWAY; proxy <= MCP_HUB; proxy++) {
        const struct column *column = &sheet->columns[proxy];
        const struct cell *cell = &column->cells[WIDTH_COUNT - 1];
        if (column->is_there && (!best || rate_of(cell) > rate_of(&best->cells[WIDTH_COUNT - 1])))
            best = column;
    }
    return best;
}

static void print_ratios(const struct sheet *sheet, enum far far)
{
    const unsigned widest = WIDTH_COUNT - 1;
    const struct column *ours = &sheet->columns[OURS], *best = fastest(sheet);
    const struct column *rest = &sheet->columns[MCP_HUB_REST];
    if (!ours->is_there || !best)
        return;
    const struct cell *mine = &ours->cells[widest], *its = &best->cells[widest];
    printf("%s, %u connections, holdfast beside the fastest of the others (%s):\n", far_name(far),
           widths[widest], proxy_name(best->stand.proxy));
    print_ratio("calls/s", times_as_fast(mine, its), far == STDIO ? 25 : 8);
    print_ratio("less CPU per call", cpu_of(its) / cpu_of(mine), far == STDIO ? 25 : 0);
    print_ratio("less RSS", (double)best->rss_kb / (double)ours->rss_kb, far == STDIO ? 10 : 0);
    for (enum proxy relay = NGINX; relay <= HAPROXY; relay++)
        if (sheet->columns[relay].is_there)
            print_share(proxy_name(relay), &sheet->columns[relay].cells[widest], mine);
    if (rest->is_there)
        print_ratio("calls/s, mcp-hub's REST", times_as_fast(mine, &rest->cells[widest]), 0);
}

static int print_all(const struct places *places)
{
    static struct sheet sheets[FAR_COUNT];
    struct far_end end;
    printf("\n%d rounds of %d ms for each cell, proxies in turn, %ld processors; medians of the "
           "rounds, and of their ratios\n",
           ROUNDS, ROUND_MS, sysconf(_SC_NPROCESSORS_ONLN));
    (void)fflush(stdout);
    far_end_start(&end, places);
    for (enum far far = 0; far < FAR_COUNT; far++) {
        measure_all(&sheets[far], far, places, &end);
        print_sheet(&sheets[far], far);
    }
    printf("\n");
    for (enum far far = 0; far < FAR_COUNT; far++)
        print_ratios(&sheets[far], far);
    far_end_stop(&end);
    return 0;
}

/* One cell, for a profiler. */
static int run_one(const struct places *places, char **argv)
{
    enum proxy proxy = 0;
    const enum far far = strcmp(argv[1], "http") == 0 ? HTTP : STDIO;
    const unsigned width = (unsigned)atoi(argv[2]);
    while (proxy < PROXY_COUNT && strcmp(proxy_name(proxy), argv[0]) != 0)
        proxy++;
    errno = 0;
    if (proxy == PROXY_COUNT || width < 1 || width > CONNECTIONS_MAX)
        give_up("PROXY is direct, nginx, haproxy, holdfast, holdfast-sse, supergateway, mcp-proxy "
                "or mcp-hub; "
                "CONNECTIONS 1 to 64");
    struct far_end end;
    struct stand stand;
    struct cell cell = { .calls = 0 };
    struct load load;
    far_end_start(&end, places);
    if (!stand_start(&stand, proxy, far, places, &end))
        return 1;
    latencies_init(&cell.latencies);
    struct latencies none = { NULL, 0 };
    if (!target_load(&stand.target, width, for_calls(WARM_CALLS), &none, &load))
        return 1;
    const uint64_t before = stand_cpu_ns(&stand);
    if (!target_load(&stand.target, width, length_of(argv[3]), &cell.latencies, &load))
        return 1;
    cell.calls = load.calls;
    cell.cpu_ns = stand_cpu_ns(&stand) - before;
    printf("%s, %s, %u connections: %llu calls, %.0f calls/s, p50 %.1f us, p99 %.1f us, %.3f CPU "
           "us per call, "
           "RSS %ld kB\n",
           argv[0], far_name(far), width, (unsigned long long)load.calls,
           (double)load.calls / load.seconds, latencies_us(&cell.latencies, 0.5),
           latencies_us(&cell.latencies, 0.99), cpu_of(&cell), stand_rss_kb(&stand));
    stand_stop(&stand);
    far_end_stop(&end);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 6 && argc != 10) {
        fprintf(stderr,
                "usage: %s HOLDFAST ECHO HTTP_ECHO NODE_MODULES SCRATCH [PROXY stdio|http "
                "CONNECTIONS LENGTH]\n",
                argv[0]);
        return 2;
    }
    const struct places places = { argv[1], argv[2], argv[3], argv[4], argv[5] };
    signal(SIGPIPE, SIG_IGN);
    (void)mkdir(places.scratch, 0755);
    (void)setenv("HOME", places.scratch, 1); /* mcp-hub writes its state there */
    if (argc == 10)
        return run_one(&places, argv + 6);
    alarm(LIFE_S);
    return print_all(&places);
}
