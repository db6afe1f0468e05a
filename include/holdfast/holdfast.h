/*
 * holdfast.h - the public interface of libholdfast.
 *
 * libholdfast keeps connections to MCP servers alive for its clients and gives every request
 * exactly one truthful answer. It runs on the caller's thread and event loop: poll hf_fd() for
 * input, wait at most hf_timeout_ms(), call hf_step(). No function blocks, except hf_run, and
 * hf_close until the processes that it killed are reaped. All types are opaque.
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

enum { HF_ERROR_SIZE = 512 }; /* for the text that says why a function returned NULL or false */

HF_API const char *hf_version(void);

/* For a program that has no children but those of holdfast, before its first hf_open: it becomes a
 * child subreaper, and every other process that becomes its child is killed. A subreaper that does
 * not call this kills only processes that it recognises as holdfast's: not one that left its
 * session, cleared its environment, and lost its guard. */
HF_API void hf_adopt_orphans(void);

/* ---- configuration ---- */

HF_API struct hf_config *hf_config_new(void);
HF_API void hf_config_free(struct hf_config *config); /* NULL accepted */
/* Reads the `mcpServers` file; comments and trailing commas are allowed. A file with a mistake is
 * refused as a whole: `error` says the first one with line and key, and hf_config_check reports all
 * of them. After that the config can only be freed. */
HF_API bool hf_config_read(struct hf_config *config, const char *text, size_t length,
                           char error[HF_ERROR_SIZE]);
HF_API bool hf_config_read_file(struct hf_config *config, const char *path,
                                char error[HF_ERROR_SIZE]);
/* One server from a command line; argv ends in NULL. `name` NULL: the server is named after what
 * the command starts, so that `npx -y @scope/server-foo` is a server-foo. */
HF_API bool hf_config_command(struct hf_config *config, const char *name, char *const *argv,
                              char error[HF_ERROR_SIZE]);
/* A remote server by its http or https URL. `name` NULL: the server is named after its host. What
 * can be no URL is the problem of that server (hf_config_server_problem). */
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
 * from starting, and warnings. Returns how many problems there are. Shows no secrets. */
HF_API size_t hf_config_check(struct hf_config *config,
                              void (*say)(void *context, const char *line), void *context);
HF_API size_t hf_config_server_count(const struct hf_config *config);
/* The name of the server at that place in the file; NULL from the count on. Valid until the config
 * is freed or a server is added. */
HF_API const char *hf_config_server_name(const struct hf_config *config, size_t at);
/* Why that server cannot be started, as far as is known without starting it; NULL: no reason. */
HF_API const char *hf_config_server_problem(const struct hf_config *config, size_t at);
HF_API bool hf_config_has_tokens(const struct hf_config *config); /* else no client needs one */
/* For --help: the options of a command, aligned, the common ones or `all`, and how many were left
 * out. Valid until the next call. */
HF_API const char *hf_options_text(const char *command, bool all, size_t *ret_left_out);

/* The word of `known`, which ends in NULL, that is closest to a mistyped one; NULL if none is
 * close. */
HF_API const char *hf_did_you_mean(const char *word, const char *const *known);

/* `text` as a terminal may show it: control characters are escaped, and a long text is cut. */
HF_API const char *hf_plain_text(const char *text, char room[HF_ERROR_SIZE]);

/* A new token for a client of the HTTP front, and the entry of holdfast.tokens that admits it.
 * Neither is stored. */
enum { HF_TOKEN_SIZE = 80 };
HF_API bool hf_token_make(const char *name, char ret_token[HF_TOKEN_SIZE],
                          char ret_entry[HF_ERROR_SIZE], char error[HF_ERROR_SIZE]);

/* ---- lifetime ---- */

/* Starts the servers. The config stays the caller's and may be freed. */
HF_API struct hf *hf_open(const struct hf_config *config, char error[HF_ERROR_SIZE]);
/* Takes the servers of a newer config: servers that are gone are removed, new ones are started, and
 * those whose command, URL or environment changed are restarted; all other options change while the
 * server runs. The limits of the whole process and the log stay as they were. Tokens, hosts and
 * origins are replaced; sessions of tokens that are gone are closed. If other machines can connect
 * and the newer config has no tokens, the old tokens stay. */
HF_API void hf_reload(struct hf *hf, const struct hf_config *config);
/* Writes the log, one line for each event, to a descriptor that stays the caller's. */
HF_API bool hf_log_to(struct hf *hf, int fd, char error[HF_ERROR_SIZE]);
/* After hf_log_to: writes the log, at least from level info on, also to `KIND-NAME.log` in the
 * config's state directory (`KIND.log` if `name` is NULL), which is made if it is missing. The file
 * stays under two megabytes; several processes may write to the same one. */
HF_API bool hf_log_keep_as(struct hf *hf, const struct hf_config *config, const char *kind,
                           const char *name, char error[HF_ERROR_SIZE]);
/* Waiting calls are answered at once, dispatched calls have drainMs; then every server is closed.
 */
HF_API void hf_stop(struct hf *hf);
HF_API bool hf_is_stopped(const struct hf *hf);
HF_API void hf_close(struct hf *hf); /* kills servers that still run. NULL accepted */

HF_API int hf_fd(const struct hf *hf);
HF_API int hf_timeout_ms(struct hf *hf); /* -1: no need to wake up by time */
HF_API void hf_step(struct hf *hf);
HF_API void hf_run(struct hf *hf); /* steps until stopped */
/* For whoever looks for long turns: from here on the CPU time of each turn is in /metrics. */
HF_API void hf_measure_turns(struct hf *hf);
/* For a program: the first such signal is hf_stop, the second ends hf_run at once. */
HF_API bool hf_stop_on_signal(struct hf *hf, int signum);

HF_API bool hf_on_signal(struct hf *hf, int signum, void (*on_signal)(void *context),
                         void *context);

/* ---- clients ---- */

typedef void (*hf_on_message)(void *context, const char *message, size_t length);
/* `server` NULL: the client sees all servers, with prefixed names; else that one, with its own
 * names. */
HF_API struct hf_client *hf_client_open(struct hf *hf, const char *server, hf_on_message on_message,
                                        void *context);
HF_API void hf_client_send(struct hf_client *client, const char *message, size_t length);
HF_API void hf_client_close(struct hf_client *client);

/* One client that sends and reads lines on two descriptors. When it has gone, holdfast stops. If
 * the very first start of its one `server` fails for good (no such command, cwd or URL) and nothing
 * is known of that server, every answer and the log say so, and holdfast stops. */
HF_API bool hf_serve_stdio(struct hf *hf, const char *server, int in_fd, int out_fd,
                           char error[HF_ERROR_SIZE]);
/* Whether holdfast stopped because of such a start. */
HF_API bool hf_has_failed(const struct hf *hf);

/* Serves clients of Streamable HTTP at /mcp and /mcp/NAME, and of HTTP+SSE at /sse and /sse/NAME.
 * The config says where to listen and which clients are admitted. `url` gets what it listens on:
 * "http://127.0.0.1:7332", "unix:PATH". Fails if other machines could connect and there are no
 * tokens. Raises the process's limit of open descriptors as far as it may; its servers get the one
 * it had. */
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
