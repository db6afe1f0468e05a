/* early_answers.h - answers that a modern request brought along, before anybody asked. */
#ifndef HF_CORE_BRIDGE_EARLY_ANSWERS_H
#define HF_CORE_BRIDGE_EARLY_ANSWERS_H

#include <stdbool.h>
#include "core/machine/method.h"

struct hf_call;
struct hf_msg;

bool hf_early_answer(struct hf_call *call, enum hf_method_id method, const struct hf_msg *question);

#endif
