/* seam.h - where a call waits for somebody else: for leave to be sent, or for its answer to be
 * kept. */
#ifndef HF_CORE_CALL_SEAM_H
#define HF_CORE_CALL_SEAM_H

#include <stdbool.h>

struct hf_answer;
struct hf_call;
struct hf_kept_answer;

/* hf_seam_must_clear and hf_seam_must_keep say whether a call must ask for leave, before dispatch
 * and before its answer leaves, where somebody uses that seam. */
bool hf_seam_must_clear(const struct hf_call *call);
void hf_seam_clear(struct hf_call *call);   /* asks for leave to send the call */
void hf_seam_cleared(struct hf_call *call); /* the call waits for leave no more */
void hf_seam_too_late(struct hf_call *call);
bool hf_seam_must_keep(const struct hf_call *call, const struct hf_answer *answer);
void hf_seam_keep(struct hf_call *call, const struct hf_answer *answer);
void hf_seam_let_go(struct hf_call *call); /* sends the answer that was kept */

#endif
