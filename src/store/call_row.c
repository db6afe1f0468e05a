/* call_row.c - see call_row.h. */
#include "store/call_row.h"
#include <stdio.h>

#define END_NAME(id, name) [HF_CALL_END_##id] = (name),
static const char *const end_names[HF_CALL_END_COUNT] = { HF_CALL_ENDS(END_NAME) };

const char *hf_call_end_name(enum hf_call_end end)
{
    return (unsigned)end < HF_CALL_END_COUNT ? end_names[end] : "?";
}

enum hf_call_end hf_call_end_of(struct hf_span name)
{
    unsigned i = 0;
    while (i < HF_CALL_END_COUNT && !hf_span_is(name, end_names[i]))
        i++;
    return (enum hf_call_end)i;
}

void hf_call_id_write(struct hf_span instance, uint64_t number, char ret_id[HF_CALL_ID_SIZE])
{
    (void)snprintf(ret_id, HF_CALL_ID_SIZE, "%.*s-%llu", HF_FMT(instance),
                   (unsigned long long)number);
}

bool hf_call_id_read(struct hf_span id, struct hf_span *ret_instance, uint64_t *ret_number)
{
    const char *dash = id.n ? memchr(id.p, '-', id.n) : NULL;
    if (!dash || dash != id.p + HF_INSTANCE_NAME_SIZE - 1)
        return false;
    const struct hf_span digits = hf_span_from(id, HF_INSTANCE_NAME_SIZE);
    uint64_t number = 0;
    for (size_t i = 0; i < digits.n; i++) {
        if (digits.p[i] < '0' || digits.p[i] > '9' || number > (UINT64_MAX >> 1) / 10 - 1)
            return false;
        number = number * 10 + (uint64_t)(digits.p[i] - '0');
    }
    if (digits.n == 0)
        return false;
    *ret_instance = (struct hf_span) { id.p, HF_INSTANCE_NAME_SIZE - 1 };
    *ret_number = number;
    return true;
}
