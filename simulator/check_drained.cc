#include <algorithm>

#include "simulator/checks.h"

namespace once {

Violations CheckDrained(Cluster& cluster, const std::set<std::string>& started_ahead,
                        const std::set<std::string>& started_behind) {
  Violations violations;
  const bool replaced =
      std::any_of(cluster.regions().begin(), cluster.regions().end(),
                  [&cluster](const std::string& region) { return cluster.life(region) > 0; });
  for (const std::string& region : cluster.regions()) {
    Gossip& gossip = cluster.gossip(region);
    const auto say = [&](const std::string& what) {
      violations.push_back({"drained", region + " " + what, 0});
    };
    if (const std::size_t frames = gossip.journal().CountFrames(); frames > 0)
      say("still keeps " + std::to_string(frames) + " frames that everybody has");
    for (const std::string& peer : cluster.regions()) {
      if (peer == region) continue;
      const Gossip::PeerState state = gossip.StateOf(peer);
      if (state.unacknowledged > 0)
        say("waits for " + peer + " to acknowledge " + std::to_string(state.unacknowledged) +
            " frames");
      if (state.repaired > 0 && !replaced)
        say("asked " + peer + " to repair what no message had broken");
      if (state.refused > 0 && !started_ahead.count(peer) && !started_behind.count(region))
        say("refused " + std::to_string(state.refused) + " honest messages of " + peer);
    }
  }
  return violations;
}

}  // namespace once
