/* headers.h - what a modern request says in the headers of its exchange, and what becomes of it
 * when the server says that they are wrong. */
#ifndef HF_CORE_REMOTE_HEADERS_H
#define HF_CORE_REMOTE_HEADERS_H

#include <stdbool.h>
#include "base/span.h"

struct hf_call;
struct hf_msg;
struct hf_remote_exchange;
struct hf_runtime;

bool hf_remote_takes_answer(struct hf_call *call, const struct hf_msg *msg);
/* A legacy server may have said that it speaks the modern era: its answer stands, and it is asked.
 */
void hf_remote_answer_passed(struct hf_runtime *runtime, const struct hf_msg *msg);
void hf_remote_corrected(struct hf_runtime *runtime); /* its tools were listed again, or not */
struct hf_span hf_remote_headers(
    const struct hf_remote_exchange *exchange); /* modern: lines, until collect */

#endif
