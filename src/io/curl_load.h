/*
 * curl_load.h - libcurl, loaded when it is first needed.
 *
 * Linked in it would cost every start of holdfast 8 ms and several MB (with what it pulls in), for
 * servers most people do not have. Its headers give types and constants; every call goes through
 * this table. Once loaded it stays.
 */
#ifndef HF_IO_CURL_LOAD_H
#define HF_IO_CURL_LOAD_H

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include "base/err.h"

#define HF_CURL_CALLS(X)                                                                           \
    X(global_init)                                                                                 \
    X(version_info)                                                                                \
    X(easy_init)                                                                                   \
    X(easy_setopt)                                                                                 \
    X(easy_getinfo)                                                                                \
    X(easy_strerror)                                                                               \
    X(easy_cleanup)                                                                                \
    X(multi_init)                                                                                  \
    X(multi_setopt)                                                                                \
    X(multi_add_handle)                                                                            \
    X(multi_remove_handle)                                                                         \
    X(multi_socket_action)                                                                         \
    X(multi_info_read)                                                                             \
    X(multi_cleanup)                                                                               \
    X(slist_append)                                                                                \
    X(slist_free_all)

#define HF_CURL_MEMBER(name) __typeof__(curl_##name) *name;
struct hf_curl {
    HF_CURL_CALLS(HF_CURL_MEMBER)
};

/* NULL: `err` says which package to install. May be called in any thread. */
const struct hf_curl *hf_curl_load(struct hf_err *err);

#endif
