/*
 * handles.h - lets the world of a test stand for the shell's side of the engine's objects.
 *
 * HANDLE_IS(hf_sink, client) says that struct client is what a session of that world has for a
 * sink: hf_sink_of(client) goes in, client_behind(sink) comes out, and no other type does.
 */
#ifndef HF_TEST_HANDLES_H
#define HF_TEST_HANDLES_H

#define HANDLE_IS(handle, own)                                                                     \
    static inline struct handle *handle##_of(struct own *it)                                       \
    {                                                                                              \
        return (struct handle *)(void *)it;                                                        \
    }                                                                                              \
    static inline struct own *own##_behind(struct handle *it)                                      \
    {                                                                                              \
        return (struct own *)(void *)it;                                                           \
    }

#endif
