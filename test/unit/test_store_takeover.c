/* test_store_takeover.c */
#include "test.h"
TEST(nothing_yet)
{
    CHECK(true);
}
