/*
 * stdio.h - the endpoint for a client that speaks lines of JSON on two descriptors.
 *
 * A client that ends its input is answered in full first. A client that closes its end of our
 * output is closed at once; one that reads too slowly is cut off at maxBufferedBytes. A client
 * whose own server cannot be started is told so in every answer, and its endpoint is closed.
 */
#ifndef HF_FRONT_STDIO_H
#define HF_FRONT_STDIO_H

#include "base/err.h"
#include "io/shell.h"

struct hf_stdio_front;

/* `on_finished` is called once, when nothing is left to read, answer or write. */
struct hf_stdio_front *hf_stdio_front_new(struct hf_shell *shell, struct hf_server *only, int in_fd,
                                          int out_fd, const struct hf_limits *limits,
                                          void (*on_finished)(void *context), void *context,
                                          struct hf_err *err);
void hf_stdio_front_free(struct hf_stdio_front *front); /* NULL accepted */
/* Called after every pump: ends the front when everything has been answered. */
void hf_stdio_front_review(struct hf_stdio_front *front);
/* The client's own server could not be started, and never will be. */
bool hf_stdio_front_has_failed(const struct hf_stdio_front *front);
bool hf_stdio_front_is_flushed(const struct hf_stdio_front *front);

#endif
