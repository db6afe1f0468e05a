/* stats.c - see stats.h. */
#include "core/machine/stats.h"

const uint32_t hf_histogram_bounds[HF_HISTOGRAM_COUNT] = { HF_HISTOGRAM_BOUNDS };
