/*
 * http_response.h - an HTTP/1.1 response, strictly, out of bytes that are cut anywhere.
 *
 * The head is collected up to its empty line and parsed once (wire/http_head.h); a body is handed
 * on as it comes and never collected. Informational heads (1xx) are skipped. Nothing is guessed:
 * what could be read in two ways, or breaks its own framing, is BAD and stays so. Never does I/O.
 *
 *   hf_http_reply_next: MORE* HEAD (BYTES | MORE)* END, or BAD instead of any of them
 *
 * 1. How the bytes are cut changes nothing but the runs that the body comes in.
 * 2. What follows the last byte of a response is not touched.
 */
#ifndef HF_WIRE_HTTP_RESPONSE_H
#define HF_WIRE_HTTP_RESPONSE_H

#include "base/buf.h"
#include "wire/http_chunks.h"
#include "wire/http_head.h"

enum hf_http_framing {
    HF_HTTP_BY_LENGTH, /* head.content_length; no body at all counts as 0 bytes */
    HF_HTTP_BY_CHUNKS,
    HF_HTTP_BY_CLOSE, /* it ends with the connection */
};

struct hf_http_response {
    int status; /* 100 to 599 */
    enum hf_http_framing framing;
    uint64_t length; /* of a body BY_LENGTH */
    bool keeps_alive;
    struct hf_http_head head;
};

/* A head with its empty line. False: `ret_why` is then a constant sentence. */
HF_MUST_CHECK bool hf_http_response_parse(struct hf_span text, struct hf_http_response *ret,
                                          const char **ret_why);

enum hf_reply_step {
    HF_REPLY_MORE,  /* all bytes are taken: more have to come */
    HF_REPLY_HEAD,  /* `response` is there */
    HF_REPLY_BYTES, /* of its body */
    HF_REPLY_END,   /* it was whole before; nothing was taken */
    HF_REPLY_BAD,   /* `why` says in a constant sentence what cannot be read */
};

struct hf_http_reply {
    struct hf_http_response response; /* from HEAD on, until the next reset; points into `text` */
    struct hf_buf text;               /* of the head */
    const char *why;                  /* of BAD */
    bool has_begun;                   /* a byte of it came */
    /* private */
    size_t head_max, seen;
    uint64_t left;
    struct hf_chunks chunks;
    uint8_t mode;
};

void hf_http_reply_init(struct hf_http_reply *reply, size_t head_max);
void hf_http_reply_done(struct hf_http_reply *reply);
void hf_http_reply_reset(struct hf_http_reply *reply); /* for the next response */

/* Takes from the front of `*bytes`. `ret_data` is set for BYTES only, and points into them. */
HF_MUST_CHECK enum hf_reply_step hf_http_reply_next(struct hf_http_reply *reply,
                                                    struct hf_span *bytes,
                                                    struct hf_span *ret_data);
/* Nothing more will come: END, or BAD if that cuts it off. */
HF_MUST_CHECK enum hf_reply_step hf_http_reply_close(struct hf_http_reply *reply);

#endif
