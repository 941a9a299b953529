#include "replica/io/send_ring.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

namespace once {
namespace {

struct Pair {
  Pair() {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    for (const int end : ends) fcntl(end, F_SETFL, O_NONBLOCK);
  }
  ~Pair() {
    close(ends[0]);
    HangUp();
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  void HangUp() {
    if (ends[1] >= 0) close(ends[1]);
    ends[1] = -1;
  }
  std::string Received() {
    std::string all;
    char some[4096];
    for (ssize_t bytes; (bytes = recv(ends[1], some, sizeof some, 0)) > 0;)
      all.append(some, static_cast<std::size_t>(bytes));
    return all;
  }

  std::array<int, 2> ends;
};

// No descriptor is left for a ring.
std::unique_ptr<SendRing> WithoutRing() {
  rlimit before;
  getrlimit(RLIMIT_NOFILE, &before);
  const int next = dup(0);
  close(next);
  const rlimit none{static_cast<rlim_t>(next), before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  auto ring = std::make_unique<SendRing>();
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_FALSE(ring->active());
  return ring;
}

class Sends : public testing::TestWithParam<bool> {
 protected:
  Sends() : ring_(GetParam() ? std::make_unique<SendRing>() : WithoutRing()) {}

  void SetUp() override {
    if (GetParam() && !ring_->active()) GTEST_SKIP() << "io_uring is not to be had here";
  }

  std::unique_ptr<SendRing> ring_;
};

TEST_P(Sends, EachGetsItsOwn) {
  for (const std::size_t count : {0u, 1u, 2u, 300u}) {
    std::vector<Pair> pairs(count);
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < count; ++i)
      texts.push_back("answer " + std::to_string(i) + std::string(i, '.'));
    std::vector<SendRing::Send> sends;
    for (std::size_t i = 0; i < count; ++i) sends.push_back({pairs[i].ends[0], texts[i]});
    ring_->All(sends);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(sends[i].result, static_cast<int>(texts[i].size()));
      EXPECT_EQ(pairs[i].Received(), texts[i]);
    }
  }
}

TEST_P(Sends, OneThatIsFullOrGoneHoldsNobodyUp) {
  Pair full;
  Pair gone;
  Pair fine;
  const std::string filling(1 << 16, 'f');
  while (send(full.ends[0], filling.data(), filling.size(), MSG_DONTWAIT) > 0) continue;
  gone.HangUp();
  std::vector<SendRing::Send> sends = {
      {full.ends[0], filling}, {gone.ends[0], "lost"}, {-1, "nowhere"}, {fine.ends[0], "here"}};
  ring_->All(sends);
  EXPECT_EQ(sends[0].result, -EAGAIN);
  EXPECT_EQ(sends[1].result, -EPIPE);
  EXPECT_EQ(sends[2].result, -EBADF);
  EXPECT_EQ(sends[3].result, 4);
  EXPECT_EQ(fine.Received(), "here");
}

TEST_P(Sends, WhatDoesNotFitIsTakenInPart) {
  Pair slow;
  Pair fine;
  const std::string large(16 << 20, 'l');
  std::vector<SendRing::Send> sends = {{slow.ends[0], large}, {fine.ends[0], "here"}};
  ring_->All(sends);
  EXPECT_GT(sends[0].result, 0);
  EXPECT_LT(sends[0].result, static_cast<int>(large.size()));
  EXPECT_EQ(slow.Received().size(), static_cast<std::size_t>(sends[0].result));
  EXPECT_EQ(fine.Received(), "here");
}

INSTANTIATE_TEST_SUITE_P(SendRing, Sends, testing::Bool(), [](const auto& each) {
  return each.param ? "Together" : "EachACallOfItsOwn";
});

}  // namespace
}  // namespace once
