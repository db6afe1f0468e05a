/* state_dir.c - see state_dir.h. */
#include "ops/state_dir.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/strings.h"
#include "ops/config_parts.h"
#include "ops/config_text.h"

static bool put(char ret_path[HF_STATE_PATH_SIZE], const char *directory, const char *below,
                struct hf_err *err)
{
    const int n = snprintf(ret_path, HF_STATE_PATH_SIZE, "%s%s", directory, below);
    return (n > 0 && n < HF_STATE_PATH_SIZE) ||
           hf_fail(err, "the path of the state directory is longer than %d bytes",
                   HF_STATE_PATH_SIZE - 1);
}

bool hf_state_dir_find(const char *given, hf_getenv env, void *env_context,
                       char ret_path[HF_STATE_PATH_SIZE], struct hf_err *err)
{
    const char *ours = env("HOLDFAST_STATE_DIR", env_context);
    const char *state = env("XDG_STATE_HOME", env_context), *home = env("HOME", env_context);
    if (given && *given)
        return put(ret_path, given, "", err);
    if (ours && *ours)
        return put(ret_path, ours, "", err);
    if (state && *state == '/') /* the XDG specification: relative paths are ignored */
        return put(ret_path, state, "/holdfast", err);
    if (home && *home)
        return put(ret_path, home, "/.local/state/holdfast", err);
    return hf_fail(err, "there is no HOME to keep anything in; --state-dir DIRECTORY or "
                        "HOLDFAST_STATE_DIR says where else");
}

static bool is_ours(const char *path, struct hf_err *err)
{
    char shown[HF_SHOWN_MAX];
    struct stat st;
    hf_text_shown(hf_span_of(path), shown);
    if (stat(path, &st) != 0)
        return hf_fail(err, "the state directory \"%s\": %s", shown, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return hf_fail(err, "the state directory \"%s\" is not a directory", shown);
    return st.st_uid == geteuid() ||
           hf_fail(
               err,
               "the state directory \"%s\" belongs to another user; choose one with --state-dir "
               "DIRECTORY",
               shown);
}

bool hf_state_dir_make(const char *path, struct hf_err *err)
{
    char part[HF_STATE_PATH_SIZE], shown[HF_SHOWN_MAX];
    if (strlen(path) >= sizeof part)
        return hf_fail(err, "the path of the state directory is too long");
    for (size_t i = 1; path[i - 1]; i++) {
        if (path[i] && path[i] != '/')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0700) == 0 || errno == EEXIST || (errno != ENOENT && path[i]))
            continue;
        hf_text_shown(hf_span_of(part), shown);
        return hf_fail(err, "the state directory cannot be made: \"%s\": %s", shown,
                       strerror(errno));
    }
    return is_ours(path, err);
}

bool hf_state_dir_file(const char *directory, const char *kind, const char *name,
                       const char *ending, char ret_path[HF_STATE_PATH_SIZE], struct hf_err *err)
{
    char plain[HF_CONFIG_NAME_MAX + 1] = "";
    for (size_t i = 0; name && name[i] && i < HF_CONFIG_NAME_MAX; i++)
        plain[i] = name[i] == '.' && i > 0 ? '.' : hf_prefix_char(name[i]);
    const int n = snprintf(ret_path, HF_STATE_PATH_SIZE, "%s/%s%s%s.%s", directory, kind,
                           name ? "-" : "", plain, ending);
    return (n > 0 && n < HF_STATE_PATH_SIZE) ||
           hf_fail(err, "the path of the state directory is too long");
}
