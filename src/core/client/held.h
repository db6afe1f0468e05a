/* held.h - initialize and lists that wait until a server has said what it offers. */
#ifndef HF_CORE_CLIENT_HELD_H
#define HF_CORE_CLIENT_HELD_H

#include <stdbool.h>
#include "base/span.h"
#include "core/machine/method.h"
#include "core/state/answer.h"

struct hf_incoming;
struct hf_server;
struct hf_session;

void hf_held_take(const struct hf_incoming *in, enum hf_part_id part);
/* Answers, or lets wait for another server, the calls that waited for this one. */
void hf_held_review(struct hf_server *server);
struct hf_answer hf_list_answer(struct hf_session *session, bool is_modern, enum hf_part_id part,
                                struct hf_span cursor);

#endif
