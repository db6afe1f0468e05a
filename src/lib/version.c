/* version.c - which holdfast this is. */
#include "holdfast/holdfast.h"

const char *hf_version(void)
{
    return HF_VERSION;
}
