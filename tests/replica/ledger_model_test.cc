// The ledger against a naive model: random commands at random times, compared answer by answer and
// record by record.
#include "tests/replica/ledger_model.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/replica/ledger_story.h"

namespace once {
namespace {

constexpr int kKeys = 9;
constexpr std::int64_t kRunRetentionMs = 7 * kDayMs;
constexpr std::int64_t kForgetLateMs = 2 * kHourMs;  // the longest lease and the index's slack

struct Variant {
  std::uint64_t seed;
  std::uint64_t slots_max = 1000;
  bool evict_oldest = false;
  std::size_t hot_bytes_max = 1 << 20;
  bool never = true;  // some claims never expire
};

std::ostream& operator<<(std::ostream& out, const Variant& variant) {
  return out << "seed " << variant.seed << " slots_max " << variant.slots_max << " evict "
             << variant.evict_oldest << " hot " << variant.hot_bytes_max;
}

LedgerOptions OptionsOf(const Variant& variant) {
  LedgerOptions options;
  options.region = "eu";
  options.skew_ms = kSkewMs;
  options.slots_max = variant.slots_max;
  options.evict_oldest = variant.evict_oldest;
  options.run_retention_ms = static_cast<std::uint64_t>(kRunRetentionMs);
  return options;
}

class LedgerAgainstModel : public testing::TestWithParam<Variant> {
 protected:
  LedgerAgainstModel()
      : random_(GetParam().seed),
        story_(OptionsOf(GetParam()), GetParam().hot_bytes_max),
        model_(kSkewMs) {}

  std::string AnyKey() { return "key-" + std::to_string(random_.Below(kKeys)); }

  void MoveTime() {
    static constexpr std::int64_t kSteps[] = {
        0,           0,           1,         500,    kSkewMs, 5'000,
        10'000,      29'999,      30'000,    59'000, kHourMs, kHourMs + kSkewMs,
        2 * kHourMs, 5 * kHourMs, kDayMs + 1};
    // Long steps are rare, or nothing would ever be in flight.
    const std::uint64_t choice = random_.OneIn(8) ? random_.Below(15) : random_.Below(7);
    story_.now_ms += kSteps[choice];
  }

  BeginWith AnyBegin() {
    static constexpr std::int64_t kLeases[] = {1, 10'000, 30'000, kHourMs};
    static constexpr std::int64_t kRetentions[] = {1, 60'000, kHourMs, 10 * kHourMs, kDayMs, 0};
    static constexpr MismatchPolicy kPolicies[] = {REJECT, REJECT, OBSERVE, OFF};
    BeginWith with;
    with.body = random_.OneIn(4) ? "other" : "body";
    with.lease_ms = kLeases[random_.Below(4)];
    with.retention_ms = kRetentions[random_.Below(GetParam().never && random_.OneIn(4) ? 6 : 5)];
    with.mismatch = kPolicies[random_.Below(4)];
    return with;
  }

  void TryBegin() {
    const std::string key = AnyKey();
    const Command command = BeginKey(key, AnyBegin());
    Ask(key, command, command.begin());
  }

  /// Says `command`, which begins `key`, to both; the entry that it then owns, or null.
  LedgerModel::Entry* Ask(const std::string& key, const Command& command, const Begin& begin) {
    const bool held = !model_.claims[key].empty();
    const std::size_t all_held = model_.Held();
    const std::size_t owed = model_.Owed(story_.now_ms);
    const LedgerModel::Expected expected = model_.OnBegin(key, begin, story_.now_ms);
    answer_ = story_.Apply(command);
    evicted_ = answer_.evicted;
    LedgerModel::Entry* owned = nullptr;
    if (answer_.kind == Kind::kFull)
      ExpectFull(held, all_held);
    else
      Compare(key, begin, expected, held || owed < GetParam().slots_max, owned);
    return owned;
  }

  void ExpectFull(bool held, std::size_t all_held) {
    ASSERT_FALSE(held) << "room is needed only for a new slot";
    ASSERT_GE(all_held, GetParam().slots_max);
    if (!GetParam().evict_oldest) return;
    for (const auto& [other, entries] : model_.claims)
      ASSERT_TRUE(entries.empty() || model_.Working(other)) << other << " could have gone";
  }

  void Compare(const std::string& key, const Begin& begin, const LedgerModel::Expected& expected,
               bool room, LedgerModel::Entry*& owned) {
    if (!GetParam().evict_oldest) {
      ASSERT_TRUE(room);
    }
    // A mutation is done where a begin is told to execute.
    const Kind kind = answer_.kind == Kind::kDone ? Kind::kExecute : answer_.kind;
    ASSERT_EQ(kind, expected.kind);
    ASSERT_EQ(answer_.reclaimed, expected.reclaimed);
    ASSERT_EQ(answer_.mismatched, expected.mismatched);
    if (kind == Kind::kExecute) return Execute(key, begin, expected, answer_, owned);
    ASSERT_EQ(answer_.claim.run_id(), expected.entry->run_id);
    if (kind == Kind::kReplay) {
      ASSERT_EQ(answer_.outcome.body(), expected.entry->outcome);
    }
    if (kind == Kind::kInFlight) {
      ASSERT_EQ(answer_.retry_after_ms, expected.entry->lease_end_ms - story_.now_ms);
    }
  }

  void Execute(const std::string& key, const Begin& begin, const LedgerModel::Expected& expected,
               const Answer& answer, LedgerModel::Entry*& owned) {
    ASSERT_GT(answer.claim.fence(), last_fence_) << "a fence rises and never ties";
    last_fence_ = answer.claim.fence();
    LedgerModel::Entry* entry = expected.entry;
    if (auto* closed = model_.Find(key, expected.closed)) model_.Close(*closed, story_.now_ms);
    if (!entry) {
      ASSERT_EQ(run_ids_.count(answer.claim.run_id()), 0u) << "a new claim has a new run id";
      entry = &model_.claims[key].emplace_back();
      entry->run_id = answer.claim.run_id();
      entry->body = begin.fingerprint();
    }
    ASSERT_EQ(answer.claim.run_id(), entry->run_id);
    run_ids_.insert(entry->run_id);
    model_.TakeUp(*entry, begin, answer.claim.fence(), story_.now_ms);
    ASSERT_EQ(answer.claim.tries(), entry->tries);
    owners_.emplace_back(key, answer);
    if (owners_.size() > 40) owners_.erase(owners_.begin());
    owned = entry;
  }

  /// A run made or cancelled under a key: begin, effect and outcome are one step.
  void TryMutate() {
    const std::string key = AnyKey();
    Command command = random_.OneIn(2) ? CancelRunUnder(key, AnyRun()) : AnyCreation(key);
    Mutation& mutation = *command.mutable_mutation();
    *mutation.mutable_begin() = BeginKey(key, AnyBegin()).begin();
    LedgerModel::Entry* owned = Ask(key, command, mutation.begin());
    if (!owned) return;
    ASSERT_EQ(answer_.kind, Kind::kDone);
    FollowSlot(key);  // what it has forgotten is not among the tries
    owned = model_.Find(key, answer_.claim.run_id());
    const std::uint32_t status = model_.OnMutation(mutation, key, *owned, story_.now_ms);
    ASSERT_EQ(answer_.outcome.status(), status);
    if (owned->state != RELEASED) owned->outcome = answer_.outcome.body();
    CompareRuns();
  }

  Command AnyCreation(const std::string& key) {
    static constexpr std::uint32_t kStatuses[] = {400, 404, 503};
    if (random_.OneIn(2)) return CreateRunUnder(key, "delay", 366 * kDayMs);
    return RefusedRunUnder(key, kStatuses[random_.Below(3)],
                           1 + static_cast<std::uint32_t>(random_.Below(3)));
  }

  /// The id of a run, mostly of one that was made.
  std::string AnyRun() {
    if (model_.runs.empty() || random_.OneIn(8)) return "no-such-run";
    return std::next(model_.runs.begin(),
                     static_cast<std::ptrdiff_t>(random_.Below(model_.runs.size())))
        ->first;
  }

  /// Every run is there in its state; one that has gone was cancelled and its retention is over.
  void CompareRuns() {
    for (auto at = model_.runs.begin(); at != model_.runs.end();) {
      const auto run = story_.tables().FindRun(at->first);
      if (!run) {
        ASSERT_TRUE(at->second.cancelled) << at->first << " has not ended";
        ASSERT_GE(story_.now_ms, at->second.cancelled_ms + kRunRetentionMs + kSkewMs);
        at = model_.runs.erase(at);
        continue;
      }
      ASSERT_EQ(run->status(), at->second.cancelled ? RUN_CANCELLED : RUNNING);
      ++at;
    }
  }

  /// Some owner, mostly a recent one: late ones are the interesting ones.
  const std::pair<std::string, Answer>& AnyOwner() {
    const std::size_t recent = std::min<std::size_t>(owners_.size(), random_.OneIn(3) ? 40 : 3);
    return owners_[owners_.size() - 1 - random_.Below(recent)];
  }

  void TrySettle() {
    if (owners_.empty()) return;
    static constexpr ClaimState kStates[] = {COMPLETED, COMPLETED, TERMINAL_FAILURE, RETRYABLE,
                                             RELEASED};
    const auto [key, owned] = AnyOwner();
    const Command command =
        SettleAs(owned, kStates[random_.Below(5)], "out-" + std::to_string(random_.Below(2)));
    const Kind expected = model_.OnSettle(key, command.settle(), story_.now_ms);
    ASSERT_EQ(story_.Apply(command).kind, expected);
  }

  void TryRenew() {
    if (owners_.empty()) return;
    const auto [key, owned] = AnyOwner();
    const Command command = RenewFor(owned, 1 + static_cast<std::int64_t>(random_.Below(60'000)));
    const Kind expected = model_.OnRenew(key, command.renew(), story_.now_ms);
    ASSERT_EQ(story_.Apply(command).kind, expected);
  }

  void TryExpire() {
    story_.Apply(ExpireUpTo(100));
    Reconcile();
    CompareRuns();
    for (const auto& [key, entries] : model_.claims) {
      for (const LedgerModel::Entry& entry : entries) {
        if (model_.claims[key].size() > 1) continue;  // goes with the slot's last claim
        ASSERT_LT(story_.now_ms, entry.EndMs() + kSkewMs + kForgetLateMs)
            << key << " should have gone";
      }
    }
  }

  /// What the tables hold is what the model holds, and what went was over, or evicted.
  void Reconcile() {
    std::uint64_t slots = 0;
    std::uint64_t bytes = 0;
    std::uint64_t evicted = 0;
    for (auto& [key, entries] : model_.claims) {
      const Slot* slot = story_.tables().FindSlot(HashOfKey(key));
      if (!slot && !entries.empty() && !model_.AllOver(key, story_.now_ms)) {
        ASSERT_FALSE(model_.Working(key)) << key << ": a claim in work was dropped";
        ++evicted;
      }
      if (!slot) {
        entries.clear();
        continue;
      }
      ++slots;
      bytes += slot->ByteSizeLong();
      CompareSlot(*slot, entries);
    }
    ASSERT_LE(evicted, evicted_);
    ASSERT_EQ(story_.tables().head().slots(), slots);
    ASSERT_EQ(story_.tables().head().slot_bytes(), bytes);
    evicted_ = 0;
  }

  void FollowSlot(const std::string& key) {
    if (const Slot* slot = story_.tables().FindSlot(HashOfKey(key)))
      Follow(*slot, model_.claims[key]);
  }

  void Follow(const Slot& slot, std::vector<LedgerModel::Entry>& entries) {
    for (auto entry = entries.begin(); entry != entries.end();) {
      const bool there = std::any_of(slot.claims().begin(), slot.claims().end(),
                                     [&](const auto& c) { return c.run_id() == entry->run_id; });
      if (!there) {
        ASSERT_TRUE(model_.Over(*entry, story_.now_ms)) << "a claim was forgotten early";
      }
      entry = there ? entry + 1 : entries.erase(entry);
    }
  }

  void CompareSlot(const Slot& slot, std::vector<LedgerModel::Entry>& entries) {
    Follow(slot, entries);
    ASSERT_EQ(static_cast<std::size_t>(slot.claims_size()), entries.size());
    for (const Claim& claim : slot.claims()) {
      const auto entry = std::find_if(entries.begin(), entries.end(), [&](const auto& each) {
        return each.run_id == claim.run_id();
      });
      ASSERT_EQ(claim.state(), entry->state);
      ASSERT_EQ(claim.fence(), entry->fence);
      ASSERT_EQ(claim.fingerprint(), entry->body);
      ASSERT_EQ(claim.tries(), entry->tries);
      ASSERT_EQ(claim.outcome().body(), entry->outcome);
    }
  }

  void Step() {
    MoveTime();
    const std::uint64_t choice = random_.Below(100);
    if (choice < 33) {
      TryBegin();
    } else if (choice < 45) {
      TryMutate();
    } else if (choice < 75) {
      TrySettle();
    } else if (choice < 83) {
      TryRenew();
    } else if (choice < 90) {
      TryExpire();
    } else if (choice < 98) {
      story_.Flush();
    } else {
      story_.Restart();
      model_.OnRestart(story_.now_ms);
    }
  }

  Random random_;
  LedgerStory story_;
  LedgerModel model_;
  std::vector<std::pair<std::string, Answer>> owners_;
  std::set<std::string> run_ids_;
  std::uint64_t last_fence_ = 0;
  std::uint64_t evicted_ = 0;
  Answer answer_;  // to the last begin
};

TEST_P(LedgerAgainstModel, SaysAndKeepsTheSame) {
  for (int step = 0; step < 6000; ++step) {
    ASSERT_NO_FATAL_FAILURE(Step()) << GetParam() << " step " << step;
    ASSERT_NO_FATAL_FAILURE(Reconcile()) << GetParam() << " step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Worlds, LedgerAgainstModel,
    testing::Values(Variant{1}, Variant{2}, Variant{.seed = 3, .hot_bytes_max = 0},
                    Variant{.seed = 4, .slots_max = 5, .never = false},
                    Variant{.seed = 5, .slots_max = 5, .hot_bytes_max = 0, .never = false},
                    Variant{.seed = 6, .slots_max = 4, .evict_oldest = true},
                    Variant{.seed = 7, .slots_max = 1, .evict_oldest = true, .hot_bytes_max = 0}));

}  // namespace
}  // namespace once
