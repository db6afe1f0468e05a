/*
 * jsonrpc.h - one JSON-RPC message, as spans into its text.
 *
 * The envelope only: what the methods mean is mcp.h. Ids stay raw bytes.
 */
#ifndef HF_WIRE_JSONRPC_H
#define HF_WIRE_JSONRPC_H

#include "base/buf.h"
#include "base/span.h"
#include "wire/json.h"

enum hf_msg_kind {
    HF_MSG_REQUEST,      /* id and method */
    HF_MSG_NOTIFICATION, /* method, no id */
    HF_MSG_RESULT,       /* id and result */
    HF_MSG_ERROR,        /* error; id may be null or absent */
};

struct hf_msg {
    enum hf_msg_kind kind;
    struct hf_span text;   /* the whole message, white space around it cut off */
    struct hf_span id;     /* raw, p == NULL if absent */
    struct hf_span method; /* unquoted raw text; a method with escapes in it is refused */
    struct hf_span params, result, error;
    struct hf_span meta, name, uri; /* of a request's params: what it is routed by */
};

enum hf_msg_status {
    HF_MSG_OK,
    HF_MSG_NOT_JSON, /* -32700 */
    /* -32600: JSON, but no JSON-RPC 2.0 message; `id` is set where there is a usable one, and
     * `method` where there is one: an answer that went wrong has an id and no method. */
    HF_MSG_NOT_A_REQUEST
};

/* Checks the text and finds the parts. "jsonrpc" must be "2.0"; an id is a string or a number
 * (null only in an error response); params an object or array; error an object; method, result and
 * error exclude each other. None of these keys may stand twice, nor those of a request's params
 * that say what is asked for (_meta, name, uri, arguments, taskId, ref). On anything but OK `err`
 * says what is wrong and where. */
HF_MUST_CHECK enum hf_msg_status hf_msg_parse(struct hf_span text, unsigned depth_max,
                                              struct hf_msg *ret_msg, struct hf_err *err);

/* An answer of a server that hf_msg_parse refused, read as most clients would: with an id that is a
 * string or a number, no "method", and either a "result" or an "error" that is an object. "jsonrpc"
 * may say anything or be missing, members that are null beside these count as missing, and of two
 * members of one name the last counts. It is appended as it should have been written; false: it is
 * no such answer, and nothing was. */
HF_MUST_CHECK bool hf_msg_mend_answer(struct hf_span text, unsigned depth_max, struct hf_buf *out);

/* Replaces raw newlines (legal white space between tokens) so that a message fits on one line. */
void hf_msg_to_one_line(char *text, size_t n);

/* The code of an error response; 0: it is none, or has no number as its code. */
int64_t hf_msg_error_code(const struct hf_msg *msg);

/* ---- written ---- */

/* What every response of ours begins with; its id follows. */
#define HF_MSG_RESPONSE_HEAD "{\"jsonrpc\":\"2.0\",\"id\":"
/* The envelope without its closing brace; ids are raw. */
void hf_msg_begin_request(struct hf_buf *out, uint64_t id, struct hf_span method);
void hf_msg_begin_notification(struct hf_buf *out, const char *method);
void hf_msg_begin_response(struct hf_buf *out, struct hf_span id);
/* With the closing brace. */
void hf_msg_add_notification(struct hf_buf *out, const char *method);
void hf_msg_add_result(struct hf_buf *out, struct hf_span id, struct hf_span result);
void hf_msg_add_error(struct hf_buf *out, struct hf_span id, int code, struct hf_span text,
                      struct hf_span data); /* data raw; n 0: none */

/* ---- ids and marks ---- */

/* The number that an id of ours was written as; false: it is none of ours. */
bool hf_msg_read_id(struct hf_span raw, int64_t *ret_id);
/* Some programs begin with a byte order mark (U+FEFF): the text behind it. */
struct hf_span hf_msg_without_bom(struct hf_span text);

#endif
