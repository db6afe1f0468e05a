/*
 * http_client_sockets.h - the descriptors of libcurl's connections, and the watches on them.
 * Private to io/http_client*.c.
 *
 * When libcurl 7.88 gives up connecting, it closes the socket first and tells us to stop watching
 * it only afterwards, when its number may already be used again. So libcurl's descriptor is never
 * watched: we make each socket, keep a copy of the descriptor, and watch that.
 *
 * 1. A watched descriptor is ours and open: libcurl cannot close it.
 * 2. A connection that libcurl has closed is closed for its peer too, before control returns to
 *    the loop.
 * 3. A connection that is idle longer than keep_alive_ms is shut down, so that libcurl does not use
 *    it again.
 * 4. So is an idle connection on which bytes or a close arrive: libcurl 7.88 takes the closing
 *    message of a TLS server for a sign of life and sends a request, whose outcome is then unknown.
 */
#ifndef HF_IO_HTTP_CLIENT_SOCKETS_H
#define HF_IO_HTTP_CLIENT_SOCKETS_H

#include <stddef.h>
#include "io/loop.h"

struct hf_socket;

struct hf_sockets { /* of all peers of one client */
    struct hf_loop *loop;
    void (*on_ready)(void *owner, int fd, unsigned events);
    void (*on_early_close)(void *owner);
    struct hf_socket **by_fd; /* by libcurl's number */
    size_t cap;
};

/* on_early_close: the peer closed a connection within a second of its last use. */
void hf_sockets_init(struct hf_sockets *sockets, struct hf_loop *loop,
                     void (*on_ready)(void *owner, int fd, unsigned events),
                     void (*on_early_close)(void *owner));
void hf_sockets_done(struct hf_sockets *sockets); /* after every owner has left */

/* -1: errno says why. `owner` is passed to the callbacks of this socket. */
int hf_sockets_open(struct hf_sockets *sockets, void *owner, uint32_t keep_alive_ms, int family,
                    int type, int protocol);
void hf_sockets_close(struct hf_sockets *sockets, int fd);
/* Closes all sockets of an owner that libcurl has not closed. */
void hf_sockets_leave(struct hf_sockets *sockets, const void *owner);

/* Sets the events that libcurl waits for on `fd`, which may be a descriptor that it made itself
 * (the pipe of a name lookup); 0: none. */
void hf_sockets_want(struct hf_sockets *sockets, void *owner, int fd, unsigned events);

#endif
