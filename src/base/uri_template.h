/*
 * uri_template.h - whether a URI may have come from a URI template (RFC 6570).
 *
 * Every expression may stand for anything, also for nothing: who has a resource is asked here, not
 * what its variables are. The rest stands for itself. Linear in the lengths of both, because
 * servers write the one and clients the other.
 */
#ifndef HF_BASE_URI_TEMPLATE_H
#define HF_BASE_URI_TEMPLATE_H

#include "base/span.h"

bool hf_uri_template_matches(struct hf_span uri_template, struct hf_span uri);

#endif
