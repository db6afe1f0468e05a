/* curl_load.c - see curl_load.h. */
#include "io/curl_load.h"
#include <dlfcn.h>
#include <pthread.h>

/* CURLOPT_PREREQFUNCTION, without which re-sends cannot be forbidden, and CURLOPT_PROTOCOLS_STR. */
static const unsigned OLDEST_VERSION = 0x075500;

static struct hf_curl calls;
static struct hf_err failure;
static bool is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool find(void *library, const char *name, void *ret_call, size_t size)
{
    void *symbol = dlsym(library, name);
    if (!symbol)
        return hf_fail(&failure, "libcurl.so.4 has no %s: install a newer libcurl4", name);
    memcpy(ret_call, &symbol, size); /* ISO C has no cast from an object to a function */
    return true;
}

static void load(void)
{
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        hf_fail(
            &failure,
            "a url with https or behind a proxy needs libcurl: install the package libcurl4 (%s)",
            dlerror());
        return;
    }
#define FIND(name)                                                                                 \
    if (!find(library, "curl_" #name, &calls.name, sizeof calls.name))                             \
        return;
    HF_CURL_CALLS(FIND)
#undef FIND
    const curl_version_info_data *about = calls.version_info(CURLVERSION_NOW);
    if (about->version_num < OLDEST_VERSION)
        hf_fail(&failure, "libcurl %s is too old: 7.85 or newer is needed", about->version);
    else if (calls.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        hf_fail(&failure, "libcurl %s cannot be started", about->version);
    else
        is_loaded = true;
}

const struct hf_curl *hf_curl_load(struct hf_err *err)
{
    pthread_once(&once, load);
    if (!is_loaded && err)
        *err = failure;
    return is_loaded ? &calls : NULL;
}
