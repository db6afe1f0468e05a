/* client_call.h - a client's call as its owner sees it. */
#ifndef HF_CORE_INBOX_CLIENT_CALL_H
#define HF_CORE_INBOX_CLIENT_CALL_H

#include "core/state/call.h"

extern const struct hf_call_owner hf_client_call_owner;

#endif
