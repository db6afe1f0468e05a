/*
 * client.c - `make bench`: what holdfast costs beside a byte relay, in one run and one table.
 *
 * One thread keeps N calls in flight to an echo server: straight through pipes, through two `cat`s,
 * through `holdfast run`; to one that writes each answer by itself, as servers do, and to one that
 * batches all it can, which no proxy that reads what it passes on can match. The paths take turns
 * in short rounds, so that whatever else the machine does meets all of them alike, and a ratio is
 * only ever taken within a round. It asserts nothing: a slow machine is no failure.
 *
 *   client HOLDFAST ECHO                                    the table
 *   client HOLDFAST ECHO PATH STYLE IN_FLIGHT LENGTH        one cell, for a profiler and for
 * `turns`; LENGTH: 5 is seconds, 2000x is calls
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include "measure.h"
#include "rig.h"

enum {
    ROUNDS = 7,
    ROUND_MS = 200,
    WARM_MS = 20,
    WARM_CALLS = 500,
    DEPTH_COUNT = 3,
    SLOTS = 64,
    READ_SIZE = 256 * 1024,
    LIFE_S = 300,
    RATE_TARGET_PERCENT = 60,
    DIRTY_TARGET_KB = 4096,
};

static const unsigned depths[DEPTH_COUNT] = { 1, 16, 64 };

struct slot { /* one call in flight; its id is its place */
    char text[256];
    size_t length;
    uint64_t sent_ns; /* 0: not in flight */
};

struct cell {
    double rate[ROUNDS];
    uint64_t calls;
    struct cpu cpu;
    struct latencies latencies;
};

static struct slot slots[SLOTS];
static char in[READ_SIZE];
static size_t in_used;

/* ---- talking ---- */

static void write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        const ssize_t done = write(fd, p, n);
        if (done < 0)
            give_up("write");
        p += done;
        n -= (size_t)done;
    }
}

static void read_more(int fd)
{
    errno = 0;
    const ssize_t n = read(fd, in + in_used, sizeof in - in_used);
    if (n <= 0)
        give_up("the other end closed");
    in_used += (size_t)n;
}

static void greet(const struct rig *rig)
{
    static const char hello[] =
        "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
        "\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}"
        "\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
    write_all(rig->to, hello, sizeof hello - 1);
    in_used = 0;
    do
        read_more(rig->from);
    while (!memchr(in, '\n', in_used));
    in_used = 0;
}

static void make_slots(void)
{
    for (unsigned i = 0; i < SLOTS; i++)
        slots[i].length = (size_t)snprintf(
            slots[i].text, sizeof slots[i].text,
            "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"tools/call\",\"params\":{\"name\":"
            "\"echo\",\"arguments\":{\"text\":\"the quick brown fox jumps over the lazy dog\"}}}\n",
            i);
}

static void send_calls(const struct rig *rig, const unsigned *which, unsigned count)
{
    struct iovec parts[SLOTS];
    size_t total = 0;
    const uint64_t now = clock_ns();
    for (unsigned i = 0; i < count; i++) {
        struct slot *slot = &slots[which[i]];
        slot->sent_ns = now;
        parts[i] = (struct iovec) { slot->text, slot->length };
        total += slot->length;
    }
    /* All that is ever in flight fits an empty pipe, so this takes everything or fails. */
    if (count && writev(rig->to, parts, (int)count) != (ssize_t)total)
        give_up("writev");
}

/* The slot an answer belongs to. */
static unsigned slot_of(const char *line, size_t n)
{
    const char *id = memmem(line, n, "\"id\":", 5);
    const unsigned i = id ? (unsigned)strtoul(id + 5, NULL, 10) : SLOTS;
    errno = 0;
    if (i >= SLOTS || !slots[i].sent_ns || !memmem(line, n, "\"result\":", 9)) {
        fprintf(stderr, "bench: %.*s\n", (int)n, line);
        give_up("an answer that nobody waits for, or an error");
    }
    return i;
}

/* Takes every whole line that is there; returns how many, with their slots in `ret_which`. */
static unsigned take_answers(struct latencies *latencies, unsigned ret_which[SLOTS])
{
    const uint64_t now = clock_ns();
    unsigned count = 0;
    char *at = in;
    for (char *end; (end = memchr(at, '\n', in_used - (size_t)(at - in))); at = end + 1) {
        const unsigned i = slot_of(at, (size_t)(end - at));
        latencies_add(latencies, now - slots[i].sent_ns);
        slots[i].sent_ns = 0;
        ret_which[count++] = i;
    }
    in_used -= (size_t)(at - in);
    memmove(in, at, in_used);
    return count;
}

/* Keeps `depth` calls in flight for a while; returns how many were answered, and in what time. */
static uint64_t load(const struct rig *rig, unsigned depth, struct length length,
                     struct latencies *latencies, double *ret_seconds)
{
    unsigned which[SLOTS] = { 0 }, open = depth;
    uint64_t calls = 0, sent = depth;
    const uint64_t began = clock_ns(), until = began + length.ms * 1000000u;
    for (unsigned i = 0; i < depth; i++)
        which[i] = i;
    send_calls(rig, which, depth);
    while (open) {
        read_more(rig->from);
        const unsigned answered = take_answers(latencies, which);
        const uint64_t left = clock_ns() < until && sent < length.calls ? length.calls - sent : 0;
        const unsigned again = answered < left ? answered : (unsigned)left;
        calls += answered;
        send_calls(rig, which, again);
        sent += again;
        open -= answered - again;
    }
    *ret_seconds = (double)(clock_ns() - began) / 1e9;
    return calls;
}

/* ---- measuring ---- */

static void measure(const struct rig *rig, unsigned depth, unsigned round, struct cell *cell)
{
    struct latencies none = { NULL, 0 };
    double seconds;
    (void)load(rig, depth, for_ms(WARM_MS), &none, &seconds);
    const struct cpu before = rig_cpu(rig);
    const uint64_t calls = load(rig, depth, for_ms(ROUND_MS), &cell->latencies, &seconds);
    const struct cpu after = rig_cpu(rig);
    cell->rate[round] = (double)calls / seconds;
    cell->calls += calls;
    cell->cpu.client += after.client - before.client;
    cell->cpu.between += after.between - before.between;
    cell->cpu.server += after.server - before.server;
}

static void open_rig(struct rig *rig, enum path path, enum style style, char **argv)
{
    rig_start(rig, path, style, argv[1], argv[2]);
    greet(rig);
    rig_find_processes(rig, path);
}

struct sheet { /* of one style of server */
    struct cell cells[PATH_COUNT][DEPTH_COUNT];
};

static void run_round(unsigned round, char **argv, enum style style, struct sheet *sheet,
                      long ret_dirty_kb[2])
{
    for (enum path path = 0; path < PATH_COUNT; path++) {
        struct rig rig;
        open_rig(&rig, path, style, argv);
        for (unsigned d = 0; d < DEPTH_COUNT; d++)
            measure(&rig, depths[d], round, &sheet->cells[path][d]);
        for (unsigned i = 0; path == HOLDFAST && i < rig.between_count; i++)
            ret_dirty_kb[i] = private_dirty_kb(rig.between[i]);
        rig_stop(&rig);
    }
}

/* ---- telling ---- */

static double ratio(const struct cell *cell, const struct cell *to)
{
    double ratios[ROUNDS];
    for (unsigned r = 0; r < ROUNDS; r++)
        ratios[r] = cell->rate[r] / to->rate[r];
    return median(ratios, ROUNDS);
}

static double us_per_call(uint64_t ns, const struct cell *cell)
{
    return (double)ns / 1000.0 / (double)cell->calls;
}

static void print_head(void)
{
    printf("%d rounds of %d ms for each cell, paths in turn, %ld processors; medians of the "
           "rounds\n\n",
           ROUNDS, ROUND_MS, sysconf(_SC_NPROCESSORS_ONLN));
    printf("%-10s %-7s %-9s %9s %9s %8s %8s %12s %9s %9s\n", "in flight", "writes", "path",
           "calls/s", "of relay", "p50 us", "p99 us", "CPU us/call", "of client", "of server");
    (void)fflush(stdout);
}

static void print_table(enum style style, struct sheet *sheet)
{
    for (unsigned d = 0; d < DEPTH_COUNT; d++)
        for (enum path path = 0; path < PATH_COUNT; path++) {
            const struct cell *cell = &sheet->cells[path][d];
            printf("%-10u %-7s %-9s %9.0f %7.0f %% %8.1f %8.1f %12.2f %9.2f %9.2f\n", depths[d],
                   style_name(style), path_name(path), median(cell->rate, ROUNDS),
                   100 * ratio(cell, &sheet->cells[RELAY][d]), latencies_us(&cell->latencies, 0.5),
                   latencies_us(&cell->latencies, 0.99), us_per_call(cell->cpu.between, cell),
                   us_per_call(cell->cpu.client, cell), us_per_call(cell->cpu.server, cell));
        }
}

static void print_targets(struct sheet sheets[STYLE_COUNT], const long dirty_kb[2])
{
    const unsigned deepest = DEPTH_COUNT - 1;
    const long dirty = dirty_kb[0] + dirty_kb[1];
    printf("\n");
    for (enum style style = 0; style < STYLE_COUNT; style++) {
        const double share = 100 * ratio(&sheets[style].cells[HOLDFAST][deepest],
                                         &sheets[style].cells[RELAY][deepest]);
        printf("%u in flight, a server that writes %s: %.0f %% of the relay's calls/s (target: at "
               "least %d %%): %s\n",
               depths[deepest], style == EACH ? "each answer" : "in batches", share,
               RATE_TARGET_PERCENT, share >= RATE_TARGET_PERCENT ? "met" : "NOT MET");
    }
    printf("Private_Dirty under load: holdfast %ld kB + guard %ld kB = %ld kB (target: under %d "
           "kB): %s\n",
           dirty_kb[0], dirty_kb[1], dirty, DIRTY_TARGET_KB,
           dirty < DIRTY_TARGET_KB ? "met" : "NOT MET");
}

static void make_latencies(struct sheet *sheet)
{
    for (enum path path = 0; path < PATH_COUNT; path++)
        for (unsigned d = 0; d < DEPTH_COUNT; d++)
            latencies_init(&sheet->cells[path][d].latencies);
}

static int print_all(char **argv)
{
    static struct sheet sheets[STYLE_COUNT];
    long dirty_kb[2] = { 0, 0 };
    print_head();
    for (enum style style = 0; style < STYLE_COUNT; style++) {
        make_latencies(&sheets[style]);
        for (unsigned round = 0; round < ROUNDS; round++)
            run_round(round, argv, style, &sheets[style], dirty_kb);
        print_table(style, &sheets[style]);
    }
    print_targets(sheets, dirty_kb);
    return 0;
}

static int run_one(char **argv)
{
    enum path path = 0;
    const enum style style = strcmp(argv[4], style_name(BATCH)) == 0 ? BATCH : EACH;
    const unsigned depth = (unsigned)atoi(argv[5]);
    while (path < PATH_COUNT && strcmp(path_name(path), argv[3]) != 0)
        path++;
    errno = 0;
    if (path == PATH_COUNT || depth < 1 || depth > SLOTS)
        give_up("PATH is direct, relay or holdfast; STYLE each or batch; IN_FLIGHT 1 to 64");
    struct rig rig;
    struct latencies none = { NULL, 0 };
    double seconds;
    open_rig(&rig, path, style, argv);
    (void)load(&rig, depth, for_calls(WARM_CALLS), &none, &seconds);
    const struct cpu before = rig_cpu(&rig);
    const uint64_t calls = load(&rig, depth, length_of(argv[6]), &none, &seconds);
    const struct cpu after = rig_cpu(&rig);
    const struct cell cell = { .calls = calls };
    printf("%s, %s, %u in flight: %llu calls, %.0f calls/s, %.3f CPU us per call\n", argv[3],
           style_name(style), depth, (unsigned long long)calls, (double)calls / seconds,
           us_per_call(after.between - before.between, &cell));
    rig_stop(&rig);
    return 0;
}

int main(int argc, char **argv)
{
    const bool is_table = argc == 3;
    if (!is_table && argc != 7) {
        fprintf(stderr, "usage: %s HOLDFAST ECHO [PATH STYLE IN_FLIGHT LENGTH]\n", argv[0]);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    make_slots();
    if (is_table)
        alarm(LIFE_S);
    return is_table ? print_all(argv) : run_one(argv);
}
