/*
 * http_chunks.h - a chunked body of HTTP/1.1, cut anywhere.
 *
 * Strict: CRLF only, no chunk extensions; trailers are checked and dropped. Never does I/O.
 */
#ifndef HF_WIRE_HTTP_CHUNKS_H
#define HF_WIRE_HTTP_CHUNKS_H

#include <stdint.h>
#include "base/mem.h"
#include "base/span.h"

enum hf_chunk_status { HF_CHUNK_MORE, HF_CHUNK_END, HF_CHUNK_BAD };
struct hf_chunks {
    /* private */
    uint64_t left;
    uint8_t mode;
    uint8_t name_length;
    uint16_t line_length; /* of the size line, or of all trailers so far: bounded */
    char name[sizeof "transfer-encoding"]; /* of the trailer being read; a longer one is cut */
};
void hf_chunks_init(struct hf_chunks *chunks);
/* Takes from the front of `*bytes`; gives at most one run of data (n == 0: none) and moves on. MORE
 * with bytes left: call again. Trailers are checked and dropped; one that would change how the
 * message is framed or routed is BAD. */
HF_MUST_CHECK enum hf_chunk_status hf_chunks_next(struct hf_chunks *chunks, struct hf_span *bytes,
                                                  struct hf_span *ret_data);

#endif
