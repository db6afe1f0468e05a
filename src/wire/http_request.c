/* http_request.c - see http_request.h. */
#include "wire/http_request.h"
#include "base/fold.h"
#include "wire/http_text.h"

static int take_version(struct hf_span *text, struct hf_http_head *head, const char **ret_why)
{
    switch (hf_http_head_version(text, head)) {
    case 400:
        return hf_http_bad(ret_why, 400, "the request line is not METHOD HF_HTTP_TARGET HTTP/1.1");
    case 505: return hf_http_bad(ret_why, 505, "only HTTP/1.1 and HTTP/1.0 are spoken here");
    default: break;
    }
    return hf_http_take_crlf(text)
               ? 0
               : hf_http_bad(ret_why, 400, "the request line does not end in CRLF");
}

static int take_request_line(struct hf_span *text, struct hf_http_request *request,
                             const char **ret_why)
{
    request->method = (struct hf_span) { text->p, hf_http_run(*text, HF_HTTP_TOKEN) };
    *text = hf_span_from(*text, request->method.n);
    if (!request->method.n || !hf_span_starts(*text, HF_SPAN(" ")))
        return hf_http_bad(ret_why, 400,
                           "the request line does not begin with a method and a space");
    *text = hf_span_from(*text, 1);
    request->target = (struct hf_span) { text->p, hf_http_run(*text, HF_HTTP_TARGET) };
    *text = hf_span_from(*text, request->target.n);
    if (!request->target.n || !hf_span_starts(*text, HF_SPAN(" ")))
        return hf_http_bad(ret_why, 400, "the target is empty or has a byte that must be escaped");
    *text = hf_span_from(*text, 1);
    const int status = take_version(text, &request->head, ret_why);
    if (status)
        return status;
    const bool is_star = hf_span_is(request->target, "*") && hf_span_is(request->method, "OPTIONS");
    if (request->target.p[0] != '/' && !is_star)
        return hf_http_bad(ret_why, 400, "the target has to be a path that begins with '/'");
    const char *query = memchr(request->target.p, '?', request->target.n);
    request->path = request->target;
    if (query)
        request->path.n = (size_t)(query - request->target.p);
    return 0;
}

static int check_host(const struct hf_http_head *head, const char **ret_why)
{
    const struct hf_span host = hf_http_header(head, HF_HTTP_HOST);
    if (head->counts[HF_HTTP_HOST] > 1)
        return hf_http_bad(ret_why, 400, "more than one Host");
    if (head->minor == 1 && !host.p)
        return hf_http_bad(ret_why, 400, "an HTTP/1.1 request needs a Host");
    if (hf_http_run(host, HF_HTTP_AUTHORITY) != host.n)
        return hf_http_bad(ret_why, 400, "Host is not a name and a port");
    return 0;
}

static int take_expect(struct hf_http_request *request, const char **ret_why)
{
    const struct hf_http_head *head = &request->head;
    request->expects_continue = head->counts[HF_HTTP_EXPECT] && head->minor == 1;
    if (!head->counts[HF_HTTP_EXPECT])
        return 0;
    for (size_t i = 0; i < head->header_count; i++)
        if (head->headers[i].known == HF_HTTP_EXPECT &&
            !hf_fold_is(head->headers[i].value, HF_SPAN("100-continue")))
            return hf_http_bad(ret_why, 417, "the only Expect known here is 100-continue");
    return 0;
}

int hf_http_request_parse(struct hf_span text, struct hf_http_request *ret_request,
                          const char **ret_why)
{
    int status = take_request_line(&text, ret_request, ret_why);
    if (!status)
        status = hf_http_head_fields(text, &ret_request->head, ret_why);
    if (!status)
        status = check_host(&ret_request->head, ret_why);
    return status ? status : take_expect(ret_request, ret_why);
}
