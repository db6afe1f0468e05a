/* cmd_serve.c - `holdfast serve`: the servers of a config file, over HTTP. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "command.h"

/* Percent-encoded for a path: a name may hold any character. */
static void print_encoded(const char *name)
{
    for (; *name; name++)
        if (isalnum((unsigned char)*name) || strchr("-._~", *name))
            (void)putchar(*name);
        else
            printf("%%%02X", (unsigned char)*name);
}

/* Control characters in names and text of servers must not reach the terminal. */
static void print_plain(const char *text)
{
    char room[HF_ERROR_SIZE];
    printf("%s", hf_plain_text(text, room));
}

/* A unix socket has no host for the URLs of its endpoints. */
static bool is_unix(const char *url)
{
    return strncmp(url, "unix:", 5) == 0;
}

static void print_endpoints(const struct hf_config *config, const char *url)
{
    const char *base = is_unix(url) ? "http://localhost" : url;
    printf("listening on %s\n", url);
    printf("  %s/mcp          all servers\n", base);
    for (size_t i = 0; i < hf_config_server_count(config); i++) {
        printf("  %s/mcp/", base);
        print_encoded(hf_config_server_name(config, i));
        printf("\n");
    }
}

static void print_client_config(const struct hf_config *config, const char *url)
{
    printf("\nfor the config of a client:\n\n"
           "{\n"
           "  \"mcpServers\": {\n"
           "    \"holdfast\": {\n"
           "      \"type\": \"http\",\n"
           "      \"url\": \"%s/mcp\"%s\n",
           url, hf_config_has_tokens(config) ? "," : "");
    if (hf_config_has_tokens(config))
        printf("      \"headers\": { \"Authorization\": \"Bearer TOKEN\" }\n");
    printf("    }\n"
           "  }\n"
           "}\n");
}

static void on_listening(const struct serving *serving)
{
    const struct hf_config *config = serving->config;
    const char *url = serving->url;
    print_endpoints(config, url);
    if (is_unix(url))
        printf("\nover that socket, as in: curl --unix-socket %s http://localhost/healthz\n",
               url + 5);
    else
        print_client_config(config, url);
    if (!hf_config_has_tokens(config))
        printf("\nEvery process %s may use these servers: there are no tokens.\n"
               "`holdfast token` makes one. Once the entry that it prints is in the file, only\n"
               "clients with that token are admitted.\n",
               is_unix(url) ? "that may open the socket" : "on this machine");
    (void)fflush(stdout);
}

/* A line for a server that cannot be called now, and why. */
static void print_down(const struct serving *serving, size_t at, const char *state)
{
    const char *name = hf_config_server_name(serving->config, at);
    const char *problem = hf_config_server_problem(serving->config, at);
    const char *reason = problem ? problem : hf_reason(serving->hf, name);
    const char *words = hf_last_stderr(serving->hf, name);
    const bool has_failed = reason && *reason;
    if (!strcmp(state, "permanently_failed"))
        state = "given up";
    else if (has_failed)
        state = "down, retrying";
    else
        state = "still starting";
    print_plain(name);
    printf(": %s", state);
    if (has_failed) {
        printf(": ");
        print_plain(reason);
    }
    if (words && *words) {
        printf("; its last line on stderr: ");
        print_plain(words);
    }
    printf("\n");
}

static void on_settled(const struct serving *serving)
{
    size_t down = 0;
    for (size_t i = 0; i < hf_config_server_count(serving->config); i++) {
        const char *name = hf_config_server_name(serving->config, i);
        const char *state = hf_state(serving->hf, name);
        if (!state || !strcmp(state, "connected") || !strcmp(state, "disconnected") ||
            !strcmp(state, "disabled"))
            continue;
        printf("%s  ", down++ ? "" : "\nnot connected:\n");
        print_down(serving, i, state);
    }
    if (hf_config_server_count(serving->config) == 0)
        printf("\nThere is no server in the file: nothing can be called. `holdfast check` tells "
               "more.\n");
    (void)fflush(stdout);
}

static int run(int argc, char **argv)
{
    struct command_line line;
    int code = EXIT_USAGE;
    if (command_line_read(&line, "serve", argc, argv) && command_line_is_plain(&line, "serve"))
        code = command_line_read_file(&line, "serve")
                   ? serve_http(&line, "serve", on_listening, on_settled)
                   : EXIT_FAILED;
    command_line_done(&line);
    return code;
}

const struct command command_serve = {
    .name = "serve",
    .usage = "holdfast serve [-c FILE] [OPTIONS]",
    .summary = "the servers of a config file, over HTTP",
    .help =
        "Starts every server of the `mcpServers` object in FILE and offers them over HTTP: all of\n"
        "them at /mcp under names like server__tool, each at /mcp/NAME under its own names, and\n"
        "for old clients at /sse. It prints these addresses, and a config to paste into a client.\n"
        "\n"
        "--listen is IP:PORT, [IPv6]:PORT or unix:PATH (default 127.0.0.1:7332); port 0 is any\n"
        "free port. An address that other machines can reach needs tokens in the file.\n"
        "Without -c the file is $XDG_CONFIG_HOME/holdfast/config.json. SIGHUP reads it again and\n"
        "changes only the servers whose entries changed. SIGTERM and SIGINT end it once the calls\n"
        "in flight are answered, a second signal at once.\n",
    .example = "    holdfast serve -c servers.json --listen 127.0.0.1:8080\n",
    .own_options = OPTION_FILE,
    .takes_options = true,
    .run = run,
};
