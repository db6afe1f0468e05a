/*
 * holdfast.h - the public door of libholdfast.
 *
 * libholdfast keeps connections to MCP servers alive for its clients and gives every request
 * exactly one truthful answer. It runs on the caller's thread and event loop: poll hf_fd() for
 * input, wait at most hf_timeout_ms(), call hf_step(). No function blocks, except hf_run, and
 * hf_close for as long as it takes to reap what it killed. All types are opaque.
 *
 * Callbacks come from inside hf_step and the calls below; any function may be called from them
 * except hf_close. A program should ignore SIGPIPE, and should call hf_adopt_orphans, or else
 * be a child subreaper (prctl PR_SET_CHILD_SUBREAPER), if a killed guard must not leave a server's
 * processes behind.
 */
#ifndef HOLDFAST_H
#define HOLDFAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HF_API __attribute__((visibility("default")))

struct hf;        /* one holdfast: servers, clients and the calls between them */
struct hf_client; /* one client in this process */
struct hf_config;

enum { HF_ERROR_SIZE = 512 }; /* of the text that says why a function returned NULL or false */

HF_API const char *hf_version(void);

/* For a program that has no children but those of holdfast, before its first hf_open: it becomes a
 * child subreaper, and every other process that becomes its child is killed. A subreaper that does
 * not call this kills only what it can recognise: a process that leaves its session and clears its
 * environment, and whose guard was killed, it cannot. */
HF_API void hf_adopt_orphans(void);

/* ---- configuration ---- */

HF_API struct hf_config *hf_config_new(void);
HF_API void hf_config_free(struct hf_config *config); /* NULL accepted */
/* The `mcpServers` file; comments and trailing commas are no mistake. Refused whole, with line and
 * key, if it is wrong: `error` has the first reason, hf_config_check then reports each, and nothing
 * else can be done with that config but hf_config_free. */
HF_API bool hf_config_read(struct hf_config *config, const char *text, size_t length,
                           char error[HF_ERROR_SIZE]);
HF_API bool hf_config_read_file(struct hf_config *config, const char *path,
                                char error[HF_ERROR_SIZE]);
/* One server from a command line; argv ends in NULL. `name` NULL: after what the command
 * starts, so that `npx -y @scope/server-foo` is a server-foo. */
HF_API bool hf_config_command(struct hf_config *config, const char *name, char *const *argv,
                              char error[HF_ERROR_SIZE]);
/* A remote server by its http or https URL. `name` NULL: after its host. */
HF_API bool hf_config_url(struct hf_config *config, const char *name, const char *url,
                          char error[HF_ERROR_SIZE]);
/* An option by its command line name, "wait-ms"; before or after the servers are added. */
HF_API bool hf_config_set(struct hf_config *config, const char *option, const char *value,
                          char error[HF_ERROR_SIZE]);
/* One header for remote servers, "Name: value" or "Name=value"; ${VAR} in its value is replaced. */
HF_API bool hf_config_header(struct hf_config *config, const char *header,
                             char error[HF_ERROR_SIZE]);
/* Whether there is such an option, and whether it means something to "run", "bridge", "stdio",
 * "serve" or "check"; `command` NULL: to any of them. */
HF_API bool hf_config_knows(const char *option, const char *command);
/* Reports, one line each, what is wrong with the file, what would keep servers or the HTTP front
 * from starting, and warnings. Returns how many problems there are. Secrets are not in it. */
HF_API size_t hf_config_check(struct hf_config *config,
                              void (*say)(void *context, const char *line), void *context);
HF_API size_t hf_config_server_count(const struct hf_config *config);
/* In the file's order; NULL from the count on. Lives as long as the config, until it is added to.
 */
HF_API const char *hf_config_server_name(const struct hf_config *config, size_t at);
/* Why that server cannot be started, by what is known without starting it; NULL: nothing is. */
HF_API const char *hf_config_server_problem(const struct hf_config *config, size_t at);
HF_API bool hf_config_has_tokens(const struct hf_config *config); /* else everybody may come in */
/* For --help: the options of a command, aligned, the common ones or `all`, and how many were left
 * out. Lives until the next call. */
HF_API const char *hf_options_text(const char *command, bool all, size_t *ret_left_out);

/* The nearest of `known`, which ends in NULL, that a mistyped word can mean; NULL if none is near.
 */
HF_API const char *hf_did_you_mean(const char *word, const char *const *known);

/* `text` as a terminal may show it: what it would obey is escaped, and what is too long is cut. */
HF_API const char *hf_plain_text(const char *text, char room[HF_ERROR_SIZE]);

/* A new token for a client of the HTTP front, and the entry of holdfast.tokens that lets it in.
 * They are stored nowhere. */
enum { HF_TOKEN_SIZE = 80 };
HF_API bool hf_token_make(const char *name, char ret_token[HF_TOKEN_SIZE],
                          char ret_entry[HF_ERROR_SIZE], char error[HF_ERROR_SIZE]);

/* ---- life ---- */

/* Starts the servers. The config stays the caller's and may be freed. */
HF_API struct hf *hf_open(const struct hf_config *config, char error[HF_ERROR_SIZE]);
/* The servers of a newer config: what is gone is removed, what is new is started, what its process
 * was started with is restarted, everything else is taken over as it runs. The limits of the whole
 * process and the log stay as they were. Tokens, hosts and origins are taken over; sessions of
 * tokens that are gone are closed. Where other machines can come in, the last token stays. */
HF_API void hf_reload(struct hf *hf, const struct hf_config *config);
/* One log line for each thing worth knowing, to a descriptor that stays the caller's. */
HF_API bool hf_log_to(struct hf *hf, int fd, char error[HF_ERROR_SIZE]);
/* After hf_log_to: the same, at least from level info on, in `KIND-NAME.log` of the config's state
 * directory (`KIND.log` if `name` is NULL), which is made if it is missing. It is kept under two
 * megabytes; several processes may have the same one. */
HF_API bool hf_log_keep_as(struct hf *hf, const struct hf_config *config, const char *kind,
                           const char *name, char error[HF_ERROR_SIZE]);
/* Waiting calls are answered now, dispatched ones have drainMs; then every server is closed. */
HF_API void hf_stop(struct hf *hf);
HF_API bool hf_is_stopped(const struct hf *hf);
HF_API void hf_close(struct hf *hf); /* at once; what still runs is killed. NULL accepted */

HF_API int hf_fd(const struct hf *hf);
HF_API int hf_timeout_ms(struct hf *hf); /* -1: no need to wake up by time */
HF_API void hf_step(struct hf *hf);
HF_API void hf_run(struct hf *hf); /* steps until stopped */
/* For a program: the first such signal is hf_stop, the second ends hf_run at once. */
HF_API bool hf_stop_on_signal(struct hf *hf, int signum);

HF_API bool hf_on_signal(struct hf *hf, int signum, void (*on_signal)(void *context),
                         void *context);

/* ---- clients ---- */

typedef void (*hf_on_message)(void *context, const char *message, size_t length);
/* `server` NULL: all of them, names prefixed; else that one under its own names. */
HF_API struct hf_client *hf_client_open(struct hf *hf, const char *server, hf_on_message on_message,
                                        void *context);
HF_API void hf_client_send(struct hf_client *client, const char *message, size_t length);
HF_API void hf_client_close(struct hf_client *client);

/* One client that speaks lines on two descriptors. When it has gone, holdfast stops. */
HF_API bool hf_serve_stdio(struct hf *hf, const char *server, int in_fd, int out_fd,
                           char error[HF_ERROR_SIZE]);

/* Clients of Streamable HTTP at /mcp and /mcp/NAME, and of HTTP+SSE at /sse and /sse/NAME, as the
 * config says where and who. `url` gets what it listens on: "http://127.0.0.1:7332", "unix:PATH".
 * Refused if other machines could come in and there are no tokens. Raises the process's limit of
 * open descriptors as far as it may; its servers get the one it had. */
HF_API bool hf_serve_http(struct hf *hf, const struct hf_config *config, char url[HF_ERROR_SIZE],
                          char error[HF_ERROR_SIZE]);

/* ---- operators ---- */

enum hf_answer { HF_DONE, HF_REFUSED, HF_NO_SUCH_SERVER };
HF_API enum hf_answer hf_enable(struct hf *hf, const char *server);
HF_API enum hf_answer hf_disable(struct hf *hf, const char *server);
HF_API enum hf_answer hf_restart(struct hf *hf, const char *server);
HF_API enum hf_answer hf_reconnect(struct hf *hf, const char *server);
HF_API enum hf_answer hf_remove(struct hf *hf, const char *server);

/* Facts about a server; NULL or 0 if there is no such server. */
HF_API const char *hf_state(struct hf *hf, const char *server);
HF_API const char *hf_reason(struct hf *hf, const char *server); /* of its last failure, or "" */
HF_API const char *hf_last_stderr(struct hf *hf, const char *server); /* its last line there */
HF_API long hf_pid(struct hf *hf, const char *server);
HF_API uint64_t hf_generation(struct hf *hf, const char *server);

#ifdef __cplusplus
}
#endif

#endif
