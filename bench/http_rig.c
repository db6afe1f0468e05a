/* http_rig.c - see http_rig.h. */
#include "http_rig.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "http_wire.h"
#include "rig.h"

enum { ARGUMENTS_MAX = 16, PATH_SIZE = 1024, START_S = 40, STOP_MS = 10000, TREE_MAX = 64 };

const char *proxy_name(enum proxy proxy)
{
    static const char *const names[PROXY_COUNT] = {
        [NOTHING] = "direct",
        [NGINX] = "nginx",
        [HAPROXY] = "haproxy",
        [OURS] = "holdfast",
        [SUPERGATEWAY] = "supergateway",
        [MCP_PROXY] = "mcp-proxy",
        [MCP_HUB] = "mcp-hub",
        [MCP_HUB_REST] = "mcp-hub-rest",
        [OURS_SSE] = "holdfast-sse",
    };
    return names[proxy];
}

const char *far_name(enum far far)
{
    return far == STDIO ? "HTTP -> stdio" : "HTTP -> HTTP";
}

/* ---- processes ---- */

static pid_t groups[PROXY_COUNT]; /* so that nothing is left when the bench gives up */

static void kill_all(void)
{
    for (unsigned i = 0; i < PROXY_COUNT; i++)
        if (groups[i])
            kill(-groups[i], SIGKILL);
}

void far_end_start(struct far_end *end, const struct places *places)
{
    const char *const argv[] = { places->http_echo, NULL };
    int leash[2], said[2];
    char port[16] = "";
    if (pipe2(leash, O_CLOEXEC) != 0 || pipe2(said, O_CLOEXEC) != 0)
        give_up("pipe");
    end->pid = start_apart(argv, leash[0], said[1], NULL);
    close(leash[0]);
    close(said[1]);
    if (read(said[0], port, sizeof port - 1) <= 0)
        give_up(places->http_echo);
    close(said[0]);
    end->leash = leash[1];
    (void)atexit(kill_all);
    end->port = (unsigned)atoi(port);
}

void far_end_stop(struct far_end *end)
{
    close(end->leash);
    (void)waitpid(end->pid, NULL, 0);
}

/* ---- a tree and its weight ---- */

struct tree {
    pid_t pids[TREE_MAX];
    unsigned count;
};

static bool is_echo(pid_t pid)
{
    char path[64], name[32] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    FILE *file = fopen(path, "re");
    if (file && !fgets(name, sizeof name, file))
        name[0] = '\0';
    if (file)
        fclose(file);
    return strncmp(name, "bench_", 6) == 0;
}

static void add_children(struct tree *tree, pid_t parent, const char *task)
{
    char path[320];
    int pid;
    (void)snprintf(path, sizeof path, "/proc/%d/task/%s/children", (int)parent, task);
    FILE *file = fopen(path, "re");
    while (file && fscanf(file, "%d", &pid) == 1)
        if (tree->count < TREE_MAX && !is_echo(pid))
            tree->pids[tree->count++] = pid;
    if (file)
        fclose(file);
}

static struct tree tree_of(pid_t root)
{
    struct tree tree = { .pids = { root }, .count = 1 };
    for (unsigned i = 0; i < tree.count; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "/proc/%d/task", (int)tree.pids[i]);
        DIR *tasks = opendir(path);
        for (struct dirent *entry; tasks && (entry = readdir(tasks));)
            if (entry->d_name[0] != '.')
                add_children(&tree, tree.pids[i], entry->d_name);
        if (tasks)
            closedir(tasks);
    }
    return tree;
}

static uint64_t rss_of_process(pid_t pid)
{
    char path[64], line[256];
    unsigned long kb = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file) && sscanf(line, "VmRSS: %lu kB", &kb) != 1)
        ;
    if (file)
        fclose(file);
    return kb;
}

static uint64_t sum_over(const struct stand *stand, uint64_t (*weigh)(pid_t pid))
{
    uint64_t sum = 0;
    const struct tree tree = tree_of(stand->pid);
    for (unsigned i = 0; stand->pid && i < tree.count; i++)
        sum += weigh(tree.pids[i]);
    return sum;
}

uint64_t stand_cpu_ns(const struct stand *stand)
{
    return sum_over(stand, cpu_of_process);
}

long stand_rss_kb(const struct stand *stand)
{
    return (long)sum_over(stand, rss_of_process);
}

/* ---- the proxies ---- */

struct command {
    const char *argv[ARGUMENTS_MAX];
    unsigned count;
};

static void add(struct command *command, const char *word)
{
    command->argv[command->count++] = word;
}

struct words { /* of one command line, as long as it is used */
    char node[PATH_SIZE], program[PATH_SIZE], bridge[PATH_SIZE], config[PATH_SIZE];
    char port[16], listen[32], echo[PATH_SIZE], remote[PATH_SIZE * 3], url[64];
};

static void write_config(const char *path, const struct places *places, const char *url,
                         enum far far)
{
    FILE *file = fopen(path, "we");
    if (!file)
        give_up(path);
    if (far == STDIO)
        fprintf(file, "{\"mcpServers\":{\"echo\":{\"command\":\"%s\",\"args\":[\"each\"]}}}\n",
                places->echo);
    else
        fprintf(file, "{\"mcpServers\":{\"echo\":{\"url\":\"%s\"}}}\n", url);
    fclose(file);
}

/* One worker each, as holdfast is one thread; connections are kept in both directions. */
static void write_nginx(FILE *file, const struct places *places, unsigned port, unsigned far_port)
{
    fprintf(file,
            "daemon off; master_process off; worker_processes 1; pid %s/nginx.pid;\n"
            "events { worker_connections 1024; }\n"
            "http { access_log off; keepalive_requests 1000000000; client_max_body_size 16m;\n",
            places->scratch);
    static const char *const rooms[] = { "client_body", "proxy", "fastcgi", "uwsgi", "scgi" };
    for (unsigned i = 0; i < sizeof rooms / sizeof *rooms; i++)
        fprintf(file, "%s_temp_path %s/nginx-%s;\n", rooms[i], places->scratch, rooms[i]);
    fprintf(file,
            "upstream echo { server 127.0.0.1:%u; keepalive 64; keepalive_requests 1000000000; }\n"
            "server { listen 127.0.0.1:%u; location / { proxy_pass http://echo;\n"
            "proxy_http_version 1.1; proxy_set_header Connection \"\"; } } }\n",
            far_port, port);
}

static void write_haproxy(FILE *file, unsigned port, unsigned far_port)
{
    fprintf(file,
            "global\n  nbthread 1\n  maxconn 1000\n"
            "defaults\n  mode http\n  http-reuse always\n  timeout connect 5s\n"
            "  timeout client 1m\n  timeout server 1m\n"
            "frontend in\n  bind 127.0.0.1:%u\n  default_backend out\n"
            "backend out\n  server echo 127.0.0.1:%u\n",
            port, far_port);
}

static void write_relay(const char *path, const struct stand *stand, const struct places *places,
                        unsigned far_port)
{
    FILE *file = fopen(path, "we");
    if (!file)
        give_up(path);
    if (stand->proxy == NGINX)
        write_nginx(file, places, stand->target.port, far_port);
    else
        write_haproxy(file, stand->target.port, far_port);
    fclose(file);
}

/* Debian has them where only root looks. */
static bool find_relay(enum proxy proxy, char *ret_path, size_t size)
{
    static const char *const folders[] = { "/usr/sbin", "/usr/local/sbin", "/usr/bin",
                                           "/usr/local/bin" };
    for (unsigned i = 0; i < sizeof folders / sizeof *folders; i++) {
        (void)snprintf(ret_path, size, "%s/%s", folders[i], proxy_name(proxy));
        if (access(ret_path, X_OK) == 0)
            return true;
    }
    return false;
}

static void fill_words(struct words *words, const struct stand *stand, const struct places *places,
                       enum far far, const struct far_end *end)
{
    static const char *const programs[PROXY_COUNT] = {
        [SUPERGATEWAY] = "supergateway/dist/index.js",
        [MCP_PROXY] = "mcp-proxy/dist/bin/mcp-proxy.mjs",
        [MCP_HUB] = "mcp-hub/dist/cli.js",
        [MCP_HUB_REST] = "mcp-hub/dist/cli.js",
    };
    const unsigned port = stand->target.port;
    (void)snprintf(words->node, sizeof words->node, "%s/.bin/node", places->npm);
    if (access(words->node, X_OK) != 0)
        (void)snprintf(words->node, sizeof words->node, "node");
    (void)snprintf(words->program, sizeof words->program, "%s/%s", places->npm,
                   programs[stand->proxy] ? programs[stand->proxy] : "");
    (void)snprintf(words->bridge, sizeof words->bridge, "%s/%s", places->npm,
                   programs[SUPERGATEWAY]);
    (void)snprintf(words->port, sizeof words->port, "%u", port);
    (void)snprintf(words->listen, sizeof words->listen, "127.0.0.1:%u", port);
    (void)snprintf(words->url, sizeof words->url, "http://127.0.0.1:%u/mcp", end->port);
    (void)snprintf(words->echo, sizeof words->echo, "%s each", places->echo);
    (void)snprintf(words->remote, sizeof words->remote, "%s %s --logLevel none --streamableHttp %s",
                   words->node, words->bridge, words->url);
    (void)snprintf(words->config, sizeof words->config, "%s/%s-%d.json", places->scratch,
                   proxy_name(stand->proxy), (int)far);
    if (stand->proxy != NGINX && stand->proxy != HAPROXY) {
        write_config(words->config, places, words->url, far);
        return;
    }
    (void)find_relay(stand->proxy, words->program, sizeof words->program);
    write_relay(words->config, stand, places, end->port);
}

/* The last words of mcp-proxy: a command of its own for the server. */
static void add_server(struct command *command, const struct words *words,
                       const struct places *places, enum far far)
{
    const char *const stdio[] = { places->echo, "each", NULL };
    const char *const http[] = { words->node,        words->bridge, "--logLevel", "none",
                                 "--streamableHttp", words->url,    NULL };
    for (const char *const *word = far == STDIO ? stdio : http; *word; word++)
        add(command, *word);
}

static void make_command(struct command *command, const struct words *words, enum proxy proxy,
                         const struct places *places, enum far far)
{
    const char *const ours[] = { places->holdfast, "serve",       "-c",   words->config, "--listen",
                                 words->listen,    "--log-level", "warn", NULL };
    const char *const supergateway[] = { words->node,
                                         words->program,
                                         "--stdio",
                                         far == STDIO ? words->echo : words->remote,
                                         "--outputTransport",
                                         "streamableHttp",
                                         "--stateful",
                                         "--logLevel",
                                         "none",
                                         "--port",
                                         words->port,
                                         NULL };
    const char *const mcp_proxy[] = { words->node, words->program, "--host", "127.0.0.1",
                                      "--port",    words->port,    "--",     NULL };
    const char *const mcp_hub[] = { words->node, words->program, "--port", words->port,
                                    "--config",  words->config,  NULL };
    const char *const nginx[] = { words->program, "-c", words->config, "-e", "stderr", NULL };
    const char *const haproxy[] = { words->program, "-db", "-f", words->config, NULL };
    const char *const *const lines[PROXY_COUNT] = {
        [NGINX] = nginx,         [HAPROXY] = haproxy,      [OURS] = ours,
        [OURS_SSE] = ours,       [MCP_HUB] = mcp_hub,      [SUPERGATEWAY] = supergateway,
        [MCP_PROXY] = mcp_proxy, [MCP_HUB_REST] = mcp_hub,
    };
    for (const char *const *word = lines[proxy]; *word; word++)
        add(command, *word);
    if (proxy == MCP_PROXY)
        add_server(command, words, places, far);
}

static bool is_up(struct stand *stand)
{
    const uint64_t until = clock_ns() + START_S * 1000000000ull;
    while (clock_ns() < until) {
        if (target_greet(&stand->target))
            return true;
        if (stand->pid && waitpid(stand->pid, NULL, WNOHANG) == stand->pid) {
            stand->pid = 0;
            return false;
        }
        usleep(50000);
    }
    return false;
}

bool stand_start(struct stand *stand, enum proxy proxy, enum far far, const struct places *places,
                 const struct far_end *end)
{
    static const struct target endpoints[PROXY_COUNT] = {
        [NOTHING] = { .path = "/mcp", .tool = "echo" },
        [NGINX] = { .path = "/mcp", .tool = "echo" },
        [HAPROXY] = { .path = "/mcp", .tool = "echo" },
        [OURS] = { .path = "/mcp/echo", .tool = "echo" },
        [OURS_SSE] = { .path = "/sse/echo", .tool = "echo", .tongue = OLD_SSE },
        [SUPERGATEWAY] = { .path = "/mcp", .tool = "echo" },
        [MCP_PROXY] = { .path = "/mcp", .tool = "echo" },
        [MCP_HUB] = { .path = "/mcp", .tool = "echo__echo", .tongue = OLD_SSE },
        [MCP_HUB_REST] = { .path = "/api/servers/tools",
                           .tool = "\"server_name\":\"echo\",\"tool\":\"echo\"",
                           .tongue = REST },
    };
    char log[PATH_SIZE];
    struct words words;
    struct command command = { .count = 0 };
    *stand = (struct stand) { .proxy = proxy, .target = endpoints[proxy] };
    if ((proxy == NGINX || proxy == HAPROXY) &&
        (far == STDIO || !find_relay(proxy, log, sizeof log))) {
        printf("%s is not installed, or cannot serve %s: it is left out (scripts/setup bench "
               "installs it)\n",
               proxy_name(proxy), far_name(far));
        return false;
    }
    stand->target.port = proxy == NOTHING ? end->port : free_port();
    if (proxy != NOTHING) {
        fill_words(&words, stand, places, far, end);
        make_command(&command, &words, proxy, places, far);
        (void)snprintf(log, sizeof log, "%s/%s-%d.log", places->scratch, proxy_name(proxy),
                       (int)far);
        stand->pid = groups[proxy] = start_apart(command.argv, -1, -1, log);
    }
    if (is_up(stand))
        return true;
    printf("%s does not serve %s; it is left out%s%s\n", proxy_name(proxy), far_name(far),
           proxy == NOTHING ? "" : ", and its words are in ", proxy == NOTHING ? "" : log);
    stand_stop(stand);
    return false;
}

void stand_stop(struct stand *stand)
{
    if (!stand->pid)
        return;
    kill(-stand->pid, SIGTERM);
    for (unsigned waited = 0; waited < STOP_MS; waited += 10) {
        if (waitpid(stand->pid, NULL, WNOHANG) == stand->pid)
            break;
        usleep(10000);
    }
    kill(-stand->pid, SIGKILL); /* and whatever it left behind */
    (void)waitpid(stand->pid, NULL, WNOHANG);
    stand->pid = groups[stand->proxy] = 0;
}
