/*
 * options.h - all option keys in one table: where each may be set, type, bounds, default, help.
 *
 * The file parser, the command line, --help and docs/OPTIONS.md are all made from these rows, so
 * they cannot disagree. The table knows the field of each value; ops/option_value.c sets it.
 *
 * 1. A row's `at` is an offset in struct hf_config if it is HF_WHERE_TOP, else in
 *    struct hf_server_config.
 * 2. A key has at most one dot: "reconnect.minMs" is `minMs` in the object `reconnect`, and
 *    --reconnect-min-ms on the command line.
 */
#ifndef HF_OPS_OPTIONS_H
#define HF_OPS_OPTIONS_H

#include <stdint.h>
#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"

/* bits */
enum hf_option_where {
    HF_WHERE_SERVER = 1,   /* in a server of mcpServers */
    HF_WHERE_DEFAULTS = 2, /* in holdfast.defaults */
    HF_WHERE_LINE = 4,     /* on the command line */
    HF_WHERE_TOP = 8,      /* in the top-level holdfast object */
};

enum hf_option_type {
    HF_OPTION_BOOL,
    HF_OPTION_U32,
    HF_OPTION_I32,
    HF_OPTION_U64,
    HF_OPTION_DOUBLE,
    HF_OPTION_CHOICE,   /* one of `choices`; the field holds its index */
    HF_OPTION_STRING,   /* char *, NULL if not given */
    HF_OPTION_LIST,     /* char **, NULL-terminated, never NULL itself */
    HF_OPTION_PAIRS,    /* struct hf_pair *, and its count at `also_at` */
    HF_OPTION_INHERIT,  /* enum hf_inherit, and the globs (a LIST) at `also_at` */
    HF_OPTION_STATUSES, /* struct hf_status_set */
    HF_OPTION_TOKENS,   /* struct hf_token_config *, and its count at `also_at` */
};

/* bits */
enum hf_option_flags {
    HF_OPTION_EXPANDS = 1,  /* ${VAR} in its strings */
    HF_OPTION_RESTARTS = 2, /* a change needs a new process or connection */
    HF_OPTION_UNIQUE = 4,   /* PAIRS: no two keys with one value */
    HF_OPTION_CASELESS = 8, /* PAIRS: keys that differ in case only are one */
    HF_OPTION_LOWER = 16,   /* strings are kept in lower case */
};

/* bits: the commands that take options */
enum hf_option_command {
    HF_FOR_RUN = 1,
    HF_FOR_BRIDGE = 2,
    HF_FOR_STDIO = 4,
    HF_FOR_SERVE = 8,
    HF_FOR_CHECK = 16,
};

struct hf_option {
    const char *key;
    unsigned where, flags;
    enum hf_option_type type;
    size_t at, also_at, size; /* of the field */
    int64_t min, max;         /* numbers */
    const char *const *choices;
    /* Whether a string is allowed; PAIRS: `check` for values, `check_name` for keys. */
    bool (*check)(const char *text, struct hf_err *err);
    bool (*check_name)(const char *text, struct hf_err *err);
    const char *initial; /* the default as JSON; NULL: not set */
    const char *unit;    /* "ms", "bytes", "glob": what help shows for the value */
    unsigned commands;   /* commands that have the option; 0: all */
    unsigned common;     /* commands whose --help shows it without `all` */
    const char *help;
};

enum { HF_OPTION_KEBAB_MAX = 48 };

const struct hf_option *hf_options(size_t *ret_count);

/* The row of a key in one place. `group` is "" or the object around the key. */
const struct hf_option *hf_option_find(unsigned where, const char *group, struct hf_span name);
/* The row of a command line option, which is given without its leading dashes. */
const struct hf_option *hf_option_find_kebab(const char *option);
/* "reconnect" if that names an object of options in that place (at the top also "defaults"), else
 * NULL. */
const char *hf_option_group(unsigned where, struct hf_span name);
/* The bit of a command; 0 if it takes no options. */
unsigned hf_option_command(const char *name);
bool hf_option_is_of(const struct hf_option *option, unsigned command);
/* Keys of coming versions, which get their own message instead of "no such key". */
bool hf_option_comes_later(unsigned where, struct hf_span name);

/* The closest key (or kebab option) that may be set there, or NULL. */
const char *hf_option_nearest(unsigned where, const char *group, struct hf_span name);
bool hf_option_nearest_kebab(const char *option, char ret_kebab[HF_OPTION_KEBAB_MAX]);

void hf_option_kebab(const struct hf_option *option, char ret_kebab[HF_OPTION_KEBAB_MAX]);
/* "a whole number from 0 to 100 (ms)" */
void hf_option_allowed(const struct hf_option *option, struct hf_buf *out);

/* ---- options_text.c ---- */

/* The aligned options of a command's --help, the common ones or all. Returns how many were left
 * out. */
size_t hf_options_help(struct hf_buf *out, unsigned command, bool all);
void hf_options_markdown(struct hf_buf *out); /* docs/OPTIONS.md */

#endif
