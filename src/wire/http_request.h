/*
 * http_request.h - the head of an HTTP/1.1 request, strictly: its first line, one Host, and no
 * Expect but 100-continue. The headers are read by wire/http_head.h. Never does I/O.
 */
#ifndef HF_WIRE_HTTP_REQUEST_H
#define HF_WIRE_HTTP_REQUEST_H

#include "wire/http_head.h"

struct hf_http_request {
    struct hf_span method, target; /* target as sent: origin form, or "*" */
    struct hf_span path;           /* of the target, up to '?' */
    struct hf_http_head head;
    bool expects_continue;
};

/* 0, or the status to refuse it with (400, 413, 417, 431, 501, 505); `ret_why` is then a constant
 * sentence. Text that hf_http_head_length gave -1 for is always refused. */
HF_MUST_CHECK int hf_http_request_parse(struct hf_span text, struct hf_http_request *ret_request,
                                        const char **ret_why);

#endif
