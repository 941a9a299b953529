#include "replica/strict/member_clocks.h"

#include <algorithm>

#include "conflict/mutation.h"

namespace once {
namespace {

constexpr std::int64_t kTripMs = 2000;
constexpr std::int64_t kLatelyMs = 10'000;

}  // namespace

MemberClocks::MemberClocks(NodeClock& clock, std::int64_t bound_ms)
    : clock_(clock), bound_ms_(bound_ms), boot_ms_(clock.NowMillis()) {}

ClockWord MemberClocks::WordFor(const std::string& region) {
  ClockWord word;
  word.set_now_ms(clock_.NowMillis());
  const auto at = heard_.find(region);
  if (at == heard_.end()) return word;
  word.set_heard_ms(at->second.theirs_ms);
  word.set_heard_at_ms(at->second.ours_ms);
  return word;
}

bool MemberClocks::IsLatest(const std::string& region, const ClockWord& word) {
  const auto at = heard_.find(region);
  if (at == heard_.end() || word.now_ms() == 0 || word.now_ms() >= at->second.latest_ms)
    return true;
  return at->second.latest_ms > clock_.NowMillis() + bound_ms_;
}

void MemberClocks::Hear(const std::string& region, const ClockWord& word) {
  const std::int64_t now_ms = clock_.NowMillis();
  Heard& heard = heard_[region];
  if (word.now_ms() == 0) return Judge(heard, now_ms, false);
  heard.latest_ms = std::max(heard.latest_ms, word.now_ms());
  heard.theirs_ms = word.now_ms();
  heard.ours_ms = now_ms;
  const bool of_this_start = word.heard_ms() >= boot_ms_ && word.heard_ms() <= now_ms;
  if (word.now_ms() > now_ms + bound_ms_)
    Judge(heard, now_ms, true);
  else if (of_this_start && word.heard_at_ms() < word.heard_ms() - bound_ms_)
    Judge(heard, word.heard_ms(), true);
  else if (of_this_start && word.heard_ms() >= now_ms - kTripMs)
    Judge(heard, word.heard_ms(), false);
}

// Messages overtake each other.
void MemberClocks::Judge(Heard& heard, std::int64_t verdict_ms, bool differs) {
  if (verdict_ms < heard.verdict_ms) return;
  heard.verdict_ms = verdict_ms;
  heard.differs = differs;
}

ClockStanding MemberClocks::Among(const std::set<std::string>& regions) {
  if (MutationOn("leader-clock-unchecked")) return ClockStanding::kAgrees;
  const std::int64_t now_ms = clock_.NowMillis();
  std::size_t agree = 1;
  std::size_t differ = 0;
  for (const std::string& region : regions) {
    const auto at = heard_.find(region);
    if (at == heard_.end() || at->second.verdict_ms < now_ms - kLatelyMs) continue;
    ++(at->second.differs ? differ : agree);
  }
  const std::size_t majority = regions.size() / 2 + 1;
  if (agree >= majority) return ClockStanding::kAgrees;
  return regions.size() - differ < majority ? ClockStanding::kDiffers : ClockStanding::kUnheard;
}

ClockStanding MemberClocks::With(const std::string& region) const {
  const auto at = heard_.find(region);
  if (at == heard_.end() || at->second.verdict_ms == 0) return ClockStanding::kUnheard;
  return at->second.differs ? ClockStanding::kDiffers : ClockStanding::kAgrees;
}

}  // namespace once
