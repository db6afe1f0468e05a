/* config_expand.c - see config_expand.h. */
#include "ops/config_expand.h"

enum { NAME_MAX_LENGTH = 255 };

struct reference {
    char name[NAME_MAX_LENGTH + 1];
    struct hf_span otherwise; /* p == NULL: none */
    size_t length;            /* of the whole reference in the text */
};

static bool is_name_char(char c, bool is_first)
{
    if ((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_')
        return true;
    return !is_first && c >= '0' && c <= '9';
}

/* References of other programs: VS Code asks its user, or knows the folder that is open. */
static const struct {
    const char *begins, *hint;
} foreign[] = {
    { "${input:",
      "${input:…} asks a person, which VS Code does and holdfast does not: put the value "
      "into an environment variable and write ${NAME}" },
    { "${command:",
      "${command:…} is run by VS Code only: put its result into an environment variable "
      "and write ${NAME}" },
    { "${config:",
      "${config:…} is known to VS Code only: put its value into an environment variable "
      "and write ${NAME}" },
    { "${workspaceFolder",
      "${workspaceFolder} is known to VS Code only: write the path of the folder, "
      "or an environment variable as ${NAME}" },
    { "${userHome}", "${userHome} is known to VS Code only: write ${HOME}" },
};

static const char *foreign_hint(struct hf_span text)
{
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        if (hf_span_starts(text, hf_span_of(foreign[i].begins)))
            return foreign[i].hint;
    return NULL;
}

/* `text` begins with "${". */
static bool read_reference(struct hf_span text, struct reference *ret)
{
    const char *close = memchr(text.p, '}', text.n);
    if (!close)
        return false;
    struct hf_span inside = { text.p + 2, (size_t)(close - text.p) - 2 };
    if (hf_span_starts(inside, HF_SPAN("env:")))
        inside = hf_span_from(inside, 4);

    size_t n = 0;
    while (n < inside.n && is_name_char(inside.p[n], n == 0))
        n++;
    if (n == 0 || n > NAME_MAX_LENGTH)
        return false;
    const struct hf_span rest = hf_span_from(inside, n);
    if (rest.n > 0 && !hf_span_starts(rest, HF_SPAN(":-")))
        return false;

    memcpy(ret->name, inside.p, n);
    ret->name[n] = '\0';
    ret->otherwise = rest.n ? hf_span_from(rest, 2) : (struct hf_span) { NULL, 0 };
    ret->length = (size_t)(close - text.p) + 1;
    return true;
}

static bool add(struct hf_buf *out, struct hf_span bytes, struct hf_err *err)
{
    /* The buffer itself rounds its maximum up, and execve is exact to the byte. */
    if (bytes.n > out->max - hf_buf_len(out) || !hf_buf_try_add(out, bytes))
        return hf_fail(err, "it becomes longer than %zu bytes", out->max);
    return true;
}

/* `hint`, which may be NULL, is added to the error if there is no such variable. */
static bool add_variable(const struct reference *r, const char *hint, hf_getenv env,
                         void *env_context, struct hf_buf *out, struct hf_err *err)
{
    const struct hf_span value = hf_span_of(env ? env(r->name, env_context) : NULL);
    if (r->otherwise.p && value.n == 0)
        return add(out, r->otherwise, err);
    if (!value.p && hint)
        return hf_fail(err, "%s", hint);
    if (!value.p)
        return hf_fail(err, "the variable %s is not set", r->name);
    return add(out, value, err);
}

bool hf_expand(struct hf_span text, hf_getenv env, void *env_context, struct hf_buf *out,
               struct hf_err *err)
{
    struct reference r;
    while (text.n > 0) {
        const char *dollar = memchr(text.p, '$', text.n);
        const size_t plain = dollar ? (size_t)(dollar - text.p) : text.n;
        if (!add(out, (struct hf_span) { text.p, plain }, err))
            return false;
        text = hf_span_from(text, plain);

        size_t taken = 0;
        bool added = true;
        if (hf_span_starts(text, HF_SPAN("$${"))) {
            taken = 3;
            added = add(out, HF_SPAN("${"), err);
        } else if (hf_span_starts(text, HF_SPAN("${"))) {
            const char *hint = foreign_hint(text);
            if (!read_reference(text, &r))
                return hf_fail(err, "%s",
                               hint ? hint
                                    : "only ${NAME} and ${NAME:-text} are known; a literal ${ is "
                                      "written $${");
            taken = r.length;
            added = add_variable(&r, hint, env, env_context, out, err);
        } else if (text.n > 0) {
            taken = 1;
            added = add(out, HF_SPAN("$"), err);
        }
        if (!added)
            return false;
        text = hf_span_from(text, taken);
    }
    return true;
}
