// Rules that change: one node after another is started with others.
#include "simulator/rules_faults.h"

#include <algorithm>
#include <utility>

#include "conflict/probe.h"
#include "simulator/faults.h"

namespace once {
namespace {

constexpr std::int64_t kRulesAgainMs = 4000;

std::uint64_t DigestOf(const std::vector<StrictRoute>& rules) {
  return StrictRoutes(rules).Digest();
}

}  // namespace

// One that is down may have been given others meanwhile.
bool Faults::HasRules(const std::string& region, const std::vector<StrictRoute>& rules) const {
  return DigestOf(cluster_.StrictRoutesOf(region)) == DigestOf(rules) &&
         DigestOf(cluster_.NextStrictRoutesOf(region)) == DigestOf(rules);
}

bool Faults::HaveRules(const std::vector<StrictRoute>& rules) const {
  return std::ranges::all_of(cluster_.regions(),
                             [&](const std::string& region) { return HasRules(region, rules); });
}

// Where callers come before the first change, what they leave is best-effort for a week, and the
// change is refused.
void Faults::StartRules() {
  if (on_rules_change && !random_.OneIn(4)) on_rules_change(false);
  cluster_.time().After(LastRulesMillis() + 1, [this] {
    if (on_rules_change) on_rules_change(false);
    if (!changing_rules_) EndRules(rules_);
  });
}

// Long enough before the end that claims of the other mode are over by then.
void Faults::ChangeRules(std::int64_t for_ms) {
  if (changing_rules_ || NowMillis() > until_ms_ / 2) return;
  changing_rules_ = true;
  if (on_rules_change) on_rules_change(false);
  std::vector<StrictRoute> rules = cluster_.options().strict_routes;
  if (DigestOf(rules_) == DigestOf(rules)) rules.push_back({kMovingTenant, "*"});
  std::vector<std::string> order = cluster_.regions();
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(Below(static_cast<std::int64_t>(i)))]);
  // One alone, or all but the leader, which then has too few on its side.
  const bool one = random_.OneIn(4);
  if (one) order.resize(1);
  if (!one && random_.OneIn(3)) std::erase(order, Resolve("leader"));
  if (random_.OneIn(3)) {
    const std::string alone = AnyRegion();
    for (const std::string& other : cluster_.regions())
      if (other != alone) CutFor(alone, other, 2000 + for_ms);
  }
  cluster_.time().After(Below(1500), [this, order, rules] { GiveRules(order, 0, rules); });
}

void Faults::GiveRules(std::vector<std::string> order, std::size_t at,
                       std::vector<StrictRoute> rules) {
  if (stopped_) return EndRules(cluster_.options().strict_routes);
  if (at == order.size()) {
    // Left so for a while, as when an operator is called away.
    const bool differ = order.size() < cluster_.regions().size();
    cluster_.time().After((differ ? 4000 : 1000) + Below(4000),
                          [this, rules] { EndRules(HaveRules(rules) ? rules : rules_); });
    return;
  }
  StartWith(order[at], rules);
  cluster_.time().After(500 + Below(1500),
                        [this, order = std::move(order), at, rules = std::move(rules)] {
                          GiveRules(order, at + 1, rules);
                        });
}

void Faults::StartWith(const std::string& region, const std::vector<StrictRoute>& rules) {
  cluster_.SetStrictRoutes(region, rules);
  const std::int64_t for_ms = 50 + Below(300);
  // In the end it is told to stop, and stores what it has applied: what was over by then keeps no
  // rule from being changed.
  const bool answers = cluster_.IsUp(region) && cluster_.replica(region).Answering();
  stopped_&& answers ? StopFor(region, for_ms) : CrashFor(region, for_ms);
}

void Faults::EndRules(const std::vector<StrictRoute>& wanted) {
  const std::vector<StrictRoute>& last = cluster_.options().strict_routes;
  const bool late = stopped_ || NowMillis() > LastRulesMillis();
  if (late && DigestOf(wanted) != DigestOf(last)) return EndRules(last);
  changing_rules_ = !HaveRules(wanted);
  if (!changing_rules_) {
    rules_ = wanted;
    if (DigestOf(wanted) != DigestOf(last))
      Reached("all nodes have other rules than at the beginning");
    if (!late && on_rules_change) on_rules_change(true);
    return;
  }
  for (const std::string& region : cluster_.regions())
    if (!HasRules(region, wanted)) StartWith(region, wanted);
  cluster_.time().After(kRulesAgainMs, [this, wanted] { EndRules(wanted); });
}

}  // namespace once
