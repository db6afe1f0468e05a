/*
 * embed.c - a program with an event loop of its own that holds two servers by the public header.
 *
 * It is compiled against include/ and linked with libholdfast.so alone: whatever it needs beyond
 * them is missing from the interface. Its loop is one poll() on hf_fd() with hf_timeout_ms(), and
 * one hf_step(). It never sleeps: what does not come while the loop turns fails after PATIENCE_MS.
 */
#include <holdfast/holdfast.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "test.h"

enum { PATIENCE_MS = 20000, LOOK_MS = 10, TEXT_MAX = 64 * 1024 };

struct inbox {
    struct hf_client *client;
    char text[TEXT_MAX]; /* every message, a line each */
    size_t used;
};

struct host {
    struct hf *hf;
    struct inbox one, two;
    char directory[64];
    int fds_before;
};

static long clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void turn(struct host *host, long until_ms)
{
    struct pollfd in = { .fd = hf_fd(host->hf), .events = POLLIN };
    const long left = until_ms - clock_ms();
    const int asked = hf_timeout_ms(host->hf);
    /* files that a server writes wake no descriptor of ours: they are looked at this often */
    const int most = left < LOOK_MS ? (int)left : LOOK_MS;
    (void)poll(&in, 1, left <= 0 ? 0 : asked >= 0 && asked < most ? asked : most);
    hf_step(host->hf);
}

/* Turns the loop until the condition holds; ends the test if it never does. */
#define REACH(host, condition)                                                                     \
    do {                                                                                           \
        const long until_ = clock_ms() + PATIENCE_MS;                                              \
        while (!(condition) && clock_ms() < until_)                                                \
            turn(host, until_);                                                                    \
        REQUIRE(condition);                                                                        \
    } while (0)

/* ---- a client ---- */

static void on_message(void *context, const char *message, size_t length)
{
    struct inbox *inbox = context;
    if (length + 2 > sizeof inbox->text - inbox->used)
        return;
    memcpy(inbox->text + inbox->used, message, length);
    inbox->used += length;
    inbox->text[inbox->used++] = '\n';
    inbox->text[inbox->used] = '\0';
}

__attribute__((format(printf, 2, 3))) static void say(struct inbox *inbox, const char *format, ...)
{
    char text[1000];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hf_client_send(inbox->client, text, (size_t)n);
}

static void greet(struct inbox *inbox)
{
    say(inbox, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
               "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":"
               "\"embed\",\"version\":\"1\"}}}");
    say(inbox, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

static void call(struct inbox *inbox, int id, const char *tool, const char *arguments)
{
    say(inbox,
        "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\","
        "\"arguments\":%s}}",
        id, tool, arguments);
}

/* Whether a message of that id holds `part`; part "" asks only whether it came. */
static bool says(const struct inbox *inbox, int id, const char *part)
{
    char mark[32];
    snprintf(mark, sizeof mark, "\"id\":%d,", id);
    for (const char *line = inbox->text; *line; line = strchr(line, '\n') + 1) {
        const size_t n = strcspn(line, "\n");
        if (memmem(line, n, mark, strlen(mark)) && memmem(line, n, part, strlen(part)))
            return true;
    }
    return false;
}

static int answers(const struct inbox *inbox, int id)
{
    char mark[32];
    int count = 0;
    snprintf(mark, sizeof mark, "\"id\":%d,", id);
    for (const char *at = inbox->text; (at = strstr(at, mark)); at++)
        count++;
    return count;
}

/* ---- a host ---- */

static int count_fds(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (directory && readdir(directory))
        count++;
    closedir(directory);
    return count;
}

static bool has_children(void)
{
    return waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD;
}

static bool is_alive(long pid)
{
    return pid > 0 && kill((pid_t)pid, 0) == 0;
}

/* The process that a server's newest start wrote down; 0: none yet. */
static long started_pid(const struct host *host, const char *server)
{
    char path[128], line[128];
    long pid = 0;
    snprintf(path, sizeof path, "%s/%s.instances", host->directory, server);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        (void)sscanf(line, "start %ld", &pid);
    if (file)
        fclose(file);
    return pid;
}

static int count_effects(const struct host *host, const char *server)
{
    char path[128];
    int lines = 0;
    snprintf(path, sizeof path, "%s/%s.effects", host->directory, server);
    FILE *file = fopen(path, "re");
    for (int c; file && (c = fgetc(file)) != EOF;)
        lines += c == '\n';
    if (file)
        fclose(file);
    return lines;
}

static void server_json(char *out, size_t size, const struct host *host, const char *name,
                        const char *flag)
{
    const char *build = getenv("HOLDFAST_BUILD");
    snprintf(out, size,
             "\"%s\":{\"command\":\"%s/test/effects\",\"args\":[\"--effects\",\"%s/%s.effects\","
             "\"--instance-log\",\"%s/%s.instances\"%s%s%s]}",
             name, build ? build : "build", host->directory, name, host->directory, name,
             flag ? ",\"" : "", flag ? flag : "", flag ? "\"" : "");
}

static struct hf *open_with(const char *text, char error[HF_ERROR_SIZE])
{
    struct hf *hf = NULL;
    struct hf_config *config = hf_config_new();
    if (hf_config_read(config, text, strlen(text), error) &&
        hf_config_set(config, "reconnect-min-ms", "0", error))
        hf = hf_open(config, error);
    hf_config_free(config);
    return hf;
}

/* What a good host does once. The first holdfast of a process opens a descriptor for good (the
 * guard's program): it is there before anything is counted. */
static void prepare(void)
{
    static bool is_prepared;
    char error[HF_ERROR_SIZE];
    if (is_prepared)
        return;
    is_prepared = true;
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    struct host host = { .hf = open_with("{\"mcpServers\":{\"c\":{\"command\":\"cat\"}}}", error) };
    hf_stop(host.hf);
    while (!hf_is_stopped(host.hf))
        turn(&host, clock_ms() + PATIENCE_MS);
    hf_close(host.hf);
}

/* Two servers, `left` and `right`; `flag` is an option of the left one. */
static bool open_host(struct host *host, const char *flag)
{
    char left[600], right[600], text[1300], error[HF_ERROR_SIZE] = "";
    prepare();
    *host = (struct host) { .fds_before = count_fds() };
    snprintf(host->directory, sizeof host->directory, "/tmp/holdfast-embed-XXXXXX");
    if (!mkdtemp(host->directory))
        return false;
    server_json(left, sizeof left, host, "left", flag);
    server_json(right, sizeof right, host, "right", NULL);
    snprintf(text, sizeof text, "{\"mcpServers\":{%s,%s}}", left, right);
    host->hf = open_with(text, error);
    if (!host->hf) {
        printf("# %s\n", error);
        return false;
    }
    host->one.client = hf_client_open(host->hf, NULL, on_message, &host->one);
    greet(&host->one);
    return true;
}

static void remove_files(const struct host *host)
{
    static const char *const names[] = { "left.effects", "left.instances", "right.effects",
                                         "right.instances" };
    char path[128];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", host->directory, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(host->directory);
}

/* Stops, and looks for whatever was left behind: every test ends here. */
static void close_host(struct host *host)
{
    const long until = clock_ms() + PATIENCE_MS;
    hf_stop(host->hf);
    while (!hf_is_stopped(host->hf) && clock_ms() < until)
        turn(host, until);
    CHECK(hf_is_stopped(host->hf));
    CHECK(!is_alive(started_pid(host, "left")));
    CHECK(!is_alive(started_pid(host, "right")));
    hf_close(host->hf);
    CHECK_EQ(count_fds(), host->fds_before);
    CHECK(!has_children());
    remove_files(host);
}

static bool state_is(struct host *host, const char *server, const char *state)
{
    const char *now = hf_state(host->hf, server);
    return now && strcmp(now, state) == 0;
}

static bool both_connected(struct host *host)
{
    return state_is(host, "left", "connected") && state_is(host, "right", "connected");
}

/* ---- what a host may rely on ---- */

static void use_both_and_kill_one(struct host *host)
{
    REACH(host, both_connected(host) && says(&host->one, 0, "\"result\""));
    call(&host->one, 1, "left__effect", "{\"key\":\"a\"}");
    call(&host->one, 2, "right__effect", "{\"key\":\"b\"}");
    REACH(host, says(&host->one, 1, "\"result\"") && says(&host->one, 2, "\"result\""));

    const long pid = hf_pid(host->hf, "left"), other = hf_pid(host->hf, "right");
    REQUIRE(pid > 0 && other > 0 && kill((pid_t)pid, SIGKILL) == 0);
    call(&host->one, 3, "left__effect", "{\"key\":\"c\"}");
    REACH(host, says(&host->one, 3, ""));
    CHECK(says(&host->one, 3, "\"result\""));
    CHECK(hf_generation(host->hf, "left") == 2 && hf_pid(host->hf, "left") != pid);
    CHECK(hf_generation(host->hf, "right") == 1 && hf_pid(host->hf, "right") == other);
    CHECK(count_effects(host, "left") == 2 && count_effects(host, "right") == 1);
}

TEST(a_server_killed_under_a_foreign_loop_answers_the_next_call_and_the_other_never_noticed)
{
    static struct host host;
    REQUIRE(open_host(&host, NULL));
    use_both_and_kill_one(&host);
    close_host(&host);
}

static void disable_the_hanging(struct host *host)
{
    REACH(host, state_is(host, "right", "connected") && started_pid(host, "left"));
    const long pid = started_pid(host, "left");
    CHECK(state_is(host, "left", "connecting"));
    call(&host->one, 1, "left__effect", "{}"); /* waits for the attempt that is killed now */
    CHECK_EQ(hf_disable(host->hf, "left"), HF_DONE);
    CHECK(state_is(host, "left", "disabling"));
    REACH(host, state_is(host, "left", "disabled"));
    CHECK(!is_alive(pid));
    CHECK(says(&host->one, 1, "-31003"));

    call(&host->one, 2, "left__effect", "{}");
    call(&host->one, 3, "right__effect", "{}");
    REACH(host, says(&host->one, 2, "") && says(&host->one, 3, ""));
    CHECK(says(&host->one, 2, "-31003") && says(&host->one, 3, "\"result\""));
    CHECK_EQ(hf_restart(host->hf, "left"), HF_REFUSED);
    CHECK_EQ(hf_reconnect(host->hf, "left"), HF_REFUSED);
    CHECK_EQ(hf_disable(host->hf, "left"), HF_DONE);
    CHECK(state_is(host, "left", "disabled") && started_pid(host, "left") == pid);
    CHECK_EQ(count_effects(host, "left"), 0);
}

TEST(disable_while_connecting_kills_the_attempt_and_ends_disabled)
{
    static struct host host;
    REQUIRE(open_host(&host, "--hang-start"));
    disable_the_hanging(&host);
    close_host(&host);
}

/* A call in flight keeps the server in `disabling` for as long as it is drained. */
static void enable_and_restart_the_disabling(struct host *host)
{
    REACH(host, both_connected(host));
    const long pid = hf_pid(host->hf, "left");
    call(&host->one, 1, "left__slow", "{\"ms\":150,\"key\":\"drained\"}");
    turn(host, clock_ms()); /* it is written: no longer ours to withdraw */
    CHECK(hf_disable(host->hf, "left") == HF_DONE && state_is(host, "left", "disabling"));
    CHECK(hf_restart(host->hf, "left") == HF_REFUSED && state_is(host, "left", "disabling"));
    CHECK(hf_enable(host->hf, "left") == HF_DONE && state_is(host, "left", "disabling"));
    CHECK(hf_restart(host->hf, "left") == HF_REFUSED && state_is(host, "left", "disabling"));
    call(&host->one, 2, "left__effect", "{}");
    CHECK(says(&host->one, 2, "-31003") && !says(&host->one, 1, ""));

    REACH(host, !state_is(host, "left", "disabling"));
    CHECK(state_is(host, "left", "connecting") && !is_alive(pid));
    CHECK(says(&host->one, 1, "\"result\"") && started_pid(host, "left") == pid);
    REACH(host, state_is(host, "left", "connected"));
    CHECK_EQ(hf_generation(host->hf, "left"), 2);
    call(&host->one, 3, "left__effect", "{}");
    REACH(host, says(&host->one, 3, ""));
    CHECK(says(&host->one, 3, "\"result\"") && count_effects(host, "left") == 2);
}

TEST(enable_while_disabling_waits_for_the_old_tree_and_restart_is_refused)
{
    static struct host host;
    REQUIRE(open_host(&host, NULL));
    enable_and_restart_the_disabling(&host);
    close_host(&host);
}

static void remove_the_busy(struct host *host)
{
    REACH(host, both_connected(host));
    const long pid = hf_pid(host->hf, "left");
    call(&host->one, 1, "left__slow", "{\"ms\":150,\"key\":\"drained\"}");
    turn(host, clock_ms());
    CHECK_EQ(hf_remove(host->hf, "left"), HF_DONE);
    CHECK(is_alive(pid) && !says(&host->one, 1, ""));
    REACH(host, says(&host->one, 1, "") && !is_alive(pid));
    CHECK(says(&host->one, 1, "\"result\"") && count_effects(host, "left") == 1);

    REACH(host, !hf_state(host->hf, "left"));
    call(&host->one, 2, "left__effect", "{}");
    call(&host->one, 3, "right__effect", "{}");
    REACH(host, says(&host->one, 2, "") && says(&host->one, 3, ""));
    CHECK(says(&host->one, 2, "-32602") && says(&host->one, 3, "\"result\""));
    CHECK(hf_pid(host->hf, "left") == 0 && hf_generation(host->hf, "left") == 0);
    CHECK(!hf_reason(host->hf, "left"));
    CHECK_EQ(hf_enable(host->hf, "left"), HF_NO_SUCH_SERVER);
    CHECK_EQ(hf_remove(host->hf, "left"), HF_NO_SUCH_SERVER);
    CHECK(!hf_client_open(host->hf, "left", on_message, &host->two));
}

TEST(remove_drains_the_call_in_flight_and_then_the_names_are_unknown)
{
    static struct host host;
    REQUIRE(open_host(&host, NULL));
    remove_the_busy(&host);
    close_host(&host);
}

static void talk_as_two(struct host *host)
{
    REACH(host, both_connected(host));
    host->two.client = hf_client_open(host->hf, "right", on_message, &host->two);
    REQUIRE(host->two.client);
    greet(&host->two);
    /* the same ids on purpose: each is answered to whoever asked */
    call(&host->one, 1, "right__echo", "{\"text\":\"for the first\"}");
    call(&host->two, 1, "echo", "{\"text\":\"for the second\"}");
    call(&host->one, 2, "right__slow", "{\"ms\":150,\"key\":\"kept\"}");
    call(&host->two, 2, "slow", "{\"ms\":150,\"key\":\"left behind\"}");
    REACH(host, says(&host->one, 1, "") && says(&host->two, 1, ""));
    CHECK(says(&host->one, 1, "for the first") && !says(&host->one, 1, "for the second"));
    CHECK(says(&host->two, 1, "for the second") && !says(&host->two, 1, "for the first"));

    hf_client_close(host->two.client);
    const size_t heard = host->two.used;
    REACH(host, says(&host->one, 2, "\"result\""));
    CHECK_EQ(host->two.used, heard);
    CHECK(answers(&host->one, 1) == 1 && answers(&host->one, 2) == 1);
}

TEST(two_clients_with_the_same_ids_get_their_own_answers_and_one_may_leave)
{
    static struct host host;
    REQUIRE(open_host(&host, NULL));
    talk_as_two(&host);
    close_host(&host);
}

/* hf_close without hf_stop: a host that has no time. */
TEST(close_at_once_leaves_neither_descriptor_nor_process_behind)
{
    static struct host host;
    REQUIRE(open_host(&host, "--hang-close"));
    REACH(&host, both_connected(&host));
    const long left = hf_pid(host.hf, "left"), right = hf_pid(host.hf, "right");
    call(&host.one, 1, "right__slow", "{\"ms\":150}");
    hf_close(host.hf);
    CHECK_EQ(count_fds(), host.fds_before);
    CHECK(!is_alive(left) && !is_alive(right));
    CHECK(!has_children());
    remove_files(&host);
}

TEST(a_host_with_no_client_and_no_time_at_all_leaves_nothing)
{
    static struct host host;
    REQUIRE(open_host(&host, NULL));
    hf_client_close(host.one.client);
    hf_close(host.hf);
    CHECK_EQ(count_fds(), host.fds_before);
    CHECK(!has_children());
    remove_files(&host);
}
