/*
 * test_stage.c - where a call may go from where it is (stage.h), written down a second time,
 * against stage.c: every pair of stages.
 */
#include "core/machine/stage.h"
#include "test.h"

static const struct {
    enum hf_call_stage from, to;
} legal[] = {
    { HF_CALL_NEW, HF_CALL_ASKING },     { HF_CALL_NEW, HF_CALL_HELD },
    { HF_CALL_NEW, HF_CALL_WAITING },    { HF_CALL_NEW, HF_CALL_CLEARING },
    { HF_CALL_NEW, HF_CALL_QUEUED },     { HF_CALL_NEW, HF_CALL_KEEPING },
    { HF_CALL_NEW, HF_CALL_JOINED },     { HF_CALL_NEW, HF_CALL_ENDED },
    { HF_CALL_ASKING, HF_CALL_NEW },     { HF_CALL_HELD, HF_CALL_ENDED },
    { HF_CALL_WAITING, HF_CALL_NEW },    { HF_CALL_CLEARING, HF_CALL_NEW },
    { HF_CALL_QUEUED, HF_CALL_WRITING }, { HF_CALL_QUEUED, HF_CALL_SENT },
    { HF_CALL_QUEUED, HF_CALL_NEW },     { HF_CALL_WRITING, HF_CALL_SENT },
    { HF_CALL_WRITING, HF_CALL_NEW },    { HF_CALL_SENT, HF_CALL_NEW },
    { HF_CALL_KEEPING, HF_CALL_ENDED },  { HF_CALL_JOINED, HF_CALL_ENDED },
};

TEST(a_call_moves_from_stage_to_stage_as_the_table_says_and_in_no_other_way)
{
    for (enum hf_call_stage from = 0; from < HF_CALL_STAGE_COUNT; from++)
        for (enum hf_call_stage to = 0; to < HF_CALL_STAGE_COUNT; to++) {
            bool is_legal = false;
            for (size_t i = 0; i < sizeof legal / sizeof *legal; i++)
                is_legal |= legal[i].from == from && legal[i].to == to;
            CHECK_EQ(hf_stage_may_follow(from, to), is_legal);
        }
}

TEST(nothing_follows_the_end_of_a_call)
{
    for (enum hf_call_stage to = 0; to < HF_CALL_STAGE_COUNT; to++)
        CHECK(!hf_stage_may_follow(HF_CALL_ENDED, to));
}

TEST(a_call_is_with_its_server_exactly_while_it_is_queued_being_written_or_sent)
{
    for (enum hf_call_stage stage = 0; stage < HF_CALL_STAGE_COUNT; stage++) {
        const bool is_begun = stage == HF_CALL_WRITING || stage == HF_CALL_SENT;
        CHECK_EQ(hf_stage_is_begun(stage), is_begun);
        CHECK_EQ(hf_stage_is_with_server(stage), is_begun || stage == HF_CALL_QUEUED);
        CHECK(hf_stage_name(stage)[0] != '\0');
    }
}
