/* test_http_chunks.c - what is special about chunked bodies; test_http_request.c reads them within
 * their requests, cut anywhere. */
#include "test.h"
#include "wire/http_chunks.h"

TEST(trailers_have_a_bound)
{
    struct hf_chunks chunks;
    struct hf_span bytes = HF_SPAN("0\r\n"), data;
    hf_chunks_init(&chunks);
    CHECK(hf_chunks_next(&chunks, &bytes, &data) == HF_CHUNK_MORE && bytes.n == 0);
    enum hf_chunk_status status = HF_CHUNK_MORE;
    unsigned lines = 0;
    for (; lines < 10000 && status == HF_CHUNK_MORE; lines++) {
        bytes = HF_SPAN("x: y\r\n");
        status = hf_chunks_next(&chunks, &bytes, &data);
    }
    CHECK(status == HF_CHUNK_BAD && lines > 100 && lines < 1000);
    bytes = HF_SPAN("\r\n\r\n");
    CHECK_EQ(hf_chunks_next(&chunks, &bytes, &data), HF_CHUNK_BAD); /* for good */
}

TEST(nothing_is_taken_from_behind_the_last_chunk)
{
    struct hf_chunks chunks;
    struct hf_span bytes = HF_SPAN("1\r\nx\r\n0\r\n\r\n5\r\nhello"), data;
    hf_chunks_init(&chunks);
    CHECK(hf_chunks_next(&chunks, &bytes, &data) == HF_CHUNK_MORE && hf_span_is(data, "x"));
    CHECK(hf_chunks_next(&chunks, &bytes, &data) == HF_CHUNK_END && data.n == 0);
    CHECK(hf_chunks_next(&chunks, &bytes, &data) == HF_CHUNK_END &&
          hf_span_is(bytes, "5\r\nhello"));
}

TEST(a_chunk_may_be_larger_than_32_bits_say)
{
    struct hf_chunks chunks;
    struct hf_span bytes = HF_SPAN("fFfFfFfFfFfFfFf\r\nxyz"), data;
    hf_chunks_init(&chunks);
    CHECK(hf_chunks_next(&chunks, &bytes, &data) == HF_CHUNK_MORE && hf_span_is(data, "xyz"));
    CHECK_EQ(chunks.left, 0xfffffffffffffffu - 3);
}
