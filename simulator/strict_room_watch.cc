#include "simulator/strict_room_watch.h"

#include <utility>

namespace once {

Violations StrictRoomWatch::Look(const std::string& region, const Answer& answer) {
  Violations violations;
  const Head& head = cluster_.group(region)->tables().head();
  Applied& last = last_[region];
  if (head.applied() != last.index) {
    const Applied before = std::exchange(
        last, {.index = head.applied(), .slots = head.slots(), .bytes = head.slot_bytes()});
    if (before.answers == 1 && !before.beyond.empty())
      violations.push_back({"sizes", before.beyond, 0});
    if (before.index + 1 == last.index && before.slots + 1 == last.slots && answer.expired == 0 &&
        before.bytes >= cluster_.options().slot_bytes_max)
      last.beyond = "the strict ledger in " + region + " let somebody add a slot to " +
                    std::to_string(before.bytes) + " bytes where " +
                    std::to_string(cluster_.options().slot_bytes_max) + " are allowed";
  }
  ++last.answers;
  return violations;
}

}  // namespace once
