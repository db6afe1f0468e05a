/* seam.h - where a call waits for somebody else. */
#ifndef HF_CORE_CALL_SEAM_H
#define HF_CORE_CALL_SEAM_H

#include <stdbool.h>

struct hf_answer;
struct hf_call;
struct hf_kept_answer;

/* Where somebody uses the seam: whether this call must ask, before dispatch and at its end. */
bool hf_seam_must_clear(const struct hf_call *call);
void hf_seam_clear(struct hf_call *call);   /* asks for leave to send it */
void hf_seam_cleared(struct hf_call *call); /* it waits for that no more */
void hf_seam_too_late(struct hf_call *call);
bool hf_seam_must_keep(const struct hf_call *call, const struct hf_answer *answer);
void hf_seam_keep(struct hf_call *call, const struct hf_answer *answer);
void hf_seam_let_go(struct hf_call *call); /* the answer that was kept leaves */

#endif
