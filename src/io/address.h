/*
 * address.h - addresses of machines and networks, as numbers: "192.0.2.7", "2001:db8::1",
 * "10.0.0.0/8".
 *
 * An IPv4 address is held as its IPv4-mapped IPv6 address, so that each has one form. Looks nothing
 * up.
 */
#ifndef HF_IO_ADDRESS_H
#define HF_IO_ADDRESS_H

#include <stdint.h>
#include "base/err.h"
#include "base/span.h"

enum { HF_ADDRESS_SIZE = 16 };

struct hf_address {
    uint8_t bytes[HF_ADDRESS_SIZE];
};

struct hf_network {
    struct hf_address address;
    unsigned bits; /* length of the prefix */
};

struct sockaddr_storage;

/* False: the socket has no address (a unix socket). */
HF_MUST_CHECK bool hf_address_of_socket(const struct sockaddr_storage *socket,
                                        struct hf_address *ret);
/* False: the text is no address. Takes "[::1]:80" and "192.0.2.7:80" too: proxies write ports. */
HF_MUST_CHECK bool hf_address_read(struct hf_span text, struct hf_address *ret);
/* An address, or "ADDRESS/BITS". */
HF_MUST_CHECK bool hf_network_read(struct hf_span text, struct hf_network *ret);
bool hf_network_has(const struct hf_network *network, const struct hf_address *address);
bool hf_address_is_loopback(const struct hf_address *address);
/* The part of an address that tells parties apart: a holder of one IPv6 address has a whole /64. */
struct hf_address hf_address_of_party(const struct hf_address *address);

#endif
