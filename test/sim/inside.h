/* inside.h - what the simulator's checks see of the engine beyond its interface (core/engine.h). */
#ifndef HF_SIM_INSIDE_H
#define HF_SIM_INSIDE_H

#include "core/bridge/park.h"
#include "core/call/party.h"
#include "core/catalog/part.h"
#include "core/client/audience.h"
#include "core/client/policy.h"
#include "core/client/session.h"
#include "core/outbox.h"
#include "core/remote/exchange.h"
#include "core/remote/refusal.h"
#include "core/remote/remote.h"
#include "core/server/server.h"
#include "core/server/server_request.h"
#include "core/state/call.h"
#include "core/state/engine_state.h"
#include "core/state/runtime.h"
#include "core/state/server.h"
#include "core/state/session.h"
#include "core/subscription/listener.h"
#include "core/subscription/subscription.h"

#endif
