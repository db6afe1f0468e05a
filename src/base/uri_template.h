/*
 * uri_template.h - whether a URI may have come from a URI template (RFC 6570).
 *
 * Every expression matches anything, also nothing: this tells which server has a resource, not what
 * its variables are. The rest matches itself. Linear in both lengths, because servers write the
 * template and clients the URI.
 */
#ifndef HF_BASE_URI_TEMPLATE_H
#define HF_BASE_URI_TEMPLATE_H

#include "base/span.h"

/* For those who compare one URI with each of many templates: a longer one is taken to match none.
 * RFC 9110 asks everybody to take URIs of 8,000 bytes. */
enum { HF_TEMPLATE_URI_MAX = 8192 };
bool hf_uri_template_matches(struct hf_span uri_template, struct hf_span uri);

#endif
