// When runs are forgotten, and what goes with them.
#include "replica/ledger/run_id.h"
#include "tests/replica/ledger_story.h"

namespace once {
namespace {

TEST(LedgerRuns, ARunIsForgottenWithItsEventsAfterItsRetention) {
  LedgerOptions options;
  options.run_retention_ms = kHourMs;
  LedgerStory story(options);
  const Answer made = story.Apply(CreateRunUnder("", "delay", 10 * kDayMs));
  story.now_ms += 2 * kHourMs;
  story.Apply(ExpireUpTo(100));
  ASSERT_TRUE(story.tables().FindRun(made.run_id)) << "it has not ended";
  story.Apply(CancelRunUnder("", made.run_id));
  story.now_ms += kHourMs + kSkewMs - 1;
  story.Apply(ExpireUpTo(100));
  EXPECT_TRUE(story.tables().FindRun(made.run_id));
  story.now_ms += 1;
  story.Apply(ExpireUpTo(100));
  EXPECT_FALSE(story.tables().FindRun(made.run_id));
  EXPECT_TRUE(story.tables().Events(made.run_id, 0, 10).empty());
  story.Flush();
  EXPECT_EQ(story.disk().visible().size(), 1u) << "only the head is left";
}

// One that has ended. An hour later its entry in the index is due.
std::string EndedRun(LedgerStory& story) {
  const Answer made = story.Apply(CreateRunUnder("", "delay", 10 * kDayMs));
  story.Apply(CancelRunUnder("", made.run_id));
  story.now_ms += kSkewMs;
  return made.run_id;
}

TEST(LedgerRuns, ARunIsForgottenLaterWhenRunsAreKeptForLonger) {
  LedgerOptions options;
  options.run_retention_ms = kHourMs;
  LedgerStory story(options);
  const std::string run_id = EndedRun(story);
  options.run_retention_ms = 3 * kHourMs;
  story.RestartWith(options);
  for (int hour = 1; hour < 3; ++hour) {
    story.now_ms += kHourMs;
    story.Apply(ExpireUpTo(100));
    EXPECT_TRUE(story.tables().FindRun(run_id)) << hour;
    EXPECT_FALSE(story.tables().Events(run_id, 0, 10).empty());
  }
  story.now_ms += kHourMs;
  story.Apply(ExpireUpTo(100));
  EXPECT_FALSE(story.tables().FindRun(run_id));
  story.Flush();
  EXPECT_EQ(story.disk().visible().size(), 1u) << "only the head is left";
}

TEST(LedgerRuns, AStrictRunIsForgottenWhenItsEndSaid) {
  LedgerOptions options;
  options.run_retention_ms = kHourMs;
  options.replicated = true;
  LedgerStory story(options);
  const std::string run_id = EndedRun(story);
  options.run_retention_ms = 3 * kHourMs;  // as another leader's terms have it
  story.RestartWith(options);
  story.now_ms += kHourMs;
  story.Apply(ExpireUpTo(100));
  EXPECT_FALSE(story.tables().FindRun(run_id)) << "as members of an earlier build decide";
}

TEST(LedgerRuns, OfTwoTokensOfARunTheOneThatItsRecordNamesIsLeft) {
  LedgerStory story;
  Command merge;
  once::Run& run = *merge.mutable_merge_frame()->mutable_frame()->add_changes()->mutable_run();
  run.set_run_id(MintRunId(story.now_ms, "us", 1));
  run.set_region("us");
  run.set_status(WAITING_APPROVAL);
  for (const char* token : {"first", "second"}) {
    run.set_version(run.version() + 1);
    run.set_interrupt_token(token);
    story.Apply(merge);
    EXPECT_EQ(story.tables().FindInterrupt(token), run.run_id());
  }
  EXPECT_FALSE(story.tables().FindInterrupt("first"));
}

}  // namespace
}  // namespace once
