#include "replica/strict/strict_proposals.h"

#include <algorithm>
#include <utility>

#include "conflict/mutation.h"
#include "conflict/probe.h"
#include "replica/strict/strict_state.h"

namespace once {
namespace {

constexpr std::size_t kBatchBytesMax = 256 << 10;
constexpr std::size_t kProposedMax = 65'536;
constexpr std::size_t kGatheredMax = 100'000;
constexpr std::int64_t kPaceMs = 2;
constexpr std::int64_t kHoldMs = 500;
constexpr int kGatherRounds = 10;

// The command is another's, and stays as it is.
std::string Serialized(StrictCommand envelope, const Command& command) noexcept {
  envelope.unsafe_arena_set_allocated_command(const_cast<Command*>(&command));
  std::string bytes = envelope.SerializeAsString();
  envelope.unsafe_arena_release_command();
  return bytes;
}

}  // namespace

StrictProposals::StrictProposals(Scheduler& scheduler, NodeClock& clock, Engine& engine,
                                 std::function<std::uint64_t()> entropy, LedgerTerms terms)
    : scheduler_(scheduler),
      clock_(clock),
      engine_(engine),
      entropy_(std::move(entropy)),
      terms_(std::move(terms)) {}

StrictProposals::~StrictProposals() {
  *alive_ = false;
}

void StrictProposals::Take(const StrictAsker& asker, const StrictRequest& request) {
  if (proposed_.count(request.request())) return;
  Add(&asker, request.request(), request.command(), request.until_ms());
}

void StrictProposals::TakeOwn(const Command& command) {
  Add(nullptr, 0, command, 0);
}

void StrictProposals::Add(const StrictAsker* asker, std::uint64_t request, const Command& command,
                          std::int64_t until_ms) {
  if (!engine_.Leads() || gathered_.size() >= kGatheredMax) return;
  StrictCommand envelope;
  envelope.set_request(request);
  if (asker) envelope.set_asker(PlaceOf(*asker));
  for (int i = 0; i < 3; ++i) envelope.add_entropy(entropy_());
  const bool outside = asker && RegionOfMember(asker->member()) != engine_.LeaderRegion();
  gathered_.push_back({request, Serialized(std::move(envelope), command), until_ms, outside});
  ProposeSoon();
}

// In the entry's list, from 1. What the asker said last counts.
std::uint32_t StrictProposals::PlaceOf(const StrictAsker& asker) {
  const auto listed =
      std::find_if(askers_.begin(), askers_.end(), [&asker](const StrictAsker& other) {
        return other.member() == asker.member() && other.boot() == asker.boot();
      });
  const auto place = static_cast<std::uint32_t>(listed - askers_.begin()) + 1;
  if (listed == askers_.end())
    askers_.push_back(asker);
  else
    listed->set_oldest(std::max(listed->oldest(), asker.oldest()));
  return place;
}

void StrictProposals::DropGathered() {
  gathered_.clear();
  askers_.clear();
}

void StrictProposals::Heed(ClockStanding clock) {
  const bool changed = clock != std::exchange(clock_standing_, clock);
  if (changed) ProposeSoon();
}

void StrictProposals::Decided() {
  if (undecided_ > 0 && --undecided_ == 0) ProposeSoon();
}

void StrictProposals::ProposeSoon() {
  if (gathering_ || gathered_.empty()) return;
  if (undecided_ == 0) {
    gathering_ = true;
    return Gather(kGatherRounds);
  }
  if (pacing_) return;
  pacing_ = true;
  scheduler_.After(kPaceMs, [this, alive = alive_] {
    if (!*alive) return;
    pacing_ = false;
    if (!gathering_) Propose();
  });
}

// Callers who were just answered come back within microseconds: some turns of the event loop let
// them in, so that all are in one entry instead of two groups that wait for each other's.
void StrictProposals::Gather(int rounds) {
  scheduler_.Post([this, alive = alive_, rounds] {
    if (!*alive) return;
    if (rounds > 1) return Gather(rounds - 1);
    gathering_ = false;
    Propose();
  });
}

void StrictProposals::Propose() {
  if (clock_standing_ == ClockStanding::kUnheard) return Hold();
  const bool may = clock_.Safe() && clock_standing_ == ClockStanding::kAgrees;
  while (may && !gathered_.empty() && ProposeSome()) {
  }
  DropGathered();
}

// Not for long: who asked asks again.
void StrictProposals::Hold() {
  if (holding_) return;
  holding_ = true;
  scheduler_.After(kHoldMs, [this, alive = alive_] {
    if (!*alive) return;
    holding_ = false;
    if (clock_standing_ == ClockStanding::kUnheard) DropGathered();
  });
}

bool StrictProposals::ProposeSome() {
  GatheredBatch batch;
  batch.set_format(kBatchFormat);
  const std::int64_t now_ms = clock_.NowMillis();
  batch.set_stamp_ms(now_ms);
  *batch.mutable_terms() = terms_;
  for (const StrictAsker& asker : askers_) *batch.add_askers() = asker;
  std::vector<std::uint64_t> numbers;
  std::unordered_set<std::uint64_t> here;
  bool outside = false;
  for (std::size_t bytes = 0; !gathered_.empty() && bytes < kBatchBytesMax;) {
    Gathered next = std::move(gathered_.front());
    gathered_.pop_front();
    // Its caller was told that it may have happened, and may have gone another way since.
    const bool late = next.until_ms != 0 && next.until_ms + terms_.skew_ms() < now_ms;
    if (late) Reached("a request came so late that nobody waits for it");
    if (late && !MutationOn("late-request-taken")) continue;
    if (next.request != 0) {
      if (proposed_.count(next.request) || !here.insert(next.request).second) continue;
      numbers.push_back(next.request);
    }
    bytes += next.command.size();
    outside |= next.outside;
    batch.add_commands(std::move(next.command));
  }
  if (batch.commands_size() == 0) return true;
  if (!engine_.Propose(batch.SerializeAsString())) return false;
  if (outside) engine_.TellAtOnce();
  ++entries_;
  ++undecided_;
  commands_ += static_cast<std::uint64_t>(batch.commands_size());
  for (const std::uint64_t number : numbers)
    if (proposed_.insert(number).second) proposed_order_.push_back(number);
  while (proposed_order_.size() > kProposedMax) {
    proposed_.erase(proposed_order_.front());
    proposed_order_.pop_front();
  }
  return true;
}

void StrictProposals::Forget() {
  undecided_ = 0;
  proposed_.clear();
  proposed_order_.clear();
  DropGathered();
}

}  // namespace once
