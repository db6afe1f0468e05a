/* reviews.h - what is looked at again once events have been handled. */
#ifndef HF_CORE_REVIEWS_H
#define HF_CORE_REVIEWS_H

struct hf_engine;
struct hf_server;

void hf_reviews_drain(struct hf_engine *engine);
void hf_server_forget(struct hf_server *server);

#endif
