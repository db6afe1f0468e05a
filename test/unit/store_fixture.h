/* store_fixture.h - a state directory for one test, and a store that is asked one thing after the
 * other. */
#ifndef HF_STORE_FIXTURE_H
#define HF_STORE_FIXTURE_H

#include "store/calls_read.h"
#include "store/instance.h"
#include "store/ring.h"
#include "store/store.h"

enum { FIXTURE_PATH_SIZE = 256 };

/* Made for this test, and removed at its end with all that is in it. */
const char *fixture_directory(void);
void fixture_path(const char *file, char ret_path[FIXTURE_PATH_SIZE]); /* in it */
bool fixture_has(const char *file);
unsigned fixture_count(const char *ending); /* files whose names end like that */

/* Freed at the end of the test. Its process is called `instance`. */
struct hf_store *fixture_store(const char *instance);
struct hf_store *fixture_store_with(const struct hf_store_options *options);
void fixture_store_end(struct hf_store *store); /* before the test's end */

/* Asks, and waits for the answer, which lives until the next question. */
struct hf_store_answer *fixture_ask(struct hf_store *store, const struct hf_store_request *request);
enum hf_store_outcome fixture_do(struct hf_store *store, const struct hf_store_request *request);
/* For hf_loaded_free; with blocks of 10 generations for `key` if that is not NULL. */
struct hf_loaded *fixture_load(struct hf_store *store, const char *listen,
                               const struct hf_server_key *key);

struct hf_store_request fixture_call(enum hf_store_kind kind, uint64_t number, const char *tool,
                                     enum hf_call_end end);

/* The rows that a filter lets through, as one line each: "INSTANCE-NUMBER tool end". */
const char *fixture_rows(const struct hf_calls_filter *filter);
const char *fixture_all_rows(void);

/* A process of its own, which ends with what `run` returns; 0 is well. */
int fixture_child(int (*run)(void *context), void *context); /* waits for its end */

/* Runs SQL on the file, as another program would. */
bool fixture_sql(const char *sql);

#endif
