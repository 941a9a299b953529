// An attempt that is still under way when the answer arrives from elsewhere gives way to it. The
// answer may be the region's own, given back to it after it lost its directory.
#pragma once

#include <cstdint>
#include <string_view>

#include "conflict/claim.pb.h"

namespace once {

/// Moves each PENDING or RETRYABLE claim of `region` to SUPERSEDED (version + 1) if a success is in
/// the slot and its component still answers at `now_ms`. Returns how many moved.
///
/// A superseded claim does not compete and is not counted. It takes the end of the component that
/// it gave way to as its own expires_ms, so that RedirectOf finds the winner and the claim is
/// forgotten no later than the winner; finalised_ms becomes `now_ms`. Only the home region may call
/// this for its claims. A terminal failure supersedes nothing: a success would stand
/// over it. A RETRYABLE claim whose retention is over is closed and left alone: it belongs to
/// an earlier generation.
int Supersede(Slot& slot, std::string_view region, std::int64_t now_ms, std::int64_t skew_ms);

}  // namespace once
