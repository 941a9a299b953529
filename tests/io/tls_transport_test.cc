#include "replica/io/tls_transport.h"

#include <gtest/gtest.h>

#include "tests/io/regions.h"

namespace once {
namespace {

TEST(TlsTransport, MessagesGoBothWaysInOrder) {
  Regions regions;
  ASSERT_EQ(regions.Open("us", {"eu"}), "");
  ASSERT_EQ(regions.Open("eu", {"us"}), "");
  std::vector<std::string> said;
  for (int i = 0; i < 1000; ++i) {
    said.push_back("message " + std::to_string(i));
    regions["us"].Send("eu", said.back());
    regions["eu"].Send("us", said.back());
  }
  ASSERT_TRUE(regions.Until([&] {
    return regions.Heard("us", "eu").size() >= 1000 && regions.Heard("eu", "us").size() >= 1000;
  }));
  EXPECT_EQ(regions.Heard("us", "eu"), said);
  EXPECT_EQ(regions.Heard("eu", "us"), said);
  EXPECT_TRUE(regions.Until([&] { return regions["us"].Unsent("eu") == 0; }));
  EXPECT_GT(regions["us"].CountersOf("eu").sent_bytes, 0u);
  EXPECT_GT(regions["us"].CountersOf("eu").received_bytes, 0u);
  EXPECT_EQ(regions["us"].CountersOf("eu").connects, 1u);
}

TEST(TlsTransport, ALargeMessageArrivesWhole) {
  Regions regions;
  ASSERT_EQ(regions.Open("us", {"eu"}), "");
  ASSERT_EQ(regions.Open("eu", {"us"}), "");
  std::string large(8u << 20, 'x');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 31 >> 3);
  regions["us"].Send("eu", large);
  ASSERT_TRUE(regions.Until([&] { return !regions.Heard("us", "eu").empty(); }));
  EXPECT_TRUE(regions.Heard("us", "eu")[0] == large);
}

TEST(TlsTransport, WhatIsTooLongIsNotSent) {
  Regions regions;
  ASSERT_EQ(regions.Open("us", {"eu"}), "");
  regions["us"].Send("eu", std::string((8u << 20) + 1, 'x'));
  EXPECT_EQ(regions["us"].CountersOf("eu").oversize, 1u);
  EXPECT_EQ(regions["us"].Unsent("eu"), 0u);
}

TEST(TlsTransport, APeerWithALowerBoundEndsTheConnectionAndCounts) {
  Regions regions;
  ASSERT_EQ(regions.Open("us", {"eu"}), "");
  ASSERT_EQ(regions.Open("eu", {"us"}, [](auto& to) { to.connection.message_bytes_max = 1000; }),
            "");
  regions["us"].Send("eu", std::string(1001, 'x'));
  ASSERT_TRUE(regions.Until([&] { return regions["eu"].CountersOf("us").oversize == 1; }));
  ASSERT_TRUE(regions.Until([&] { return regions["us"].CountersOf("eu").connects == 2; }));
  regions["us"].Send("eu", std::string(1000, 'y'));
  ASSERT_TRUE(regions.Until([&] { return !regions.Heard("us", "eu").empty(); }));
  EXPECT_EQ(regions.Heard("us", "eu")[0], std::string(1000, 'y'));
}

TEST(TlsTransport, ARestartedPeerIsFoundAgain) {
  Regions regions;
  ASSERT_EQ(regions.Open("us", {"eu"}), "");
  ASSERT_EQ(regions.Open("eu", {"us"}), "");
  ASSERT_TRUE(regions.Until([&] { return regions.Connected("us", "eu"); }));
  regions.Close("eu");
  ASSERT_TRUE(regions.Until([&] { return !regions.Connected("us", "eu"); }));
  regions["us"].Send("eu", "said meanwhile");
  ASSERT_EQ(regions.Open("eu", {"us"}), "");
  ASSERT_TRUE(regions.Until([&] { return !regions.Heard("us", "eu").empty(); }));
  EXPECT_EQ(regions.Heard("us", "eu")[0], "said meanwhile");
  EXPECT_EQ(regions["us"].CountersOf("eu").connects, 2u);
}

TEST(TlsTransport, APeerThatDialsIsDialledAtOnce) {
  Regions regions;
  const auto patient = [](TlsTransportOptions& options) {
    options.retry_ms_min = options.retry_ms_max = 3'600'000;
  };
  ASSERT_EQ(regions.Open("us", {"eu"}, patient), "");
  ASSERT_TRUE(regions.Until([&] { return regions.Link("us", "eu").accepted() == 1; }));
  ASSERT_EQ(regions.Open("eu", {"us"}), "");
  EXPECT_TRUE(regions.Until([&] { return regions.Connected("us", "eu"); }));
}

TEST(TlsTransport, S_11_TheQueueOfAPeerIsBoundedAndKeepsTheOldest) {
  Regions regions;
  const auto bounded = [](TlsTransportOptions& options) { options.queue_bytes_max = 5000; };
  ASSERT_EQ(regions.Open("us", {"eu"}, bounded), "");
  for (char c = '0'; c <= '9'; ++c) regions["us"].Send("eu", std::string(1000, c));
  EXPECT_EQ(regions["us"].Unsent("eu"), 5000u);
  EXPECT_EQ(regions["us"].CountersOf("eu").dropped, 5u);
  ASSERT_EQ(regions.Open("eu", {"us"}), "");
  ASSERT_TRUE(regions.Until([&] { return regions.Heard("us", "eu").size() == 5; }));
  EXPECT_EQ(regions.Heard("us", "eu")[4], std::string(1000, '4'));
  regions["us"].Send("eu", std::string(6000, 'x'));  // alone it always fits
  EXPECT_TRUE(regions.Until([&] { return regions.Heard("us", "eu").size() == 6; }));
}

TEST(TlsTransport, S_11_ADeadPeerDoesNotTouchTheOthers) {
  Regions regions;
  ASSERT_EQ(regions.Open("us", {"eu", "ap"}), "");
  ASSERT_EQ(regions.Open("eu", {"us"}), "");
  ASSERT_EQ(regions.Open("ap", {"us"}), "");
  ASSERT_TRUE(regions.Until(
      [&] { return regions.Connected("us", "eu") && regions.Connected("us", "ap"); }));
  regions.Link("us", "ap").SetBlackHole(true);
  for (std::size_t i = 1; i <= 50; ++i) {
    for (int j = 0; j < 10; ++j) regions["us"].Send("ap", std::string(400'000, 'x'));
    regions["us"].Send("eu", "news");
    ASSERT_TRUE(regions.Until([&] { return regions.Heard("us", "eu").size() == i; }));
  }
  EXPECT_LE(regions["us"].Unsent("ap"), 1u << 20);
  EXPECT_GT(regions["us"].CountersOf("ap").dropped, 0u);
  EXPECT_EQ(regions["us"].CountersOf("eu").connects, 1u);
}

TEST(TlsTransport, S_13_ABlackHoleIsNoticedAndLeft) {
  Regions regions;
  const auto impatient = [](TlsTransportOptions& options) {
    options.connection.handshake_ms = 200;
    options.connection.silence_ms = 200;
  };
  ASSERT_EQ(regions.Open("us", {"eu"}, impatient), "");
  ASSERT_EQ(regions.Open("eu", {"us"}, impatient), "");
  ASSERT_TRUE(regions.Until([&] { return regions.Connected("us", "eu"); }));
  regions.Link("us", "eu").SetBlackHole(true);
  regions["us"].Send("eu", std::string(8u << 20, 'x'));  // more than the kernel takes
  ASSERT_TRUE(regions.Until([&] { return !regions.Connected("us", "eu"); }));
  EXPECT_EQ(regions["us"].Unsent("eu"), 0u);  // it was being written, and is lost
  // Dialling into the hole does not hang either.
  const std::size_t dials = regions.Link("us", "eu").accepted();
  ASSERT_TRUE(regions.Until([&] { return regions.Link("us", "eu").accepted() >= dials + 3; }));
  regions.Link("us", "eu").SetBlackHole(false);
  ASSERT_TRUE(regions.Until([&] { return regions.Connected("us", "eu"); }));
  regions["us"].Send("eu", "back");
  ASSERT_TRUE(regions.Until([&] { return !regions.Heard("us", "eu").empty(); }));
  EXPECT_EQ(regions.Heard("us", "eu")[0], "back");
}

TEST(TlsTransport, AnIdleConnectionStays) {
  Regions regions;
  const auto impatient = [](TlsTransportOptions& options) {
    options.connection.heartbeat_ms = 10;
    options.connection.silence_ms = 500;
  };
  ASSERT_EQ(regions.Open("us", {"eu"}, impatient), "");
  ASSERT_EQ(regions.Open("eu", {"us"}, impatient), "");
  // More heartbeats than fit into the time after which silence would have ended it.
  ASSERT_TRUE(regions.Until([&] { return regions.Link("us", "eu").forwarded() > 150; }));
  EXPECT_EQ(regions["us"].CountersOf("eu").connects, 1u);
}

TEST(TlsTransport, ACutDropsBothWaysUntilItHeals) {
  Regions regions;
  const auto faulty = [](TlsTransportOptions& options) { options.fault_injection = true; };
  ASSERT_EQ(regions.Open("us", {"eu", "ap"}, faulty), "");
  ASSERT_EQ(regions.Open("eu", {"us"}), "");
  ASSERT_EQ(regions.Open("ap", {"us"}), "");
  ASSERT_TRUE(regions["us"].SetCut({"eu"}));
  regions["us"].Send("eu", "lost");
  regions["eu"].Send("us", "lost");
  regions["us"].Send("ap", "through");
  regions["ap"].Send("us", "through");
  ASSERT_TRUE(regions.Until([&] {
    return regions["us"].CountersOf("eu").received_bytes > 0 &&
           !regions.Heard("us", "ap").empty() && !regions.Heard("ap", "us").empty();
  }));
  ASSERT_TRUE(regions["us"].SetCut({}));
  regions["us"].Send("eu", "healed");
  regions["eu"].Send("us", "healed");
  ASSERT_TRUE(regions.Until(
      [&] { return !regions.Heard("us", "eu").empty() && !regions.Heard("eu", "us").empty(); }));
  EXPECT_EQ(regions.Heard("us", "eu")[0], "healed");
  EXPECT_EQ(regions.Heard("eu", "us")[0], "healed");
}

TEST(TlsTransport, FaultsAreInjectedOnLoopbackOnly) {
  Regions regions;
  ASSERT_EQ(regions.Open("us", {"eu"}), "");
  EXPECT_FALSE(regions["us"].SetCut({"eu"}));
  for (const char* address : {"192.0.2.1:9101", "127.example.com:9101", "localhost:9101"}) {
    const std::string why = regions.Open("ap", {}, [&](TlsTransportOptions& options) {
      options.fault_injection = true;
      options.peers.push_back({"us", address});
    });
    EXPECT_NE(why.find("loopback"), std::string::npos) << address;
  }
  const std::string why = regions.Open("ap", {}, [](TlsTransportOptions& options) {
    options.fault_injection = true;
    options.listen = "0.0.0.0:0";
  });
  EXPECT_NE(why.find("loopback"), std::string::npos);
}

}  // namespace
}  // namespace once
