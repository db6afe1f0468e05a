/* json_verdict.c - one text in hex per line in, "accept" or "reject" per line out; for
 * test/e2e/json_differential.test.mjs. */
#include "unit/hex_lines.h"
#include "wire/json.h"

static void judge(struct hf_span text)
{
    puts(hf_json_check(text, 512, NULL) ? "accept" : "reject");
}

int main(void)
{
    return each_hex_line(judge);
}
