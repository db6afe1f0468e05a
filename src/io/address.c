/* address.c - see address.h. */
#include "io/address.h"
#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

enum { TEXT_MAX = INET6_ADDRSTRLEN, MAPPED_BITS = 96, PREFIX_BYTES = 8 };

static const uint8_t mapped[MAPPED_BITS / 8] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

bool hf_address_of_socket(const struct sockaddr_storage *socket, struct hf_address *ret)
{
    if (socket->ss_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const void *)socket;
        memcpy(ret->bytes, &six->sin6_addr, sizeof ret->bytes);
    } else if (socket->ss_family == AF_INET) {
        const struct sockaddr_in *four = (const void *)socket;
        memcpy(ret->bytes, mapped, sizeof mapped);
        memcpy(ret->bytes + sizeof mapped, &four->sin_addr, sizeof four->sin_addr);
    }
    return socket->ss_family == AF_INET6 || socket->ss_family == AF_INET;
}

/* The address without brackets and port. */
static struct hf_span bare(struct hf_span text)
{
    const char *end = text.n && text.p[0] == '[' ? memchr(text.p, ']', text.n) : NULL;
    if (end)
        return (struct hf_span) { text.p + 1, (size_t)(end - text.p) - 1 };
    const char *colon = text.n ? memchr(text.p, ':', text.n) : NULL;
    const bool is_only_one =
        colon && !memchr(colon + 1, ':', text.n - (size_t)(colon - text.p) - 1);
    return is_only_one ? (struct hf_span) { text.p, (size_t)(colon - text.p) } : text;
}

bool hf_address_read(struct hf_span text, struct hf_address *ret)
{
    char copy[TEXT_MAX];
    text = bare(text);
    if (text.n == 0 || text.n >= sizeof copy)
        return false;
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    memcpy(ret->bytes, mapped, sizeof mapped);
    return inet_pton(AF_INET, copy, ret->bytes + sizeof mapped) == 1 ||
           inet_pton(AF_INET6, copy, ret->bytes) == 1;
}

static bool is_mapped(const struct hf_address *address)
{
    return memcmp(address->bytes, mapped, sizeof mapped) == 0;
}

/* One to three digits. */
static bool read_bits(struct hf_span text, unsigned *ret)
{
    *ret = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (i == 3 || text.p[i] < '0' || text.p[i] > '9')
            return false;
        *ret = *ret * 10 + (unsigned)(text.p[i] - '0');
    }
    return text.n > 0;
}

bool hf_network_read(struct hf_span text, struct hf_network *ret)
{
    const char *slash = text.n ? memchr(text.p, '/', text.n) : NULL;
    const struct hf_span address = { text.p, slash ? (size_t)(slash - text.p) : text.n };
    unsigned bits = 0;
    if (memchr(address.p, '[', address.n) || !hf_address_read(address, &ret->address))
        return false;
    const unsigned before = is_mapped(&ret->address) ? MAPPED_BITS : 0, most = 128 - before;
    if (slash && !read_bits(hf_span_from(text, address.n + 1), &bits))
        return false;
    if (bits > most)
        return false;
    ret->bits = slash ? before + bits : 128;
    return true;
}

bool hf_network_has(const struct hf_network *network, const struct hf_address *address)
{
    const unsigned whole = network->bits / 8, rest = network->bits % 8;
    if (memcmp(network->address.bytes, address->bytes, whole) != 0)
        return false;
    const unsigned mask = rest ? 0xffU << (8 - rest) & 0xffU : 0;
    return !rest || ((network->address.bytes[whole] ^ address->bytes[whole]) & mask) == 0;
}

bool hf_address_is_loopback(const struct hf_address *address)
{
    static const struct hf_address one = { { [HF_ADDRESS_SIZE - 1] = 1 } };
    return memcmp(address, &one, sizeof one) == 0 ||
           (is_mapped(address) && address->bytes[sizeof mapped] == 127);
}

struct hf_address hf_address_of_party(const struct hf_address *address)
{
    struct hf_address party = *address;
    if (!is_mapped(address))
        memset(party.bytes + PREFIX_BYTES, 0, sizeof party.bytes - PREFIX_BYTES);
    return party;
}
