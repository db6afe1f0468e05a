/* err.c - see err.h. */
#include "base/err.h"
#include <stdarg.h>
#include <stdio.h>

bool hf_fail(struct hf_err *err, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        (void)vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
    }
    return false;
}
