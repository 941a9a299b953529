// What an operator does to the strict group's members, at bad moments.
#include "simulator/faults.h"

namespace once {

void Faults::TransferSome(std::int64_t) {
  TransferTo(AnyRegion());
}

void Faults::TransferTo(const std::string& region) {
  keeper_.Transfer(region);
  Close(Open(Fault::Kind::kTransfer, region));
}

void Faults::DismissOthers(std::int64_t for_ms) {
  const std::string leader = keeper_.Leader();
  for (const std::string& other : cluster_.regions()) {
    if (leader.empty() || other == leader) continue;
    CutFor(leader, other, for_ms);
    if (keeper_.dismissed().size() < options_.dismissals_max) DismissFor(other, for_ms);
  }
  keeper_.Look();
}

void Faults::DismissSome(std::int64_t for_ms) {
  if (options_.strike_percent > 0 && random_.OneIn(2)) return DismissOthers(for_ms);
  if (keeper_.dismissed().size() < options_.dismissals_max) DismissFor(Victim(), for_ms);
}

void Faults::DismissFor(const std::string& region, std::int64_t for_ms) {
  if (keeper_.dismissed().count(region)) return;
  keeper_.Dismiss(region);
  CloseAfter(for_ms, Open(Fault::Kind::kDismissed, region),
             [this, region] { keeper_.Readmit(region); });
}

void Faults::ChangeEarly(const std::string& leader) {
  if (stopped_ || options_.early_change_percent == 0) return;
  if (random_.Below(100) >= options_.early_change_percent) return;
  const std::int64_t for_ms = 1 + Below(3000);
  const std::string region = AnyRegion();
  cluster_.time().After(0, [this, leader, region, for_ms] {
    if (stopped_ || !keeper_.Leads(leader)) return;
    if (keeper_.dismissed().size() < options_.dismissals_max) DismissFor(region, for_ms);
    keeper_.LookAt(leader);
  });
}

}  // namespace once
