/*
 * config.h - the `mcpServers` file that people already have, read into plain structs.
 *
 * Two kinds of mistakes. Those of the file (syntax, wrong type, duplicate server, unknown key of
 * ours) refuse it whole: hf_config_parse collects them all in `mistakes`, each with line, key and
 * what to do. Mistakes of one server (missing variable, wrong URL, no such command, cwd or CA file)
 * set `problem` of that server; the others start.
 */
#ifndef HF_OPS_CONFIG_H
#define HF_OPS_CONFIG_H

#include "base/err.h"
#include "base/sha256.h"
#include "base/span.h"
#include "core/machine/start.h"
#include "core/settings.h"

struct hf_pair {
    char *key, *value;
};

enum hf_inherit { HF_INHERIT_LISTED, HF_INHERIT_ALL }; /* which of our variables a child gets */

struct hf_server_config {
    char *name;
    char *command;
    char **args; /* NULL-terminated, without the command */
    struct hf_pair *env;
    size_t env_count;
    char *cwd; /* NULL: ours */
    char *url; /* of a remote server, which has no command; NULL: it has a command */
    struct hf_pair *headers;
    size_t headers_count;
    char *ca;               /* file; NULL: the system's */
    char *proxy;            /* NULL: as the environment says; "": none */
    uint32_t keep_alive_ms; /* an idle connection older than this is not used again */
    bool disabled;
    enum hf_inherit inherit;
    char **inherit_globs; /* NULL-terminated: variables that are passed on beside the usual ones */
    char **allow, **deny; /* NULL-terminated globs over the server's own names */
    struct hf_pair *rename, *describe;
    size_t rename_count, describe_count;
    struct hf_settings settings;
    char *problem;         /* NULL, or why this server cannot be started */
    bool problem_may_pass; /* a missing command or folder may still appear */
};

struct hf_token_config { /* a token, and what its clients may use */
    char *name;
    uint8_t hash[HF_SHA256_SIZE];
    char **servers;              /* NULL-terminated globs over the names of servers */
    char **allow, **deny;        /* NULL-terminated globs over server__name and URIs */
    enum hf_errors_as errors_as; /* UNSAID: as the servers' settings say */
    struct hf_token_limits limits;
};

struct hf_serve_config { /* the HTTP front */
    char *listen;
    char *tls_cert, *tls_key; /* files; NULL: no TLS */
    struct hf_token_config *tokens;
    size_t token_count;
    char **hosts, **origins; /* NULL-terminated, in lower case */
    char **trusted_proxies;  /* NULL-terminated addresses and networks */
    uint32_t session_ttl_ms, max_sessions;
};

struct hf_mistake { /* one reason to refuse a file */
    size_t line;
    char *text; /* a sentence with the line in it */
};

enum hf_log_level { HF_LOG_DEBUG, HF_LOG_INFO, HF_LOG_WARN, HF_LOG_ERROR };
enum hf_log_format { HF_LOG_TEXT, HF_LOG_JSON };

struct hf_config {
    struct hf_server_config *servers; /* in the file's order */
    size_t server_count;
    struct hf_limits limits;
    struct hf_serve_config serve;
    enum hf_log_level log_level;
    enum hf_log_format log_format;
    char *state_dir;             /* NULL: see state_dir.h */
    char **warnings;             /* NULL-terminated sentences */
    struct hf_mistake *mistakes; /* of the file, by line; a file with mistakes is refused */
    size_t mistake_count;

    /* private to ops/config*.c */
    struct hf_server_config defaults; /* of the next server */
    struct hf_override *overrides;    /* options of the command line, which beat the file */
    size_t override_count;
};

enum { HF_CONFIG_FILE_MAX = 4 << 20 };

/* Environment look-up, so that tests and embedders decide what ${VAR} sees. */
typedef const char *(*hf_getenv)(const char *name, void *context); /* NULL: not set */

/* Empty config with every default set. */
void hf_config_init(struct hf_config *config);
void hf_config_done(struct hf_config *config);
void hf_server_config_done(struct hf_server_config *server);
void hf_server_config_init(struct hf_server_config *server, const char *name); /* defaults */
void hf_server_config_copy(struct hf_server_config *to, const struct hf_server_config *from);

/* Call it once per config; options may be given before or after. `err` has the first mistake and
 * says how many more there are. After a failure `mistakes` has all of them, and the servers are
 * there as far as they could be read: for reports, not to be started. */
HF_MUST_CHECK bool hf_config_parse(struct hf_config *config, struct hf_span text, hf_getenv env,
                                   void *env_context, struct hf_err *err);

/* Keeps mistakes in the order of their lines; past a bound they are dropped. Line 0: none. */
void hf_config_add_mistake(struct hf_config *config, size_t line, const char *text);

/* One option of the command line, "wait-ms" or "reconnect-min-ms", for the process and for every
 * server, also those added later. Beats the file. For a list or an object (--allow, --env) each
 * call adds one value; a list replaces that of the file, an object is joined with it. */
HF_MUST_CHECK bool hf_config_option(struct hf_config *config, const char *option, const char *value,
                                    struct hf_err *err);
/* How many values `option` takes: 1 (so far each option does, "--overlap false"), or -1 if there is
 * no such option. */
int hf_config_option_arity(const char *option);

/* A server made from a command line: `holdfast run [--name N] -- CMD ARGS…`. It inherits our whole
 * environment. Without a name it is named after its command, see server_name.h. */
HF_MUST_CHECK bool hf_config_add_command(struct hf_config *config, const char *name,
                                         char *const *argv, struct hf_err *err);

/* A remote server: `holdfast bridge URL`. Without a name it is named after the URL's host. Text
 * that is no URL becomes the server's `problem`, which calls to that server are told. */
HF_MUST_CHECK bool hf_config_add_url(struct hf_config *config, const char *name, const char *url,
                                     struct hf_err *err);

/* Finds what would keep servers from starting (no such command, cwd, CA file) and sets `problem`
 * and `problem_may_pass`: a running proxy checks again, since a binary may appear later. */
void hf_config_look(struct hf_config *config);

/* Why a start of this server failed, and what to do. Looks at its command and folder again if the
 * failure is for good; `failure->why` is not read. */
void hf_config_explain(const struct hf_server_config *server,
                       const struct hf_start_failure *failure, struct hf_err *ret_why);

/* Whether `serve` may listen at its address. An address that other machines can reach needs tokens;
 * a certificate needs its key; both files must exist. */
HF_MUST_CHECK bool hf_config_may_serve(const struct hf_config *config, struct hf_err *err);

/* Whether both have the same values of the options that a process is started with: on reload such a
 * server is not restarted; its other settings change while it runs. */
bool hf_server_config_same(const struct hf_server_config *a, const struct hf_server_config *b);
/* Same in every option. */
bool hf_server_config_equal(const struct hf_server_config *a, const struct hf_server_config *b);

#endif
