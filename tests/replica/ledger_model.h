// What the ledger promises for claims and runs of one region, written down a second time in the
// plainest way that can be checked: a map of keys to the claims that were made for them.
//
// Where the promise leaves a choice (when something that is over is forgotten) the model follows
// what it is told by Forgotten(), and says whether that was allowed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "replica/ledger/answer.h"
#include "replica/ledger/command.pb.h"

namespace once {

class LedgerModel {
 public:
  static constexpr std::int64_t kForEver = std::numeric_limits<std::int64_t>::max() / 2;

  struct Entry {
    std::string run_id;
    std::string body;
    ClaimState state = PENDING;
    std::uint64_t fence = 0;
    std::int64_t lease_ms = 0;
    std::int64_t lease_end_ms = 0;
    std::int64_t retention_ms = 0;
    std::int64_t finalised_ms = 0;
    std::uint32_t tries = 0;
    std::string outcome;

    std::int64_t EndMs() const {
      const std::int64_t retained_ms = retention_ms == 0 ? kForEver : retention_ms;
      if (state == PENDING) return std::min(kForEver, lease_end_ms + retained_ms);
      if (state == RELEASED) return finalised_ms;
      return std::min(kForEver, finalised_ms + retained_ms);
    }
    bool Final() const { return state == COMPLETED || state == TERMINAL_FAILURE; }
  };

  struct Expected {
    Answer::Kind kind = Answer::Kind::kUnavailable;
    Entry* entry = nullptr;  // null: a new claim is to be made
    bool reclaimed = false;
    bool mismatched = false;
    std::string closed = {};  // the claim of another request that the new one takes the key from
  };

  explicit LedgerModel(std::int64_t skew_ms) : skew_ms_(skew_ms) {}

  bool Over(const Entry& entry, std::int64_t now_ms) const {
    return now_ms >= entry.EndMs() + skew_ms_;
  }

  /// What a begin has to say, if there is room for it.
  Expected OnBegin(const std::string& key, const Begin& begin, std::int64_t now_ms) {
    for (Entry& entry : claims[key]) {
      if (Over(entry, now_ms) || entry.state == RELEASED) continue;
      const bool same = entry.body == begin.fingerprint();
      if (entry.state == PENDING && now_ms < entry.lease_end_ms)
        return {Answer::Kind::kInFlight, &entry};
      if (!same && begin.mismatch() == REJECT)
        return {Answer::Kind::kMismatch, &entry, false, true};
      if (entry.Final()) return {Answer::Kind::kReplay, &entry, false, !same};
      const bool reclaimed = entry.state == PENDING;
      if (!same) return {Answer::Kind::kExecute, nullptr, reclaimed, true, entry.run_id};
      return {Answer::Kind::kExecute, &entry, reclaimed};
    }
    return {Answer::Kind::kExecute};
  }

  void TakeUp(Entry& entry, const Begin& begin, std::uint64_t fence, std::int64_t now_ms) {
    entry.state = PENDING;
    entry.fence = fence;
    entry.lease_ms = static_cast<std::int64_t>(begin.lease_ms());
    entry.lease_end_ms = now_ms + entry.lease_ms;
    entry.retention_ms = static_cast<std::int64_t>(begin.retention_ms());
    entry.outcome.clear();
    ++entry.tries;
  }

  void Close(Entry& entry, std::int64_t now_ms) {
    entry.state = RELEASED;
    entry.finalised_ms = now_ms;
    entry.outcome.clear();
  }

  Entry* Find(const std::string& key, const std::string& run_id) {
    for (Entry& entry : claims[key])
      if (entry.run_id == run_id) return &entry;
    return nullptr;
  }

  /// kDone, kReplay (said before), kStaleFence or kNotFound.
  Answer::Kind OnSettle(const std::string& key, const Settle& settle, std::int64_t now_ms) {
    Entry* entry = Find(key, settle.run_id());
    if (!entry) return Answer::Kind::kNotFound;
    if (entry->state == PENDING && entry->fence == settle.fence() && !Over(*entry, now_ms)) {
      entry->state = settle.state();
      entry->finalised_ms = now_ms;
      entry->outcome = settle.outcome().body();
      return Answer::Kind::kDone;
    }
    const bool repeated = entry->fence == settle.fence() && entry->state == settle.state() &&
                          entry->outcome == settle.outcome().body();
    return repeated ? Answer::Kind::kReplay : Answer::Kind::kStaleFence;
  }

  Answer::Kind OnRenew(const std::string& key, const Renew& renew, std::int64_t now_ms) {
    Entry* entry = Find(key, renew.run_id());
    if (!entry) return Answer::Kind::kNotFound;
    if (entry->state != PENDING || entry->fence != renew.fence() || Over(*entry, now_ms))
      return Answer::Kind::kStaleFence;
    entry->lease_ms = static_cast<std::int64_t>(renew.lease_ms());
    entry->lease_end_ms = now_ms + entry->lease_ms;
    return Answer::Kind::kDone;
  }

  struct Run {
    bool cancelled = false;
    std::int64_t cancelled_ms = 0;
  };

  /// The status that a run made or cancelled under `owned` ends with; moves both.
  std::uint32_t OnMutation(const Mutation& mutation, const std::string& key, Entry& owned,
                           std::int64_t now_ms) {
    std::uint32_t tries = owned.tries;
    for (const Entry& entry : claims[key])
      if (entry.state == RELEASED) tries += entry.tries;
    std::uint32_t status = 0;
    if (mutation.has_cancel_run())
      status = OnCancel(mutation.cancel_run().run_id(), now_ms);
    else
      status = OnCreate(mutation.create_run(), owned.run_id, tries);
    owned.finalised_ms = now_ms;
    owned.state = status == 400   ? RELEASED
                  : status == 503 ? RETRYABLE
                  : status < 400  ? COMPLETED
                                  : TERMINAL_FAILURE;
    return status;
  }

  std::uint32_t OnCreate(const CreateRun& create, const std::string& run_id, std::uint32_t tries) {
    if (create.fail_status() != 0 && tries <= create.fail_times()) return create.fail_status();
    runs[run_id] = {};
    return 201;
  }

  /// Cancelling twice is no error.
  std::uint32_t OnCancel(const std::string& run_id, std::int64_t now_ms) {
    const auto run = runs.find(run_id);
    if (run == runs.end()) return 404;
    if (!run->second.cancelled) run->second = {true, now_ms};
    return 200;
  }

  /// What was given up for another claim is not taken back.
  void OnRestart(std::int64_t boot_ms) {
    for (auto& [key, entries] : claims)
      for (Entry& entry : entries)
        if (entry.state == PENDING && &entry == &entries.back())
          entry.lease_end_ms = std::max(entry.lease_end_ms, boot_ms + entry.lease_ms);
  }

  bool Working(const std::string& key) {
    const auto& entries = claims[key];
    return std::any_of(entries.begin(), entries.end(),
                       [](const Entry& entry) { return entry.state == PENDING; });
  }
  bool AllOver(const std::string& key, std::int64_t now_ms) {
    const auto& entries = claims[key];
    return std::all_of(entries.begin(), entries.end(),
                       [&](const Entry& entry) { return Over(entry, now_ms); });
  }
  /// Keys that hold claims, and those of them that must still be held.
  std::size_t Held() const {
    return static_cast<std::size_t>(std::count_if(
        claims.begin(), claims.end(), [](const auto& each) { return !each.second.empty(); }));
  }
  std::size_t Owed(std::int64_t now_ms) {
    std::size_t count = 0;
    for (const auto& [key, entries] : claims)
      if (!entries.empty() && !AllOver(key, now_ms)) ++count;
    return count;
  }

  std::map<std::string, std::vector<Entry>> claims;
  std::map<std::string, Run> runs;

 private:
  const std::int64_t skew_ms_;
};

}  // namespace once
