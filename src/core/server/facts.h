/* facts.h - what is known of a server, and what of it changed. */
#ifndef HF_CORE_SERVER_FACTS_H
#define HF_CORE_SERVER_FACTS_H

#include <stdint.h>
#include "base/err.h"
#include "core/state/server.h"

/* What clients are shown of this part of the server has changed. */
void hf_server_list_changed(struct hf_server *server, enum hf_part_id part);
/* Clients are to be told of `part`; unless it was only announced, it has changed as well. */
void hf_server_news(struct hf_server *server, enum hf_part_id part, enum hf_news news);
/* Why the server was last lost, or could not be started: for people. */
void hf_server_reason(struct hf_server *server, const char *format, ...) HF_PRINTF(2, 3);
/* No attempt earlier than that, because the server asked for it; -1: it did not. */
void hf_server_not_before(struct hf_server *server, int64_t retry_after_ms);

#endif
