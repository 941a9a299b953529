#include "replica/strict/strict_proposals.h"

#include <algorithm>
#include <utility>

namespace once {
namespace {

constexpr std::uint32_t kBatchFormat = 1;
constexpr std::size_t kBatchBytesMax = 256 << 10;
constexpr std::size_t kProposedMax = 65'536;
constexpr std::size_t kGatheredMax = 100'000;
constexpr std::int64_t kPaceMs = 2;
constexpr std::int64_t kHoldMs = 500;
constexpr int kGatherRounds = 10;

// In the batch's list, from 1. What the asker said last counts.
std::uint32_t PlaceOf(const StrictAsker& asker, StrictBatch& batch) {
  for (int i = 0; i < batch.askers_size(); ++i) {
    StrictAsker& listed = *batch.mutable_askers(i);
    if (listed.member() != asker.member() || listed.boot() != asker.boot()) continue;
    listed.set_oldest(std::max(listed.oldest(), asker.oldest()));
    return static_cast<std::uint32_t>(i) + 1;
  }
  *batch.add_askers() = asker;
  return static_cast<std::uint32_t>(batch.askers_size());
}

bool HasAskerOutside(const StrictBatch& batch, const std::string& region) {
  return std::any_of(
      batch.askers().begin(), batch.askers().end(),
      [&region](const StrictAsker& asker) { return RegionOfMember(asker.member()) != region; });
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
  Add(asker, request);
}

void StrictProposals::TakeOwn(Command command) {
  StrictRequest request;
  *request.mutable_command() = std::move(command);
  Add({}, std::move(request));
}

void StrictProposals::Add(const StrictAsker& asker, StrictRequest request) {
  if (!engine_.Leads() || gathered_.size() >= kGatheredMax) return;
  const std::int64_t until_ms = request.until_ms();
  StrictCommand& added = gathered_.emplace_back(Gathered{asker, {}, until_ms}).command;
  added.set_request(request.request());
  *added.mutable_command() = std::move(*request.mutable_command());
  for (int i = 0; i < 3; ++i) added.add_entropy(entropy_());
  ProposeSoon();
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
  gathered_.clear();
}

// Not for long: who asked asks again.
void StrictProposals::Hold() {
  if (holding_) return;
  holding_ = true;
  scheduler_.After(kHoldMs, [this, alive = alive_] {
    if (!*alive) return;
    holding_ = false;
    if (clock_standing_ == ClockStanding::kUnheard) gathered_.clear();
  });
}

// Its caller was told that it may have happened, and may have gone another way since.
bool StrictProposals::IsLate(const Gathered& gathered) {
  return gathered.until_ms != 0 && gathered.until_ms + terms_.skew_ms() < clock_.NowMillis();
}

bool StrictProposals::ProposeSome() {
  StrictBatch batch;
  batch.set_format(kBatchFormat);
  batch.set_stamp_ms(clock_.NowMillis());
  *batch.mutable_terms() = terms_;
  std::vector<std::uint64_t> numbers;
  std::unordered_set<std::uint64_t> here;
  for (std::size_t bytes = 0; !gathered_.empty() && bytes < kBatchBytesMax;) {
    const bool late = IsLate(gathered_.front());
    StrictCommand command = std::move(gathered_.front().command);
    const StrictAsker asker = std::move(gathered_.front().asker);
    gathered_.pop_front();
    const std::uint64_t number = command.request();
    if (late) continue;
    if (number != 0 && (proposed_.count(number) || !here.insert(number).second)) continue;
    bytes += command.ByteSizeLong();
    if (number != 0) {
      numbers.push_back(number);
      command.set_asker(PlaceOf(asker, batch));
    }
    *batch.add_commands() = std::move(command);
  }
  if (batch.commands_size() == 0) return true;
  if (!engine_.Propose(batch.SerializeAsString())) return false;
  if (HasAskerOutside(batch, engine_.LeaderRegion())) engine_.TellAtOnce();
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
  gathered_.clear();
}

}  // namespace once
