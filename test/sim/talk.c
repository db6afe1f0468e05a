/* talk.c - what children say: to what they were asked, and to what they were not. */
#include <inttypes.h>
#include <signal.h>
#include "sim.h"

static void add_line(struct child *child)
{
    hf_buf_add_char(&child->out, '\n');
}

static void say(struct child *child, const char *text)
{
    hf_buf_add_str(&child->out, text);
    add_line(child);
}

/* ---- answers ---- */

static void add_tools(struct sim *sim, struct child *child, const struct pending *p)
{
    const bool paged =
        child->is.loops_pages || child->is.lists_too_much || (child->serial & 3) == 0;
    if (!p->is_second_page)
        child->listing_variant = child->instance->variant;
    const unsigned v = child->listing_variant;
    const char *own =
        p->is_modern && v & 1
            ? "{\"name\":\"put\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"a\":{"
              "\"type\":\"string\",\"x-mcp-header\":\"A\"}}}},{\"name\":\"idem\",\"annotations\":{"
              "\"idempotentHint\":true}}"
            : "{\"name\":\"put\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"idem\","
              "\"annotations\":{\"idempotentHint\":true}}";
    hf_buf_add_str(&child->out, "\"tools\":[");
    if (child->is.lists_too_much) { /* each page fits, all together do not */
        hf_buf_printf(&child->out, "{\"name\":\"big%d\",\"description\":\"%0*d\"},",
                      p->is_second_page, 5000, 0);
        child->listed_badly = true;
    }
    if (paged && !p->is_second_page) {
        hf_buf_printf(&child->out, "%s],\"nextCursor\":\"c\"", own);
        return;
    }
    if (!paged)
        hf_buf_printf(&child->out, "%s,", own);
    hf_buf_printf(&child->out, "{\"name\":\"v%u\"}]", v);
    if (child->is.loops_pages)
        hf_buf_add_str(&child->out, ",\"nextCursor\":\"c\"");
    child->listed |= UINT64_C(1) << (v % 64);
    TRACE(sim, "  child %u listed variant %u", child->serial, v);
}

static void add_list(struct sim *sim, struct child *child, const struct pending *p)
{
    const int seat = child->instance->seat;
    switch (p->part) {
    case HF_PART_TOOLS: add_tools(sim, child, p); break;
    case HF_PART_PROMPTS:
        hf_buf_printf(&child->out, "\"prompts\":[{\"name\":\"p\"},{\"name\":\"p%u\"}]",
                      child->instance->variant / 4);
        break;
    case HF_PART_RESOURCES:
        hf_buf_printf(&child->out, "\"resources\":[{\"uri\":\"res://%d/1\"}]", seat);
        break;
    default:
        hf_buf_printf(&child->out, "\"resourceTemplates\":[{\"uriTemplate\":\"tpl://%d/{x}\"}]",
                      seat);
        break;
    }
}

static void add_capabilities(const struct child *child, struct hf_buf *out)
{
    const struct instance *i = child->instance;
    hf_buf_add_str(out, "\"capabilities\":{\"x\":{}");
    if (i->lists_tools)
        hf_buf_add_str(out, ",\"tools\":{\"listChanged\":true}");
    if (i->lists_prompts)
        hf_buf_add_str(out, ",\"prompts\":{}");
    if (i->lists_resources)
        hf_buf_add_str(out, ",\"resources\":{\"subscribe\":true}");
    if (i->has_logging)
        hf_buf_add_str(out, ",\"logging\":{}");
    if (i->has_tasks)
        hf_buf_add_str(out, ",\"tasks\":{}");
    hf_buf_add_char(out, '}');
}

static void add_hello(const struct child *child, struct hf_buf *out)
{
    hf_buf_add_str(out, "\"protocolVersion\":\"2025-06-18\",");
    add_capabilities(child, out);
    hf_buf_printf(out, ",\"serverInfo\":{\"name\":\"s%d\",\"version\":\"%u\"}",
                  child->instance->seat, child->serial);
}

static void add_discover(struct child *child)
{
    child->era.is_modern = true;
    hf_buf_add_str(&child->out, "\"supportedVersions\":[\"" HF_MODERN_VERSION "\"],");
    add_capabilities(child, &child->out);
    hf_buf_printf(&child->out,
                  ",\"_meta\":{\"" HF_META_SERVER "\":{\"name\":\"s%d\",\"version\":\"%u\"}}",
                  child->instance->seat, child->serial);
}

void talk_error(struct child *child, uint64_t id, int code)
{
    hf_buf_printf(&child->out,
                  "{\"jsonrpc\":\"2.0\",\"id\":%" PRIu64 ",\"error\":{\"code\":%d,\"message\":"
                  "\"no\"}}\n",
                  id, code);
}

static void note_answer(struct child *child, struct request *r)
{
    if (child->runtime && child->life == ALIVE && !child->stdout_closed && !child->said_silent &&
        r->holder == child && r->holder_serial == child->serial &&
        (r->state == OPEN || r->state == PARKED))
        r->answered_by = child->serial;
}

static void say_result(struct sim *sim, struct child *child, const struct pending *p)
{
    struct request *r = p->request < 0 ? NULL : &sim->requests[p->request];
    if (r)
        note_answer(child, r);
    if (r && r->kind == ASK_READ && r->target != child->instance) {
        talk_error(child, p->id, p->is_modern ? -32602 : -32002);
        return;
    }
    if (r && !child->is_sane && chance(sim, 10)) {
        talk_error(child, p->id, -32050);
        return;
    }
    const bool id_last = p->id & 1;
    hf_buf_add_str(&child->out, "{\"jsonrpc\":\"2.0\",");
    if (!id_last)
        hf_buf_printf(&child->out, "\"id\":%" PRIu64 ",", p->id);
    hf_buf_add_str(&child->out, "\"result\":{");
    if (p->is_modern && p->what != SAY_INPUT)
        hf_buf_printf(&child->out, "\"resultType\":\"complete\"%s", p->what == SAY_DONE ? "" : ",");
    switch (p->what) {
    case SAY_HELLO:
        child->era.has_said_hello = true;
        add_hello(child, &child->out);
        break;
    case SAY_DISCOVER: add_discover(child); break;
    case SAY_INPUT: modern_say_input(sim, child, p); break;
    case SAY_LIST: add_list(sim, child, p); break;
    case SAY_RESULT:
        hf_buf_printf(&child->out, "\"id\":7,\"_k\":%d,\"from\":%u", p->request, child->serial);
        if (r && r->kind <= ASK_GIVEN && child->instance->has_tasks && p->request % 3 == 0)
            hf_buf_printf(&child->out, ",\"task\":{\"taskId\":\"t%d.%d\"}",
                          (int)(child->instance - sim->instances), p->request);
        break;
    case SAY_NO_HELLO:
    case SAY_DONE: break;
    }
    hf_buf_add_char(&child->out, '}');
    if (id_last)
        hf_buf_printf(&child->out, ",\"id\":%" PRIu64, p->id);
    hf_buf_add_str(&child->out, "}\n");
}

void talk_answer(struct sim *sim, struct child *child, struct pending *pending)
{
    if (pending->what == SAY_LIST && child->is.fails_lists && chance(sim, 40)) {
        child->listed_badly = true;
        talk_error(child, pending->id, -32603);
        return;
    }
    if (pending->what == SAY_NO_HELLO)
        talk_error(child, pending->id, -(int)PICK(sim, 32022, 32601, 32602));
    else
        say_result(sim, child, pending);
}

void talk_owe(struct sim *sim, struct child *child, struct pending pending, uint64_t delay_ms)
{
    pending.due_ms = delay_ms == UINT64_MAX ? UINT64_MAX : sim->now_ms + delay_ms;
    if (child->pending_count < PENDING_MAX)
        child->pending[child->pending_count++] = pending;
    else
        talk_answer(sim, child, &pending);
}

/* ---- bad ends of a call ---- */

bool talk_too_much(struct sim *sim, struct child *child, uint64_t id)
{
    const size_t least = (size_t)sim->limits.max_message_bytes + 1;
    if (least > 20000)
        return false;
    hf_buf_printf(&child->out, "{\"jsonrpc\":\"2.0\",\"result\":{\"id\":5,\"pad\":\"");
    if (!hf_buf_reserve(&child->out, least))
        abort();
    memset(child->out.p + child->out.end, 'x', least);
    child->out.end += least;
    hf_buf_printf(&child->out, "\"},\"id\":%" PRIu64 "}\n", id);
    return true;
}

static void say_half(struct sim *sim, struct child *child, const struct pending *pending)
{
    const size_t before = hf_buf_len(&child->out);
    struct request *r = &sim->requests[pending->request];
    const unsigned answered_by = r->answered_by;
    say_result(sim, child, pending);
    r->answered_by = answered_by;
    const size_t n = hf_buf_len(&child->out) - before;
    child->out.end -= 2 + below(sim, (uint32_t)n - 2); /* the newline and at least the brace */
}

void talk_ask(struct sim *sim, struct child *child, int request)
{
    static const enum inquiry kinds[] = { INQUIRE_SAMPLING, INQUIRE_ROOTS, INQUIRE_ELICITATION,
                                          INQUIRE_PING, INQUIRE_ODD };
    inquire_ask(child, kinds[below(sim, 5)], request);
}

void talk_progress(struct sim *sim, struct child *child, const struct pending *pending)
{
    hf_buf_printf(&child->out,
                  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
                  "\"progressToken\":%" PRIu64 ",\"progress\":%u}}\n",
                  pending->id, 1 + below(sim, 3));
    if (pending->request >= 0)
        sim->requests[pending->request].may_be_extended = true;
}

void talk_log(struct child *child, int request)
{
    hf_buf_printf(&child->out,
                  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{"
                  "\"level\":\"info\",\"data\":%u",
                  child->serial);
    if (request >= 0)
        hf_buf_printf(&child->out, ",\"_k\":%d", request);
    say(child, "}}");
}

void talk_news(struct child *child)
{
    child->announced = child->instance->variant;
    hf_buf_add_str(&child->out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/"
                                "list_changed\",\"params\":{");
    modern_add_tag(child);
    say(child, "}}");
}

void talk_update(struct child *child)
{
    hf_buf_printf(&child->out,
                  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\","
                  "\"params\":{\"uri\":\"res://%d/1\"%s",
                  child->instance->seat, child->era.listen_count ? "," : "");
    modern_add_tag(child);
    say(child, "}}");
}

static void meet_fate(struct sim *sim, struct child *child, struct pending pending)
{
    const int status = child->is.exits_clean ? 0 : SIGABRT;
    const uint32_t fate = below(sim, 16);
    TRACE(sim, "  child %u: fate %u for request %d", child->serial, fate, pending.request);
    if (fate != 0)
        request_runs(sim, pending.request);
    switch (fate) {
    case 0:
    case 1: child_die(sim, child, status); break;
    case 2:
        say_half(sim, child, &pending);
        child_die(sim, child, status);
        break;
    case 3:
        say_result(sim, child, &pending);
        child_die(sim, child, status);
        break;
    case 4: talk_owe(sim, child, pending, UINT64_MAX); break;
    case 5:
        say_result(sim, child, &pending);
        say_result(sim, child, &pending);
        break;
    case 6:
        talk_error(child, pending.id + HF_CALLS_MAX, -32050);
        say_result(sim, child, &pending);
        break;
    case 7:
        hf_buf_printf(&child->out, "{\"jsonrpc\":\"2.0\",\"id\":%" PRIu64 ",\"result\":nul}\n",
                      pending.id);
        break;
    case 8:
        if (!talk_too_much(sim, child, pending.id))
            say_result(sim, child, &pending);
        break;
    case 9: talk_error(child, pending.id, -32050); break;
    case 10:
        talk_progress(sim, child, &pending);
        talk_owe(sim, child, pending, below(sim, 50));
        break;
    case 11:
        talk_ask(sim, child, -1);
        talk_owe(sim, child, pending, below(sim, 2000));
        break;
    case 12: /* stopped for good, like SIGSTOP */
        child->is.stops_reading = true;
        talk_owe(sim, child, pending, UINT64_MAX);
        break;
    case 13:
        hf_buf_printf(&child->out, "{\"jsonrpc\":\"2.0\",\"id\":%" PRIu64 "}\n", pending.id);
        break;
    case 14:
        child->is.closes_stdout = true;
        talk_owe(sim, child, pending, child->is.delay_ms);
        break;
    default:
        say(child, "Listening on nothing at all\n\n{}\n[1,2]");
        talk_owe(sim, child, pending, child->is.delay_ms);
        break;
    }
}

/* ---- what it is told ---- */

static void take_call(struct sim *sim, struct child *child, struct pending pending)
{
    if (child->life != ALIVE) { /* a descendant: it can run it, and its answer may come too late */
        request_runs(sim, pending.request);
        if (pending.request >= 0 && chance(sim, 50))
            say_result(sim, child, &pending);
        return;
    }
    if (pending.request >= 0 && chance(sim, child->is.evil)) {
        meet_fate(sim, child, pending);
        return;
    }
    if (inquire_first(sim, child, &pending))
        return;
    request_runs(sim, pending.request);
    if (!inquire(sim, child, pending))
        talk_owe(sim, child, pending, chance(sim, 60) ? 0 : below(sim, child->is.delay_ms + 1));
}

static void take_list(struct sim *sim, struct child *child, struct pending pending,
                      const struct hf_msg *msg)
{
    pending.is_second_page = hf_json_get(msg->params, HF_SPAN("cursor")).p != NULL;
    if (chance(sim, child->is.evil / 8) && talk_too_much(sim, child, pending.id)) {
        child->listed_badly = true;
    } else if (chance(sim, child->is.evil / 8)) {
        child->listed_badly = true;
        say(child, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,\"message\":\"?\"}}");
    } else {
        talk_owe(sim, child, pending, below(sim, child->is.delay_ms / 4 + 1));
    }
}

static void take_initialize(struct sim *sim, struct child *child, struct pending pending)
{
    child->era.was_greeted |= child->speaks != SPEAKS_MODERN;
    if (child->is.dies_in_start)
        child_die(sim, child, 1 << 8);
    else if (child->speaks == SPEAKS_MODERN)
        modern_take_hello(sim, child, pending);
    else if (child->is.hangs_in_start)
        talk_owe(sim, child, pending, UINT64_MAX);
    else if (chance(sim, child->is.evil / 8))
        talk_error(child, pending.id, -32602);
    else
        talk_owe(sim, child, pending, below(sim, child->is.delay_ms + 1));
}

static void take_cancel(struct sim *sim, struct child *child, const struct hf_msg *msg)
{
    int64_t id;
    if (!hf_json_int(hf_json_get(msg->params, HF_SPAN("requestId")), &id))
        return;
    modern_take_cancel(sim, child, (uint64_t)id);
    const bool is_deaf = chance(sim, 30);
    for (unsigned i = 0; i < child->pending_count; i++)
        if (child->pending[i].id == (uint64_t)id) {
            inquire_taken_back(sim, child->pending[i].request);
            if (is_deaf)
                return;
            child->pending[i] = child->pending[--child->pending_count];
            return;
        }
}

struct pending talk_asked(enum hf_method_id method, uint64_t id, int request)
{
    struct pending pending = { .id = id, .what = SAY_DONE, .request = request };
    if (request >= 0)
        pending.what = SAY_RESULT;
    else if (method == HF_METHOD_INITIALIZE)
        pending.what = SAY_HELLO;
    for (enum hf_part_id part = 0; part < HF_PART_COUNT && request < 0; part++)
        if (hf_part_traits(part)->list == method) {
            pending.what = SAY_LIST;
            pending.part = part;
        }
    return pending;
}

/* What it asked is answered once, by whoever was asked, or by us. */
void talk_heard_answer(struct sim *sim, struct child *child, struct hf_span id)
{
    if (id.n < 3 || id.p[1] != 'a') /* a number that it made up, or a ping of a flood */
        return;
    const uint64_t number = strtoull(id.p + 2, NULL, 10);
    const uint64_t bit = UINT64_C(1) << (number % 64);
    if (number == 0 || number > child->next_ask || child->next_ask >= 64)
        return;
    if (child->answered_asks & bit)
        sim_broken(sim, PROMISE_P1, "question %u of child %u was answered twice", (unsigned)number,
                   child->serial);
    child->answered_asks |= bit;
}

void talk_take_request(struct sim *sim, struct child *child, struct pending pending,
                       const struct hf_msg *msg)
{
    if (pending.request >= 0) {
        take_call(sim, child, pending);
        return;
    }
    if (child->life != ALIVE)
        return;
    if (hf_method_find(msg->method)->id == HF_METHOD_DISCOVER)
        modern_take_probe(sim, child, pending);
    else if (pending.what == SAY_HELLO)
        take_initialize(sim, child, pending);
    else if (pending.what == SAY_LIST)
        take_list(sim, child, pending, msg);
    else
        talk_owe(sim, child, pending, 0); /* ping, what clients had set */
}

void talk_receive(struct sim *sim, struct child *child, struct hf_span text, int request)
{
    struct hf_msg msg;
    struct hf_err err;
    int64_t id = 0;
    if (hf_msg_parse(text, 64, &msg, &err) != HF_MSG_OK) {
        sim_broken(sim, PROMISE_INNER, "a server was sent what is no message: %s", err.text);
        return;
    }
    const enum hf_method_id method = hf_method_find(msg.method)->id;
    if (!modern_check_words(sim, child, &msg, request))
        return;
    if (msg.kind == HF_MSG_NOTIFICATION && method == HF_METHOD_CANCELLED)
        take_cancel(sim, child, &msg);
    if (msg.kind == HF_MSG_RESULT || msg.kind == HF_MSG_ERROR)
        inquire_heard(sim, child, &msg);
    if (msg.kind != HF_MSG_REQUEST)
        return;
    if (!hf_json_int(msg.id, &id))
        sim_broken(sim, PROMISE_INNER, "a server was sent a client's own id");
    listen_subscribed(child, &msg);
    const struct pending pending = talk_asked(method, (uint64_t)id, request);
    /* one of both eras that was greeted speaks the older one on this connection, whoever asks */
    const bool is_modern = hf_era_is_modern(&msg) && child->speaks != SPEAKS_LEGACY &&
                           !child->era.has_said_hello && method != HF_METHOD_DISCOVER;
    if (is_modern)
        modern_take_request(sim, child, pending, &msg);
    else
        talk_take_request(sim, child, pending, &msg);
}

/* ---- what nobody asked for ---- */

void talk_noise(struct sim *sim, struct child *child)
{
    switch (below(sim, 12)) {
    case 0: child->instance->variant += chance(sim, 50); /* fallthrough */
    case 1: talk_news(child); break;
    case 2:
        say(child, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/list_changed\"}");
        break;
    case 3: talk_log(child, -1); break;
    case 4: talk_ask(sim, child, -1); break;
    case 5:
        say(child, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
                   "\"progressToken\":99,\"progress\":1}}");
        break;
    case 6: talk_error(child, below(sim, 1u << 30), 3); break;
    case 7: say(child, "\xff\xfe not JSON { \"id\": 3"); break;
    case 8:
        hf_buf_printf(&child->out,
                      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                      "\"requestId\":\"a%" PRIu64 "\"}}\n",
                      child->next_ask);
        break;
    case 9: talk_update(child); break;
    case 10: (void)talk_too_much(sim, child, 1); break;
    default:
        for (uint32_t n = 5 + below(sim, 20); n > 0; n--)
            hf_buf_printf(&child->out, "{\"jsonrpc\":\"2.0\",\"id\":\"f%u\",\"method\":\"ping\"}\n",
                          n);
        break;
    }
}
