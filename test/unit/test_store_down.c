/* test_store_down.c */
#include "test.h"
TEST(nothing_yet)
{
    CHECK(true);
}
