/*
 * many.c - a server with many tools, and one that tells of updates: the far end of lookups.c.
 *
 *   many COUNT           it lists COUNT tools, tool0 to the last
 *   many COUNT PREFIX    their names collide under FNV-1a behind that prefix, in a table of up to
 *                        262,144 buckets
 *
 * A call with a "text" has it tell of an update of the resource of that URI. The text "grow" makes
 * the list longer by a tool, and has it say so; after the text "restless" the list is another one
 * at each look, and it says so each time. A call with the text "hang" is never answered.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "answers.h"

enum { STATES = 1 << 18, PLACES = 9, CHOICES = 4, PIECE = 4, TOOL_SIZE = 128, LINE_SIZE = 65536 };

/* ---- names ---- */

static char pieces[PLACES][CHOICES][PIECE];

static uint32_t fnv(uint32_t state, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        state = (state ^ (unsigned char)bytes[i]) * 16777619u % STATES;
    return state;
}

static void make_piece(unsigned number, char piece[PIECE])
{
    for (unsigned i = 0; i < PIECE; i++, number /= 26)
        piece[i] = (char)('a' + number % 26);
}

/* Four pieces that lead from one state to the same one. The low bits of the hash depend on nothing
 * but themselves, so names are put together of such pieces. */
static uint32_t find_pieces(uint32_t state, char found[CHOICES][PIECE])
{
    static unsigned seen[STATES][CHOICES], count[STATES];
    memset(count, 0, sizeof count);
    for (unsigned i = 0;; i++) {
        char piece[PIECE];
        make_piece(i, piece);
        const uint32_t next = fnv(state, piece, PIECE);
        seen[next][count[next]++] = i;
        for (unsigned j = 0; count[next] == CHOICES && j < CHOICES; j++)
            make_piece(seen[next][j], found[j]);
        if (count[next] == CHOICES)
            return next;
    }
}

static void find_all_pieces(const char *prefix)
{
    uint32_t state = fnv(2166136261u % STATES, prefix, strlen(prefix));
    for (unsigned i = 0; i < PLACES; i++)
        state = find_pieces(state, pieces[i]);
}

static void print_name(unsigned number, bool is_hostile)
{
    if (!is_hostile) {
        printf("tool%u", number);
        return;
    }
    for (unsigned i = 0; i < PLACES; i++)
        (void)fwrite(pieces[i][number >> 2 * i & 3], 1, PIECE, stdout);
}

/* ---- answers ---- */

static bool is(struct piece piece, const char *word)
{
    return piece.n == strlen(word) && memcmp(piece.p, word, piece.n) == 0;
}

static void print_result(struct piece id, const char *result)
{
    printf("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":%s}\n", (int)id.n, id.p, result);
}

static void print_tools(struct piece id, unsigned count, bool is_hostile)
{
    printf("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"tools\":[", (int)id.n, id.p);
    for (unsigned i = 0; i < count; i++) {
        printf("%s{\"name\":\"", i ? "," : "");
        print_name(i, is_hostile);
        printf("\",\"inputSchema\":{\"type\":\"object\"}}");
    }
    printf("]}}\n");
}

static void print_changed(void)
{
    printf("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n");
}

int main(int argc, char **argv)
{
    static char line[LINE_SIZE];
    bool is_restless = false;
    unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    const bool is_hostile = argc > 2;
    if (is_hostile)
        find_all_pieces(argv[2]);
    while (fgets(line, sizeof line, stdin)) {
        const struct piece message = { line, strlen(line) };
        const struct piece id = between(message, "\"id\":", ",}");
        const struct piece method = between(message, "\"method\":\"", "\"");
        const struct piece text = between(message, "\"text\":\"", "\"");
        if (!id.p)
            continue;
        if (is(method, "initialize")) {
            print_result(id, "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{"
                             "\"listChanged\":true},\"resources\":{\"subscribe\":true}},"
                             "\"serverInfo\":{\"name\":"
                             "\"many\",\"version\":\"1\"}}");
        } else if (is(method, "tools/list")) {
            print_tools(id, count, is_hostile);
            if (is_restless) {
                count ^= 1;
                print_changed();
            }
        } else if (is(method, "resources/list")) {
            print_result(id, "{\"resources\":[]}");
        } else if (is(method, "resources/templates/list")) {
            print_result(id, "{\"resourceTemplates\":[]}");
        } else {
            const bool is_call = is(method, "tools/call");
            if (is_call && is(text, "hang"))
                continue;
            const bool grows = is_call && is(text, "grow");
            if (is_call && is(text, "restless"))
                is_restless = true;
            count += grows;
            if (grows || (is_call && is(text, "restless")))
                print_changed();
            else if (is_call && text.n)
                printf("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\","
                       "\"params\":{\"uri\":\"%.*s\"}}\n",
                       (int)text.n, text.p);
            print_result(id, "{\"content\":[]}");
        }
        (void)fflush(stdout);
    }
    return 0;
}
