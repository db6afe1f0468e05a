/*
 * mcp_headers.h - what a modern request says in JSON, said again in HTTP headers.
 *
 * `Mcp-Name` and the like, and `Mcp-Param-*` for arguments that a tool's inputSchema marks with
 * `x-mcp-header`. A value that is not plain visible ASCII travels as =?base64?…?=. Pure: spans in,
 * bytes out. Schemas and arguments are checked JSON.
 */
#ifndef HF_WIRE_MCP_HEADERS_H
#define HF_WIRE_MCP_HEADERS_H

#include <stdbool.h>
#include "base/buf.h"
#include "wire/json.h"

/* The member of params that `Mcp-Name` repeats for this method; p NULL: none. */
struct hf_span hf_mcp_name_member(struct hf_span method);

/* A scalar as a header value; false: null, absent, an object or an array, which have none. */
bool hf_mcp_value_add(struct hf_buf *out, struct hf_span json);
/* Whether a header says the same as the JSON scalar; numbers by their value. Never if it has
 * characters that no header may have, or is no base64 although it says so; p NULL: no header. */
bool hf_mcp_value_is(struct hf_span header, struct hf_span json);

/* NULL, or what is wrong with the annotations: such a tool must not be offered. */
const char *hf_mcp_schema_fault(struct hf_span schema);

/* Calls `each` for every annotated argument that has a value: the name behind `Mcp-Param-`, and the
 * raw value. Not for integers that JavaScript would round: they have no header. False from it ends
 * the walk, and is the result. */
typedef bool hf_mcp_each(void *context, struct hf_span name, struct hf_span value);
bool hf_mcp_params(struct hf_span schema, struct hf_span arguments, hf_mcp_each *each,
                   void *context);

#endif
