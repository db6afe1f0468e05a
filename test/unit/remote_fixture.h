/*
 * remote_fixture.h - what the tests of remote servers share: calls and their usual answer, scenes
 * with calls under way.
 */
#ifndef HF_REMOTE_FIXTURE_H
#define HF_REMOTE_FIXTURE_H

#include "engine_http.h"

#define CALL     "tools/call"
#define RESULT   "{\"content\":[]}"
#define HELLO    "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}}}"
#define NO_TOOLS "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}}"
#define BY_HAND  (HTTP(.by_hand = true))

static inline struct http_manners *http_of(const struct scene *s)
{
    return &manners_of(s->w, s->server)->http;
}

/* What one call met is met by a liveness check as well: its server is lost indeed. */
static inline void confirms_losses(const struct scene *s)
{
    http_of(s)->ping_status = 502;
}

static inline struct hf_settings with_status(int a, int b) /* that an operator vouches for */
{
    struct hf_settings settings = default_settings();
    const int statuses[] = { a, b };
    for (size_t i = 0; i < 2; i++) {
        const unsigned at = (unsigned)(statuses[i] - HF_STATUS_MIN);
        settings.refused_status.bits[at / 64] |= UINT64_C(1) << at % 64;
    }
    return settings;
}

static inline void calls(const struct scene *s, int from, int to)
{
    for (int id = from; id <= to; id++)
        client_calls(s->client, id, "echo");
}

static inline struct exchange *call_one(const struct scene *s) /* call 1 is under way */
{
    calls(s, 1, 1);
    return last_exchange(s->w, CALL);
}

/* A scene with `count` calls under way, all under session 1. */
static inline struct scene scene_with_calls(int count)
{
    struct scene s = remote_scene();
    calls(&s, 1, count);
    return s;
}

static inline void answer_all(const struct scene *s)
{
    for (size_t i = 0; i < exchanges(s->w, CALL); i++)
        if (nth_exchange(s->w, CALL, i)->post)
            exchange_answers(nth_exchange(s->w, CALL, i), RESULT);
}

static inline bool reason_says(const struct hf_server *server, const char *part)
{
    return span_has(hf_span_of(status_of(server).last_reason), part);
}

#endif
