/*
 * records.h - what is kept, beside the rows of calls: one struct for each kind of thing.
 *
 * Spans are the asker's in a request, and belong to the answer or to what was loaded elsewhere.
 */
#ifndef HF_STORE_RECORDS_H
#define HF_STORE_RECORDS_H

#include "base/arena.h"
#include "base/sha256.h"
#include "base/span.h"

/* Which server a thing is about, whatever it is called: the hash of what it is started or reached
 * with. Names of environment variables count, their values do not: values are secrets and change.
 */
struct hf_server_key {
    uint8_t bytes[HF_SHA256_SIZE];
};
struct hf_server_identity {
    struct hf_span command, url, cwd; /* absent ones are empty */
    char *const *args;                /* end in NULL; NULL: none */
    char *const *env_names;           /* in any order */
};
struct hf_server_key hf_server_key_of(const struct hf_server_identity *identity);

struct hf_catalog_record {
    struct hf_server_key key;
    uint32_t era;           /* the asker's number for it; 0: not known */
    struct hf_span catalog; /* the asker's text; empty: only the era is put, the catalog stays */
    uint64_t at_ms;
};

struct hf_switch_record {         /* an operator's wish about one server */
    struct hf_span server;        /* the asker's name for it, the config it stands in included */
    bool is_wanted, was_disabled; /* was_disabled: what the config said about it at that time */
    struct hf_span who;
    uint64_t at_ms;
};

struct hf_generations_wish {
    struct hf_server_key key;
    uint32_t count;
};
struct hf_generations {
    struct hf_server_key key;
    uint64_t first;
    uint32_t count;
};

struct hf_session_row {
    uint8_t id_hash[HF_SHA256_SIZE];
    struct hf_span listen;   /* the address that its front is bound to */
    struct hf_span endpoint; /* where its client comes in there */
    struct hf_span token;    /* the name of the token; empty: none */
    struct hf_span payload;  /* session_payload.h */
    uint64_t made_ms, seen_ms;
};

struct hf_retention {                             /* 0: no such bound */
    uint64_t calls_before_ms, sessions_before_ms; /* rows older than that are removed */
    uint64_t bytes_max;                           /* oldest rows of calls are removed over that */
};

struct hf_load_wish {
    struct hf_span listen;      /* whose sessions; empty: none */
    struct hf_span server_keys; /* struct hf_server_key, one behind the other: who gets a block */
    uint32_t generations;       /* of so many generations */
};

enum { HF_SEALING_SECRET_SIZE = 32 };

struct hf_loaded {
    struct hf_arena arena; /* of everything below */
    uint8_t sealing_secret[HF_SEALING_SECRET_SIZE];
    struct hf_catalog_record *catalogs;
    struct hf_switch_record *switches;
    struct hf_session_row *sessions;
    struct hf_generations *generations; /* in the order of the keys that were asked for */
    size_t catalog_count, switch_count, session_count, generation_count;
};
struct hf_loaded *hf_loaded_new(void);
void hf_loaded_free(struct hf_loaded *loaded); /* NULL accepted */

#endif
