// Run ids: 26 characters of Crockford's base 32, so that bytewise order is order of creation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace once {

/// 10 characters of time (ms, equal to the claim's creation stamp), 4 of the region, 12 of
/// randomness. Two regions whose 20-bit codes collide cannot form one deployment.
std::string MintRunId(std::int64_t created_ms, std::string_view region, std::uint64_t entropy);

/// The region's four characters.
std::string RegionCode(std::string_view region);

/// The code of the region that made the run id; empty when it is not of our making.
std::string_view RunIdCode(std::string_view run_id);

/// The time inside a run id, or -1 when it is not of our making.
std::int64_t RunIdMillis(std::string_view run_id);

}  // namespace once
