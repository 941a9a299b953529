// A history that no cluster made, for tests of what is done with histories.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "replica/env/random.h"
#include "simulator/history.h"

namespace once {

/// A minute of three regions: a partition of eu, crashes, smaller faults, callers who retry.
class InventedRun {
 public:
  explicit InventedRun(std::uint64_t seed) : random_(seed) {
    history_.seed = seed;
    history_.scenario = "partition-eu";
    history_.regions = {"ap", "eu", "us"};
    history_.options = {{"clients", "12"}, {"keys", "40"}, {"mode", "best-effort"}};
    history_.safety_ms = 48'000;
    history_.end_ms = 60'000;
    history_.lag_bound_ms = 2'000;
    history_.messages = 18'204;
    history_.message_bytes = 4'711'003;
    history_.trace_hash = 0x00c0ffee12345678;
    AddFaults();
    for (std::int64_t at = 200; at < 58'000; at += 120 + Below(200)) Call(at);
    for (int i = 0; i < 14; ++i) Conflict(14'000 + 1'100 * i, "order-" + std::to_string(i));
    AddLags();
    for (int i = 0; i < 40; ++i)
      history_.convergences.push_back({"order-" + std::to_string(i), 30 + Below(40) * Below(40)});
  }
  History& history() { return history_; }

 private:
  std::int64_t Below(std::uint64_t bound) {
    return static_cast<std::int64_t>(random_.Below(bound));
  }
  std::string Region() { return history_.regions[random_.Below(history_.regions.size())]; }
  std::string RunId(const std::string& region) {
    return "01J9Z" + std::to_string(100'000 + ++runs_) + region + std::to_string(Below(90'000));
  }

  void AddFaults() {
    for (const char* other : {"us", "ap"}) {
      history_.faults.push_back({Fault::Kind::kCut, 12'000, 31'000, "eu", other, 0});
      history_.faults.push_back({Fault::Kind::kCut, 12'000, 31'000, other, "eu", 0});
    }
    history_.faults.push_back({Fault::Kind::kCrash, 36'000, 39'500, "ap", "", 0});
    history_.faults.push_back({Fault::Kind::kCrash, 22'000, 22'600, "us", "", 0});
    history_.faults.push_back({Fault::Kind::kClog, 4'000, 7'000, "us", "ap", 400});
    history_.faults.push_back({Fault::Kind::kPause, 43'000, 44'200, "eu", "", 0});
    history_.faults.push_back({Fault::Kind::kSlowDisk, 33'000, 42'000, "us", "", 25});
    history_.faults.push_back({Fault::Kind::kClockJump, 45'500, 45'500, "ap", "", 3'000});
    history_.faults.push_back({Fault::Kind::kLossyLinks, 2'000, 10'000, "", "", 20});
    history_.faults.push_back({Fault::Kind::kSyncFailure, 46'300, 47'800, "us", "", 0});
  }
  bool Down(const std::string& region, std::int64_t at) const {
    return std::any_of(history_.faults.begin(), history_.faults.end(), [&](const Fault& fault) {
      return fault.kind == Fault::Kind::kCrash && fault.region == region && fault.from_ms <= at &&
             at < fault.to_ms;
    });
  }
  Operation& Add(const std::string& region, const std::string& key, std::int64_t at,
                 Operation::Answer answer, const std::string& run) {
    Operation operation;
    operation.id = history_.operations.size() + 1;
    operation.region = region;
    operation.tenant = "acme";
    operation.key = key;
    operation.body = 1;
    operation.invoked_ms = at;
    operation.answer = answer;
    operation.returned_ms = answer == Operation::Answer::kNone ? -1 : at + 3 + Below(20);
    operation.run_id = run;
    history_.operations.push_back(operation);
    return history_.operations.back();
  }
  std::string Claim(const std::string& region, const std::string& key, std::int64_t at) {
    const std::string run = RunId(region);
    Add(region, key, at, Operation::Answer::kExecute, run).fence = ++fence_;
    Operation& settle = Add(region, key, at + 60, Operation::Answer::kDone, run);
    settle.kind = Operation::Kind::kSettle;
    settle.status = 201;
    return run;
  }
  void Call(std::int64_t at) {
    const std::string region = Region(), key = "order-" + std::to_string(Below(400));
    if (Down(region, at)) {
      Add(region, key, at, Operation::Answer::kNone, "");
    } else if (known_.emplace(key, "").second) {
      known_[key] = Claim(region, key, at);
    } else if (random_.OneIn(6)) {
      Add(region, key, at,
          random_.OneIn(2) ? Operation::Answer::kInFlight : Operation::Answer::kMismatch, "");
    } else {
      Add(region, key, at, Operation::Answer::kReplay, known_[key]).answer_body = "\xff{}";
    }
  }
  void Conflict(std::int64_t at, const std::string& key) {
    const std::string other = random_.OneIn(2) ? "us" : "ap";
    const std::string winner = Claim("eu", key, at);
    const std::string loser = Claim(other, key, at + 50 + Below(900));
    history_.lost.push_back(
        {31'060 + Below(400), other, "acme", key, winner, loser,
         std::min<std::string>("eu", other) + "-" + std::max<std::string>("eu", other),
         random_.OneIn(4), random_.OneIn(2)});
  }
  void AddLags() {
    for (const std::string& from : history_.regions) {
      for (const std::string& to : history_.regions) {
        if (from == to) continue;
        const bool cut = from == "eu" || to == "eu";
        for (std::int64_t at = 500; at < 60'000; at += 130 + Below(100)) {
          if (Down(from, at) || Down(to, at) || (cut && at >= 12'000 && at < 31'000)) continue;
          const bool healed = cut && at >= 31'000 && at < 31'900;
          history_.lags.push_back({at, from, to, healed ? 19'000 - Below(9'000) : 24 + Below(60)});
        }
      }
    }
  }

  Random random_;
  History history_;
  std::uint64_t runs_ = 0;
  std::uint64_t fence_ = 0;
  std::map<std::string, std::string> known_;
};

}  // namespace once
