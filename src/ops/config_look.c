/*
 * config_look.c - what would keep a server from starting, found without starting it; see config.h.
 *
 * Uses the child's PATH and working directory, as the child will. No request is sent to a remote
 * server.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/err.h"
#include "io/listen.h"
#include "ops/config.h"
#include "ops/config_text.h"
#include "ops/env.h"

static bool is_program(int at_fd, const char *path)
{
    struct stat st;
    return fstatat(at_fd, path, &st, 0) == 0 && S_ISREG(st.st_mode) &&
           faccessat(at_fd, path, X_OK, AT_EACCESS) == 0;
}

static bool is_on_path(int cwd_fd, const char *path, const char *command)
{
    char candidate[4096];
    for (bool more = true; more;) {
        const size_t n = strcspn(path, ":");
        /* An empty part is the working directory, as execvp has it. */
        const int length =
            snprintf(candidate, sizeof candidate, "%.*s%s%s", (int)n, path, n ? "/" : "", command);
        if (length > 0 && (size_t)length < sizeof candidate && is_program(cwd_fd, candidate))
            return true;
        more = path[n] == ':';
        path += n + 1;
    }
    return false;
}

static const char *path_of(char *const *env)
{
    for (; *env; env++)
        if (strncmp(*env, "PATH=", 5) == 0)
            return *env + 5;
    return "/bin:/usr/bin"; /* what execvp falls back to */
}

/* Not opened for reading: a directory may be entered without the right to list it. */
static bool open_cwd(const char *cwd, int *ret_fd, struct hf_err *err)
{
    char shown[HF_SHOWN_MAX];
    hf_text_shown(hf_span_of(cwd), shown);
    const int fd = open(cwd, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return hf_fail(err, "there is no directory \"%s\" (cwd): make it, or correct cwd", shown);
    if (fd < 0)
        return hf_fail(err, "the cwd \"%s\": %s", shown, strerror(errno));
    if (faccessat(fd, ".", X_OK, AT_EACCESS) != 0) {
        const int why = errno;
        close(fd);
        return hf_fail(err, "the cwd \"%s\": %s", shown, strerror(why));
    }
    *ret_fd = fd;
    return true;
}

/* "npx -y foo" in `command` is a whole command line, whose words belong into `args`. */
static bool fail_as_line(const struct hf_server_config *server, struct hf_err *err)
{
    char shown[HF_SHOWN_MAX], program[HF_SHOWN_MAX], rest[HF_SHOWN_MAX];
    const struct hf_span whole = hf_span_of(server->command);
    const size_t n = strcspn(whole.p, " ");
    const struct hf_span words = hf_span_from(whole, n + 1);
    const size_t m = strcspn(words.p, " ");
    hf_text_shown(whole, shown);
    hf_text_shown((struct hf_span) { whole.p, n }, program);
    hf_text_shown((struct hf_span) { words.p, m }, rest);
    return hf_fail(
        err,
        "there is no program \"%s\": \"command\" is the program alone, and each word "
        "behind it is an item of \"args\": \"command\": \"%s\", \"args\": [\"%s\"%s]; on a "
        "command line: %s %s%s, without quotes",
        shown, program, rest, words.n > m ? ", …" : "", program, rest, words.n > m ? " …" : "");
}

static bool fail_as_file(const struct stat *st, const char *shown, struct hf_err *err)
{
    if (S_ISDIR(st->st_mode))
        return hf_fail(err, "\"%s\" is a directory: the command is a program in it", shown);
    return hf_fail(err,
                   "\"%s\" is not an executable file: chmod +x makes it one, or name the program "
                   "that runs it first, as in `python3 FILE`",
                   shown);
}

static bool find_command(const struct hf_server_config *server, int cwd_fd, char *const *env,
                         struct hf_err *err)
{
    char shown[HF_SHOWN_MAX];
    struct stat st;
    const char *space = strchr(server->command, ' ');
    hf_text_shown(hf_span_of(server->command), shown);
    if (space && space > server->command && space[1] &&
        fstatat(cwd_fd, server->command, &st, 0) != 0 &&
        !is_on_path(cwd_fd, path_of(env), server->command))
        return fail_as_line(server, err);
    if (!strchr(server->command, '/'))
        return is_on_path(cwd_fd, path_of(env), server->command) ||
               hf_fail(err,
                       "there is no command \"%s\" on PATH: install it, or give its whole path "
                       "(the PATH of a client is often shorter than that of a terminal)",
                       shown);
    if (is_program(cwd_fd, server->command))
        return true;
    if (fstatat(cwd_fd, server->command, &st, 0) == 0)
        return fail_as_file(&st, shown, err);
    return errno == ENOENT || errno == ENOTDIR
               ? hf_fail(err, "there is no file \"%s\": correct the path of the command", shown)
               : hf_fail(err, "the command \"%s\": %s", shown, strerror(errno));
}

static bool is_file(const char *path, const char *what, struct hf_err *err)
{
    char shown[HF_SHOWN_MAX];
    struct stat st;
    hf_text_shown(hf_span_of(path), shown);
    if (stat(path, &st) != 0 || faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != 0)
        return hf_fail(err, "the %s \"%s\": %s", what, shown, strerror(errno));
    return S_ISREG(st.st_mode) || hf_fail(err, "the %s \"%s\" is not a file", what, shown);
}

static bool look(const struct hf_server_config *server, struct hf_err *err)
{
    if (server->url)
        return !server->ca || is_file(server->ca, "CA file", err);
    int cwd_fd = AT_FDCWD;
    if (server->cwd && !open_cwd(server->cwd, &cwd_fd, err))
        return false;
    char **env = hf_env_build(server, environ);
    const bool good = find_command(server, cwd_fd, env, err);
    hf_env_free(env);
    if (cwd_fd != AT_FDCWD)
        close(cwd_fd);
    return good;
}

/* The program is there and may be executed, and the system did not. */
static void explain_program(const struct hf_server_config *server, int error, struct hf_err *ret)
{
    char shown[HF_SHOWN_MAX];
    hf_text_shown(hf_span_of(server->command), shown);
    if (error == ENOENT)
        (void)hf_fail(ret,
                      "\"%s\" is there, but not what has to run it: install the interpreter that "
                      "its first line (#!) names, or correct that line; a binary may be built for "
                      "another system",
                      shown);
    else
        (void)hf_fail(ret, "\"%s\" cannot be executed: %s", shown, strerror(error));
}

void hf_config_explain(const struct hf_server_config *server,
                       const struct hf_start_failure *failure, struct hf_err *ret_why)
{
    if (hf_start_failed_for_good(failure) && !look(server, ret_why))
        return;
    if (failure->step == HF_START_EXECUTE)
        explain_program(server, failure->error, ret_why);
    else
        (void)hf_fail(ret_why, "%s: %s",
                      failure->step == HF_START_ENTER ? "its cwd cannot be entered" : "no process",
                      strerror(failure->error));
}

void hf_config_look(struct hf_config *config)
{
    struct hf_err err;
    for (size_t i = 0; i < config->server_count; i++) {
        struct hf_server_config *server = &config->servers[i];
        if (server->problem || look(server, &err))
            continue;
        server->problem = hf_strdup(err.text);
        server->problem_may_pass = true;
    }
}

bool hf_config_may_serve(const struct hf_config *config, struct hf_err *err)
{
    const struct hf_serve_config *serve = &config->serve;
    struct hf_listen listen;
    if (!hf_listen_read(serve->listen, &listen, err))
        return false;
    if (!listen.is_loopback && serve->token_count == 0)
        return hf_fail(
            err,
            "other machines can reach %s, and there are no tokens: everybody there could "
            "use your servers. Make a token with `holdfast token` and put its entry into "
            "holdfast.tokens, or listen on 127.0.0.1 or unix:PATH",
            serve->listen);
    if (!serve->tls_cert != !serve->tls_key)
        return hf_fail(err,
                       "TLS needs a certificate and its key, and there is only holdfast.tls.%s",
                       serve->tls_cert ? "cert" : "key");
    return !serve->tls_cert || (is_file(serve->tls_cert, "certificate of holdfast.tls.cert", err) &&
                                is_file(serve->tls_key, "private key of holdfast.tls.key", err));
}
