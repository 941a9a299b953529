#include "tests/consensus/figure_8.h"

namespace once {

RaftOptions Figure8Options() {
  RaftOptions options;
  options.append_bytes_max = 1;  // so that an old entry and the new one travel apart
  return options;
}

void TellFigure8UpToC(Group& group) {
  group.Found({"a", "b", "c"});
  group.Elect("a");
  group.Isolate("a");
  group.Propose("a", "old");
  group.Settle();
  group.Crash("a");

  group.lose = [](const RaftMessage& message) { return message.has_append(); };
  group.Elect("c");
  group.Settle();
  group.Crash("c");

  group.Heal();
  group.Restart("a");
  group.lose = [](const RaftMessage& message) {
    const auto& entries = message.append().entries();
    return !entries.empty() && entries.rbegin()->term() == 3;
  };
  group.Elect("a");
  group.Tick("a", 2);
  group.Settle();
}

void TellFigure8D(Group& group) {
  group.Crash("a");
  group.lose = nullptr;
  group.Restart("c");
  group.Elect("c");
  group.Settle();
}

}  // namespace once
