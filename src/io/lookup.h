/*
 * lookup.h - the addresses of a name, found by a thread, so that the loop never waits for them.
 *
 * 1. `on_found` is called from the loop, once, and not after hf_lookup_cancel.
 * 2. A thread is never waited for: the result of a cancelled lookup is thrown away. Until then its
 *    thread keeps one descriptor.
 * 3. At most HF_LOOKUPS_MAX run at a time, cancelled ones included.
 */
#ifndef HF_IO_LOOKUP_H
#define HF_IO_LOOKUP_H

#include <netinet/in.h>
#include "io/loop.h"

enum { HF_LOOKUPS_MAX = 32, HF_ADDRESSES_MAX = 8, HF_NAME_MAX = 255 };

union hf_socket_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

struct hf_lookups; /* of one loop */
struct hf_lookup;

struct hf_lookups *hf_lookups_new(struct hf_loop *loop); /* NULL: errno says why */
/* NULL accepted; also from inside on_found. All lookups must have ended or been cancelled. */
void hf_lookups_free(struct hf_lookups *lookups);

/* The addresses in the order in which they are to be tried, without a port; count 0: the name has
 * none. */
typedef void hf_on_found(void *context, const union hf_socket_address *at, unsigned count);
/* NULL: too many lookups are running, or no thread can be made. */
struct hf_lookup *hf_lookup_start(struct hf_lookups *lookups, const char *name,
                                  hf_on_found *on_found, void *context);
void hf_lookup_cancel(struct hf_lookup *lookup); /* NULL accepted */

#endif
