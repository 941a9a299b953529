// The same commands with the same stamps give the same bytes, whatever the replica around them did.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/replica/ledger_story.h"

namespace once {
namespace {

using Log = std::vector<std::pair<Command, Stamp>>;

LedgerOptions SmallWorld() {
  LedgerOptions options;
  options.region = "eu";
  options.slots_max = 12;
  options.evict_oldest = true;
  options.run_retention_ms = kHourMs;
  return options;
}

// Draws commands that fit what the ledger said before, and remembers them.
class Recorder {
 public:
  explicit Recorder(std::uint64_t seed) : random_(seed), story_(SmallWorld()) {}

  Log Record(int steps) {
    for (int i = 0; i < steps; ++i) {
      now_ms_ += static_cast<std::int64_t>(random_.OneIn(20) ? random_.Below(2 * kHourMs)
                                                             : random_.Below(5000));
      const Command command = Next();
      const Stamp stamp{now_ms_, {random_.Next(), random_.Next(), random_.Next()}};
      log_.emplace_back(command, stamp);
      const Answer answer = story_.ApplyAt(command, stamp);
      if (answer.kind == Kind::kExecute) owned_ = answer;
      if (!answer.run_id.empty()) run_id_ = answer.run_id;
    }
    return log_;
  }

 private:
  Command Next() {
    const std::string key = "key-" + std::to_string(random_.Below(20));
    switch (random_.Below(10)) {
      case 0:
        return CreateRunUnder(key, random_.OneIn(2) ? "approval" : "append");
      case 1:
        return RefusedRunUnder(random_.OneIn(2) ? key : "", 503, 1);
      case 2:
        return CancelRunUnder(key, run_id_);
      case 3: {
        Command command;
        command.mutable_advance_run()->set_run_id(run_id_);
        return command;
      }
      case 4:
        return ExpireUpTo(2);
      case 5: {
        Command command;
        command.mutable_set_policy()->mutable_policy()->set_tenant(key);
        command.mutable_set_policy()->set_remove(random_.OneIn(2));
        return command;
      }
      case 6:
      case 7:
        if (owned_.hash.empty()) return ExpireUpTo(1);
        return SettleAs(owned_, static_cast<ClaimState>(COMPLETED + random_.Below(4)));
      default:
        return BeginKey(key,
                        {.lease_ms = 1 + static_cast<std::int64_t>(random_.Below(60'000)),
                         .retention_ms = static_cast<std::int64_t>(random_.Below(4)) * kHourMs});
    }
  }

  Random random_;
  LedgerStory story_;
  std::int64_t now_ms_ = kStartMs;
  Answer owned_;
  std::string run_id_ = "none";
  Log log_;
};

struct Trace {
  std::map<std::string, std::string, std::less<>> disk;
  std::string answers;
};

// Applies the log, flushing after a command once in `flush_one_in` on average.
Trace Play(const Log& log, std::size_t hot_bytes_max, std::uint64_t flush_one_in) {
  LedgerStory story(SmallWorld(), hot_bytes_max);
  Random random(flush_one_in);
  Trace trace;
  for (const auto& [command, stamp] : log) {
    const Answer answer = story.ApplyAt(command, stamp);
    trace.answers += std::to_string(static_cast<int>(answer.kind)) + answer.hash +
                     answer.claim.SerializeAsString() + answer.outcome.SerializeAsString();
    if (random.OneIn(flush_one_in)) story.Flush();
  }
  story.Flush();
  trace.disk = story.disk().visible();
  return trace;
}

TEST(LedgerDeterminism, SameCommandsAndStampsGiveTheSameBytes) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Log log = Recorder(seed).Record(1500);
    const Trace once_flushed = Play(log, 1 << 20, 1'000'000);
    ASSERT_GT(once_flushed.disk.size(), 10u);
    for (const std::size_t hot_bytes_max : {0u, 5'000u, 1u << 20}) {
      for (const std::uint64_t flush_one_in : {1u, 3u, 50u}) {
        const Trace other = Play(log, hot_bytes_max, flush_one_in);
        ASSERT_EQ(other.answers, once_flushed.answers) << seed << " " << hot_bytes_max;
        ASSERT_TRUE(other.disk == once_flushed.disk) << seed << " " << hot_bytes_max;
      }
    }
  }
}

}  // namespace
}  // namespace once
