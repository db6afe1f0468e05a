/* http_verdict.c - what a client sends, in hex per line, in; the requests in it as a JSON array per
 * line out; for test/e2e/http_differential.test.mjs. The last item of a refused stream is its
 * status. Bytes are written as Latin-1 characters. */
#include "unit/hex_lines.h"
#include "unit/http_reader.h"

static void print_bytes(struct hf_span bytes)
{
    putchar('"');
    for (size_t i = 0; i < bytes.n; i++)
        printf("\\u%04x", (unsigned char)bytes.p[i]);
    putchar('"');
}

static void print_request(const struct reader *r)
{
    printf("{\"method\":");
    print_bytes(r->request.method);
    printf(",\"target\":");
    print_bytes(r->request.target);
    printf(",\"version\":\"1.%u\",\"keepAlive\":%s,\"headers\":[", r->request.head.minor,
           r->request.head.keeps_alive ? "true" : "false");
    for (size_t i = 0; i < r->request.head.header_count; i++) {
        printf("%s", i ? "," : "");
        print_bytes(r->request.head.headers[i].name);
        putchar(',');
        print_bytes(r->request.head.headers[i].value);
    }
    printf("],\"body\":");
    print_bytes(hf_buf_span(&r->body));
    putchar('}');
}

static void judge(struct hf_span in)
{
    putchar('[');
    for (const char *comma = ""; in.n; comma = ",") {
        struct reader r;
        reader_init(&r);
        reader_take(&r, &in);
        if (r.at == READER_DONE || r.at == READER_REFUSED)
            printf("%s", comma);
        if (r.at == READER_DONE)
            print_request(&r);
        if (r.at == READER_REFUSED)
            printf("%d", r.status);
        if (r.at != READER_DONE || !r.request.head.keeps_alive)
            in.n = 0;
        reader_done(&r);
    }
    puts("]");
}

int main(void)
{
    return each_hex_line(judge);
}
