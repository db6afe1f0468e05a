/* headers.h - the headers of a modern request's exchange, and what becomes of the request when the
 * server says that they are wrong. */
#ifndef HF_CORE_REMOTE_HEADERS_H
#define HF_CORE_REMOTE_HEADERS_H

#include <stdbool.h>
#include "base/span.h"

struct hf_call;
struct hf_msg;
struct hf_remote_exchange;
struct hf_runtime;

bool hf_remote_takes_answer(struct hf_call *call, const struct hf_msg *msg);
/* A legacy server's answer may say that the server speaks the modern era by now. The client has
 * been given the answer; the era is asked again. */
void hf_remote_answer_passed(struct hf_runtime *runtime, const struct hf_msg *msg);
void hf_remote_corrected(struct hf_runtime *runtime); /* the tools were listed, or not */
struct hf_span hf_remote_headers(
    const struct hf_remote_exchange *exchange); /* header lines, until collect */

#endif
