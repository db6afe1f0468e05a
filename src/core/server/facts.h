/* facts.h - what is known of a server, and what of it changed. */
#ifndef HF_CORE_SERVER_FACTS_H
#define HF_CORE_SERVER_FACTS_H

#include <stdint.h>
#include "base/err.h"
#include "core/state/server.h"

/* What clients are shown of it is not what it was. */
void hf_server_list_changed(struct hf_server *server, enum hf_part_id part);
/* The same, and clients are to be told. */
void hf_server_news(struct hf_server *server, enum hf_part_id part, enum hf_news news);
/* Why it was last lost, or could not be started: for people. */
void hf_server_reason(struct hf_server *server, const char *format, ...) HF_PRINTF(2, 3);
void hf_server_not_before(struct hf_server *server, int64_t retry_after_ms); /* -1: no such wish */

#endif
