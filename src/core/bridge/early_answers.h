/* early_answers.h - answers that a modern request brought along before its server asked. */
#ifndef HF_CORE_BRIDGE_EARLY_ANSWERS_H
#define HF_CORE_BRIDGE_EARLY_ANSWERS_H

#include <stdbool.h>
#include "core/machine/method.h"

struct hf_call;
struct hf_msg;

/* Answers a legacy server's question with what the call's request brought along; false: nothing
 * there fits, and the client has to be asked. */
bool hf_early_answer(struct hf_call *call, enum hf_method_id method, const struct hf_msg *question);

#endif
