#include <gtest/gtest.h>

#include "simulator/checks.h"

namespace once {
namespace {

constexpr std::int64_t kBoundMs = 1000;

// ap lacks for so long what us had said, in a world where all is well.
Violations Check(std::int64_t age_ms, std::size_t piled_bytes, const RunOptions& options) {
  return CheckLag({{0, "us", "ap", age_ms, 0, 60'000, piled_bytes}}, kBoundMs, options);
}

RunOptions NarrowWindows() {
  RunOptions options;
  options.cluster.gossip.window_bytes = 2048;
  options.faults.links.delay_ms = 40;
  options.faults.links.jitter_ms = 10;
  return options;
}

TEST(Lag, WhatHadPiledUpHasATripForEachWindowAndNoMore) {
  const RunOptions options = NarrowWindows();
  const std::size_t ten_windows = 5 * 2048;  // each half full
  EXPECT_TRUE(Check(kBoundMs + 10 * 100, ten_windows, options).empty());
  EXPECT_EQ(Check(kBoundMs + 10 * 100 + 1, ten_windows, options).size(), 1u);
}

TEST(Lag, WhatFitsAWindowHasNoMoreTimeThanTheBound) {
  EXPECT_TRUE(Check(kBoundMs, 1000, NarrowWindows()).empty());
  EXPECT_EQ(Check(kBoundMs + 1, 1000, NarrowWindows()).size(), 1u);
}

TEST(Lag, WhatHadPiledUpBeforeASlowLinkHasTheTimeThatTheLinkTakes) {
  RunOptions options;
  options.faults.links.bytes_per_ms = 5;
  EXPECT_TRUE(Check(kBoundMs + 400, 1000, options).empty());
  EXPECT_EQ(Check(kBoundMs + 401, 1000, options).size(), 1u);
}

}  // namespace
}  // namespace once
