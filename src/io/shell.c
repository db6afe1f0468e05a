/* shell.c - see shell.h. */
#include "io/shell.h"

static void flush_some(struct hf_link *list)
{
    for (int i = 0; i < HF_FLUSHES_A_TURN && !hf_list_empty(list); i++) {
        struct hf_flush *flush = HF_LIST_FIRST(list, struct hf_flush, link);
        hf_unlink(&flush->link);
        flush->flush(flush);
    }
}

/* Whoever has something to write since this turn comes before those of a crowd that waits: an
 * answer is not held up by news for thousands. */
bool hf_shell_flush(struct hf_shell *shell)
{
    flush_some(&shell->dirty);
    flush_some(&shell->later);
    struct hf_flush *flush;
    HF_LIST_EACH_SAFE (flush, &shell->dirty, struct hf_flush, link) {
        hf_unlink(&flush->link);
        hf_list_push(&shell->later, &flush->link);
    }
    return hf_list_empty(&shell->later);
}
