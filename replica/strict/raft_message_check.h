// What no honest member would send is kept away from the Raft core, which trusts members.
#pragma once

#include <string>

#include "consensus/raft.h"

namespace once {

/// True if the message may be given to `raft`: its sender stands in the region that the channel
/// proves, its entries follow each other, and it does not contradict what only one member can say.
bool IsAcceptable(const Raft& raft, const std::string& from_region, const RaftMessage& message);

}  // namespace once
