/*
 * listen.h - what an address to listen on means: "127.0.0.1:7332", "[::1]:0", "localhost:80",
 * "unix:/run/holdfast.sock".
 *
 * Takes no names but localhost, so that without a lookup it is known which machines can reach it.
 * Opens nothing.
 */
#ifndef HF_IO_LISTEN_H
#define HF_IO_LISTEN_H

#include <stdint.h>
#include "base/err.h"

enum { HF_LISTEN_ADDRESS_MAX = 108 }; /* a socket's path with its NUL: all that sun_path holds */

struct hf_listen {
    bool is_unix, is_ipv6;
    bool is_loopback;                    /* only this machine can reach it; true of unix sockets */
    char address[HF_LISTEN_ADDRESS_MAX]; /* canonical, without brackets; or the socket's path */
    uint16_t port;                       /* 0: any free port */
};

HF_MUST_CHECK bool hf_listen_read(const char *text, struct hf_listen *ret, struct hf_err *err);

#endif
