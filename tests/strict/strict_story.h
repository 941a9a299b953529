// A vocabulary for stories of the strict group on the simulator's cluster.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tests/story/story.h"

namespace once {

/// Everything of the tenants "acme" and "dev" is strict, everything else best-effort.
class StrictStory : public Story {
 public:
  explicit StrictStory(ClusterOptions options = {}) : Story(WithRoutes(std::move(options))) {
    AwaitLeader();
  }

  StrictGroup& Group(const std::string& region) { return *cluster.replica(region).strict(); }
  EngineStatus Status(const std::string& region) { return Group(region).engine().Status(); }
  /// The region that leads in the highest term; empty: none.
  std::string Leader() {
    std::string leader;
    std::uint64_t term = 0;
    for (const std::string& region : cluster.regions()) {
      if (!cluster.IsUp(region) || !Group(region).engine().Leads()) continue;
      if (Status(region).term > term) leader = region, term = Status(region).term;
    }
    return leader;
  }
  std::string AwaitLeader(const std::string& other_than = "") {
    EXPECT_TRUE(cluster.time().RunUntil([&] { return !Leader().empty() && Leader() != other_than; },
                                        20'000));
    return Leader();
  }
  /// The two that do not lead.
  std::vector<std::string> Followers() { return Others(Leader()); }

  /// Until it is answered with something else than kUnavailable, as a caller would who retries.
  Answer BeginPatiently(const std::string& region, const std::string& key) {
    Answer answer;
    for (int tries = 0; tries < 10; ++tries) {
      answer = Begin(region, key);
      if (answer.kind != Answer::Kind::kUnavailable) break;
    }
    return answer;
  }
  /// Whoever leads is asked, until one accepts it.
  bool Change(MemberChange::Kind kind, const std::string& member) {
    return cluster.time().RunUntil(
        [&] {
          return Group(AwaitLeader()).engine().Change({kind, member}).empty();
        },
        10'000);
  }
  Slot* StrictSlot(const std::string& region, const std::string& key) {
    return Group(region).tables().FindSlot(
        BeginCommand("acme", key, 1, 1, 1).begin().slot().hash());
  }
  /// All of the strict ledger that the region has applied, as its disk will have it.
  std::map<std::string, std::string> StrictRecords(const std::string& region) {
    Group(region).Store();
    std::map<std::string, std::string> records;
    Group(region).tables().ScanRaw("", keys::kAfterTables,
                                   [&](std::string_view key, std::string_view value) {
                                     records.emplace(key, value);
                                     return true;
                                   });
    return records;
  }
  /// Every region that is up has applied the same, and has the same bytes.
  bool AllEqual() {
    const auto equal = [this] {
      std::set<std::map<std::string, std::string>> states;
      for (const std::string& region : cluster.regions())
        if (cluster.IsUp(region)) states.insert(StrictRecords(region));
      return states.size() == 1;
    };
    return cluster.time().RunUntil(equal, 20'000);
  }

 private:
  static ClusterOptions WithRoutes(ClusterOptions options) {
    options.strict_routes = {{"acme", "*"}, {"dev", "*"}};
    return options;
  }
};

}  // namespace once
