/* shell.c - see shell.h. */
#include "io/shell.h"
#include "io/portion.h"

static void flush_some(struct hf_link *list)
{
    struct hf_portion portion = { 0 };
    bool is_alone = list->next == list->prev; /* the usual case needs no clock */
    while (!hf_list_empty(list) &&
           (is_alone || hf_portion_goes_on(&portion, HF_PORTION_WRITES_US))) {
        is_alone = false;
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
