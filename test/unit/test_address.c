/* test_address.c - addresses and networks as text, and which is in which. */
#include "io/address.h"
#include <arpa/inet.h>
#include <sys/socket.h>
#include "test.h"

static bool is_in(const char *network, const char *address)
{
    struct hf_network n;
    struct hf_address a;
    return hf_network_read(hf_span_of(network), &n) && hf_address_read(hf_span_of(address), &a) &&
           hf_network_has(&n, &a);
}

TEST(an_address_is_in_a_network_if_the_bits_that_count_are_the_same)
{
    CHECK(is_in("10.0.0.0/8", "10.255.1.2") && !is_in("10.0.0.0/8", "11.0.0.0"));
    CHECK(is_in("10.1.128.0/17", "10.1.200.3") && !is_in("10.1.128.0/17", "10.1.127.3"));
    CHECK(is_in("192.0.2.7", "192.0.2.7") && !is_in("192.0.2.7", "192.0.2.8"));
    CHECK(is_in("192.0.2.7/32", "::ffff:192.0.2.7") && is_in("0.0.0.0/0", "8.8.8.8"));
    CHECK(!is_in("0.0.0.0/0", "2001:db8::1") && is_in("::/0", "8.8.8.8"));
    CHECK(is_in("2001:db8::/33", "2001:db8:7fff::1") &&
          !is_in("2001:db8::/33", "2001:db8:8000::1"));
    CHECK(is_in("::1", "::1") && !is_in("::1", "127.0.0.1"));
}

TEST(an_address_may_have_a_port_and_brackets_and_nothing_else)
{
    struct hf_address a, b;
    CHECK(hf_address_read(HF_SPAN("192.0.2.7"), &a) &&
          hf_address_read(HF_SPAN("192.0.2.7:80"), &b));
    CHECK(memcmp(&a, &b, sizeof a) == 0);
    CHECK(hf_address_read(HF_SPAN("2001:db8::1"), &a) &&
          hf_address_read(HF_SPAN("[2001:db8::1]:443"), &b) && memcmp(&a, &b, sizeof a) == 0);
    static const char *const wrong[] = { "",          "unknown", "192.0.2",   "192.0.2.7, 1.2.3.4",
                                         "_hidden",   ":80",     "[",         "[]",
                                         "1.2.3.4.5", "a b",     "2001:db8:", "[2001:db8::1",
                                         "256.1.1.1" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(!hf_address_read(hf_span_of(wrong[i]), &a));
}

TEST(a_network_that_is_none_is_refused)
{
    struct hf_network n;
    static const char *const wrong[] = {
        "",       "/8",          "10.0.0.0/",     "10.0.0.0/33", "10.0.0.0/-1",
        "::/129", "10.0.0.0/8x", "10.0.0.0/0008", "*",           "proxy"
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(!hf_network_read(hf_span_of(wrong[i]), &n));
}

TEST(loopback_is_127_of_ipv4_and_one_of_ipv6)
{
    static const char *const near[] = { "127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1" };
    static const char *const far[] = { "128.0.0.1", "::2", "10.0.0.1", "::" };
    struct hf_address a;
    for (size_t i = 0; i < 4; i++) {
        CHECK(hf_address_read(hf_span_of(near[i]), &a) && hf_address_is_loopback(&a));
        CHECK(hf_address_read(hf_span_of(far[i]), &a) && !hf_address_is_loopback(&a));
    }
}

TEST(all_of_an_ipv6_64_is_one_party_and_each_ipv4_address_is_one)
{
    struct hf_address a, b;
    CHECK(hf_address_read(HF_SPAN("2001:db8:1:2:3::1"), &a) &&
          hf_address_read(HF_SPAN("2001:db8:1:2:ffff::2"), &b));
    const struct hf_address same[] = { hf_address_of_party(&a), hf_address_of_party(&b) };
    CHECK(memcmp(&same[0], &same[1], sizeof same[0]) == 0);
    CHECK(hf_address_read(HF_SPAN("192.0.2.1"), &a) && hf_address_read(HF_SPAN("192.0.2.2"), &b));
    const struct hf_address other[] = { hf_address_of_party(&a), hf_address_of_party(&b) };
    CHECK(memcmp(&other[0], &other[1], sizeof other[0]) != 0);
}

TEST(the_address_of_a_socket_is_the_one_that_its_text_says_and_a_unix_socket_has_none)
{
    struct hf_address found, right;
    struct sockaddr_storage socket = { .ss_family = AF_UNIX };
    CHECK(!hf_address_of_socket(&socket, &found));
    struct sockaddr_in *four = (void *)&socket;
    four->sin_family = AF_INET;
    CHECK(inet_pton(AF_INET, "192.0.2.7", &four->sin_addr) == 1);
    REQUIRE(hf_address_of_socket(&socket, &found));
    CHECK(hf_address_read(HF_SPAN("192.0.2.7"), &right));
    CHECK(memcmp(&found, &right, sizeof found) == 0);
    struct sockaddr_in6 *six = (void *)&socket;
    six->sin6_family = AF_INET6;
    for (size_t i = 0; i < 2; i++) {
        const char *text = i ? "2001:db8::7" : "::ffff:192.0.2.7";
        CHECK(inet_pton(AF_INET6, text, &six->sin6_addr) == 1);
        REQUIRE(hf_address_of_socket(&socket, &found));
        CHECK(hf_address_read(hf_span_of(text), &right));
        CHECK(memcmp(&found, &right, sizeof found) == 0);
    }
}
