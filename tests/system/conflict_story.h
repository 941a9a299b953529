// Both sides of a cut admit the same key; after the heal one run stands, everywhere.
#pragma once

#include <functional>
#include <string>

#include "tests/system/cluster_process.h"

namespace once {

/// How the network between us and the other two is cut and mended.
struct Parting {
  std::function<void()> cut;
  std::function<void()> heal;
};

struct ResolvedConflict {
  std::string key;
  HttpResult winner;       // the answer to the admission that stands
  HttpResult loser;        // and to the one that was cancelled
  std::string loser_home;  // its region
};

/// Plays the story on a running cluster and expects its end: the same key is claimed in us and eu,
/// and the lower run id wins. That is us, which comes first, unless both came in one millisecond.
ResolvedConflict PlayConflict(ClusterProcess& cluster, const Parting& parting);

/// The survivor answers in every region, the loser is cancelled with its reason, and there is one
/// conflict in the whole cluster, however often that is asked.
void ExpectResolved(ClusterProcess& cluster, const ResolvedConflict& conflict);

}  // namespace once
