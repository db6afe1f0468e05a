/*
 * list.h - a doubly linked ring whose links are members of the items.
 *
 * An item is in at most one list per link; a link that is in no list points to itself, so
 * unlinking twice is harmless and membership can be asked.
 */
#ifndef HF_BASE_LIST_H
#define HF_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct hf_link {
    struct hf_link *prev, *next;
};

static inline void hf_link_init(struct hf_link *l)
{
    l->prev = l->next = l;
}
static inline bool hf_list_empty(const struct hf_link *list)
{
    return list->next == list;
}
static inline bool hf_linked(const struct hf_link *l)
{
    return l->next != l;
}
static inline void hf_unlink(struct hf_link *l)
{
    l->prev->next = l->next;
    l->next->prev = l->prev;
    hf_link_init(l);
}
static inline void hf_list_add_before(struct hf_link *at, struct hf_link *l)
{
    l->prev = at->prev;
    l->next = at;
    at->prev->next = l;
    at->prev = l;
}
static inline void hf_list_push(struct hf_link *list, struct hf_link *l) /* at the end */
{
    hf_list_add_before(list, l);
}
/* Moves all items of `from` to `to`, which need not be initialized. */
static inline void hf_list_move(struct hf_link *to, struct hf_link *from)
{
    hf_link_init(to);
    hf_list_add_before(from, to);
    hf_unlink(from);
}
static inline void hf_list_push_front(struct hf_link *list, struct hf_link *l)
{
    hf_list_add_before(list->next, l);
}

#define HF_ITEM(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))
#define HF_LIST_FIRST(list, type, member)                                                          \
    (hf_list_empty(list) ? NULL : HF_ITEM((list)->next, type, member))

/* `item` may be unlinked or freed inside the loop; its successor may not. */
#define HF_LIST_EACH_SAFE(item, list, type, member)                                                \
    for (struct hf_link *item##_link_ = (list)->next, *item##_next_ = item##_link_->next;          \
         item##_link_ != (list) && ((item) = HF_ITEM(item##_link_, type, member), 1);              \
         item##_link_ = item##_next_, item##_next_ = item##_link_->next)
#define HF_LIST_EACH(item, list, type, member)                                                     \
    for (struct hf_link *item##_link_ = (list)->next;                                              \
         item##_link_ != (list) && ((item) = HF_ITEM(item##_link_, type, member), 1);              \
         item##_link_ = item##_link_->next)

#endif
