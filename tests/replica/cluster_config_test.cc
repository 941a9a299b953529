#include <gtest/gtest.h>

#include <map>

#include "replica/config.h"
#include "replica/ledger/run_id.h"

namespace once {
namespace {

constexpr char kCluster[] = R"(
[node]
region = "us"
[cluster]
peer_listen = "127.0.0.1:9101"
certificate_file = "us.crt"
key_file = "us.key"
ca_file = "ca.crt"
certificates_dir = "certs"
)";

std::string Peer(const std::string& region, const std::string& address) {
  return "[[peer]]\nregion = \"" + region + "\"\naddress = \"" + address + "\"\n";
}

/// Empty when the text is good.
std::string Refusal(const std::string& text) {
  const auto parsed = ParseConfig(text);
  return parsed.index() == 1 ? std::get<1>(parsed) : "";
}

void ExpectRefusedCluster(const std::string& text, const std::string& words) {
  EXPECT_NE(Refusal(text).find(words), std::string::npos)
      << "\"" << Refusal(text) << "\" does not say \"" << words << "\" of\n"
      << text;
}

TEST(ClusterConfig, StrictRulesAreReadAndNeedPeers) {
  const std::string rules =
      "[[strict]]\ntenant = \"vault\"\n[[strict]]\nendpoint = \"POST /pay\"\n"
      "[strict_group]\nanswer_ms = 3000\n";
  const auto parsed = ParseConfig(kCluster + Peer("eu", "eu.example.com:9102") + rules);
  ASSERT_EQ(parsed.index(), 0u) << std::get<1>(parsed);
  const Config& config = std::get<Config>(parsed);
  ASSERT_EQ(config.strict_routes.size(), 2u);
  EXPECT_EQ(config.strict_routes[0].tenant, "vault");
  EXPECT_EQ(config.strict_routes[0].endpoint, "*");
  EXPECT_EQ(config.strict_routes[1].tenant, "*");
  EXPECT_EQ(config.strict_answer_ms, 3000);
  ExpectRefusedCluster("[node]\nregion = \"us\"\n" + rules, "without [[peer]]");
  const std::string peer = kCluster + Peer("eu", "eu.example.com:9102");
  ExpectRefusedCluster(peer + "[[strict]]\ntenant = \"\"\n", "is any");
  ExpectRefusedCluster(peer + "[[strict]]\nroute = \"x\"\n", "no option");
  ExpectRefusedCluster(peer + "[strict_group]\nanswer_ms = 1\n", "answer_ms");
}

TEST(ClusterConfig, PeersAreRead) {
  const auto parsed =
      ParseConfig(kCluster + Peer("eu", "eu.example.com:9102") + Peer("ap", "[2001:db8::1]:9103"));
  ASSERT_EQ(parsed.index(), 0u) << std::get<1>(parsed);
  const Config& config = std::get<0>(parsed);
  ASSERT_EQ(config.peers.size(), 2u);
  EXPECT_EQ(config.peers[0].region, "eu");
  EXPECT_EQ(config.peers[1].address, "[2001:db8::1]:9103");
  EXPECT_EQ(config.peer_listen, "127.0.0.1:9101");
  EXPECT_EQ(config.peer_certificates_dir, "certs");
  EXPECT_EQ(config.replication_lag_bound_ms, 5000);
  EXPECT_FALSE(config.fault_injection);
}

TEST(ClusterConfig, WithoutPeersARegionStandsAlone) {
  EXPECT_EQ(Refusal(""), "");
  ExpectRefusedCluster(kCluster, "without [[peer]]");
}

TEST(ClusterConfig, EveryFileIsNeeded) {
  for (const std::string option :
       {"certificate_file", "key_file", "ca_file", "certificates_dir", "peer_listen"}) {
    std::string text = kCluster + Peer("eu", "127.0.0.1:9102");
    const auto line = text.find("\n" + option);
    text.erase(line, text.find('\n', line + 1) - line);
    ExpectRefusedCluster(text, option);
  }
}

TEST(ClusterConfig, PeersMakeSense) {
  ExpectRefusedCluster(kCluster + Peer("us", "127.0.0.1:9102"), "own region");
  ExpectRefusedCluster(kCluster + Peer("eu", "127.0.0.1:1") + Peer("eu", "127.0.0.1:2"), "twice");
  ExpectRefusedCluster(kCluster + Peer("EU", "127.0.0.1:9102"), "a-z");
  ExpectRefusedCluster(kCluster + Peer("", "127.0.0.1:9102"), "a-z");
  for (const char* address : {"", "eu", "eu:", ":9102", "eu:70000", "eu:0", "eu:9x"})
    ExpectRefusedCluster(kCluster + Peer("eu", address), "HOST:PORT");
  ExpectRefusedCluster(std::string(kCluster) + "[[peer]]\nregoin = \"eu\"\n", "regoin");
  ExpectRefusedCluster(std::string(kCluster) + "[peer]\nregion = \"eu\"\n", "[[peer]]");
}

TEST(ClusterConfig, RegionsWithOneCodeCannotFormADeployment) {
  std::map<std::string, std::string> by_code;
  for (int i = 0;; ++i) {
    const std::string name = "r" + std::to_string(i);
    const auto [other, added] = by_code.emplace(RegionCode(name), name);
    if (added) continue;
    ExpectRefusedCluster(kCluster + Peer(other->second, "127.0.0.1:1") + Peer(name, "127.0.0.1:2"),
                         "same code");
    break;
  }
}

TEST(ClusterConfig, ARegionWithPeersDoesNotEvict) {
  const std::string evicting = std::string(kCluster) + "[storage]\nevict_oldest = true\n";
  EXPECT_NE(Refusal(evicting + Peer("eu", "eu:1")).find("evict_oldest"), std::string::npos);
  EXPECT_EQ(Refusal(kCluster + Peer("eu", "eu:1")), "");
}

TEST(ClusterConfig, WithPeersWhatACommandHoldsFitsAMessage) {
  for (const std::string option : {"body_bytes_max", "stored_answer_bytes_max"}) {
    const std::string limits = "[limits]\nbodies_bytes_max = 134217728\n" + option + " = ";
    EXPECT_EQ(Refusal(limits + "16777216\n"), "") << "a region alone sends nothing";
    const std::string peer = kCluster + Peer("eu", "eu:1") + limits;
    EXPECT_EQ(Refusal(peer + "2097152\n"), "");
    ExpectRefusedCluster(peer + "2097153\n", option + " must not exceed 2097152");
  }
}

TEST(ClusterConfig, FaultInjectionIsForLoopback) {
  const std::string faulty = std::string(kCluster) + "fault_injection = true\n";
  EXPECT_EQ(Refusal(faulty + Peer("eu", "127.0.0.1:9102") + Peer("ap", "[::1]:9103")), "");
  for (const char* address : {"10.0.0.1:9102", "eu.example.com:1", "127.example.com:1"})
    ExpectRefusedCluster(faulty + Peer("eu", address), "loopback");
}

TEST(ClusterConfig, OW_N_56_TheLagBoundIsAtMostAMinute) {
  const std::string peer = Peer("eu", "127.0.0.1:9102");
  EXPECT_EQ(Refusal(std::string(kCluster) + "replication_lag_bound_ms = 60000\n" + peer), "");
  ExpectRefusedCluster(std::string(kCluster) + "replication_lag_bound_ms = 60001\n" + peer,
                       "60000");
  ExpectRefusedCluster(std::string(kCluster) + "replication_lag_bound_ms = 0\n" + peer, "60000");
}

}  // namespace
}  // namespace once
