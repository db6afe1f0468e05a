/* frame.h - the bytes of a request on their way into a server's stdin. */
#ifndef HF_CORE_CALL_FRAME_H
#define HF_CORE_CALL_FRAME_H

#include <stddef.h>
#include "base/span.h"

struct hf_call;

void hf_call_cut(struct hf_call *call, struct hf_span span, struct hf_span by);
/* Something that the call keeps in memory had `before` bytes, and has `now` bytes. */
void hf_call_weigh(struct hf_call *call, size_t before, size_t now);
void hf_frame_build(struct hf_call *call);
/* The call was answered before the newline of its line was written: the newline becomes a frame of
 * its own. */
void hf_frame_leave_newline(struct hf_call *call);
struct hf_notice *hf_notice_new(struct hf_span message); /* made one line of */

#endif
