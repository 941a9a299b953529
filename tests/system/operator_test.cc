// oncectl beside running nodes: the switch that cuts a development cluster, and the strict group.
#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <regex>

#include "tests/system/strict_cluster.h"

namespace once {
namespace {

using testing::HasSubstr;
using testing::Not;

ProgramResult Oncectl(std::vector<std::string> arguments, const std::string& directory) {
  arguments.insert(arguments.begin(), ProgramPath("oncectl"));
  return RunProgram(arguments, directory);
}

/// Leaves in `directory` what ops/up would: one administrator for all regions.
void DescribeDevelopment(const std::string& directory, ClusterProcess& cluster) {
  const std::string home = directory + "/.once/";
  std::filesystem::create_directories(home);
  for (const std::string& region : cluster.regions())
    WriteFile(home + region + ".toml",
              "[node]\nregion = \"" + region +
                  "\"\nlisten = \"127.0.0.1:" + std::to_string(cluster.node(region).port()) +
                  "\"\ndata_dir = \"d\"\n[auth]\ncredentials_file = \"k\"\n");
  WriteFile(home + "credentials.json",
            R"([{"tenant":"admin","key":")" + cluster.AdminKey("us") + R"("}])");
}

class DevelopmentCluster : public testing::Test {
 protected:
  void SetUp() override {
    for (const std::string region : {"eu", "ap"})
      cluster_.node(region).AcceptKeysOf(cluster_.node("us"));
    ASSERT_TRUE(cluster_.StartAll());
    DescribeDevelopment(scratch_.path(), cluster_);
  }
  ProgramResult Run(const std::vector<std::string>& arguments) {
    return Oncectl(arguments, scratch_.path());
  }
  /// What ap, eu and us say that they are cut off from.
  std::string Cuts() {
    std::string text;
    for (const std::string region : {"ap", "eu", "us"})
      text += cluster_.Admin(region).Get("/v1/admin/cut").body;
    return text;
  }

  ScratchDirectory scratch_;
  ClusterProcess cluster_;
};

TEST_F(DevelopmentCluster, CutsAddUpUntilTheyAreHealed) {
  const std::string none = Cuts();
  ASSERT_EQ(Run({"partition", "us", "--from", "eu,ap"}).exit_code, 0);
  EXPECT_EQ(Cuts(), R"({"region":"ap","cutFrom":["us"]})"
                    R"({"region":"eu","cutFrom":["us"]})"
                    R"({"region":"us","cutFrom":["ap","eu"]})");
  ASSERT_EQ(Run({"partition", "eu", "--from", "ap"}).exit_code, 0);
  EXPECT_EQ(Cuts(), R"({"region":"ap","cutFrom":["eu","us"]})"
                    R"({"region":"eu","cutFrom":["ap","us"]})"
                    R"({"region":"us","cutFrom":["ap","eu"]})");
  ASSERT_EQ(Run({"heal"}).exit_code, 0);
  EXPECT_EQ(Cuts(), none);
  EXPECT_THAT(none, HasSubstr(R"({"region":"us","cutFrom":[]})"));
}

TEST_F(DevelopmentCluster, ARegionIsNotCutOffFromItself) {
  for (const char* sides : {"us", "eu,us"}) {
    const ProgramResult result = Run({"partition", "us", "--from", sides});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr("us cannot be on both sides"));
  }
  EXPECT_THAT(Cuts(), HasSubstr(R"({"region":"eu","cutFrom":[]})"));
}

TEST_F(DevelopmentCluster, ARegionThatItDoesNotHaveIsAnsweredWithThoseItHas) {
  const ProgramResult result = Run({"partition", "us", "--from", "mars"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("no region mars, only ap, eu, us"));
}

TEST_F(DevelopmentCluster, AKeyThatIsGivenWinsOverItsOwn) {
  EXPECT_THAT(Run({"status"}).err, HasSubstr("there is no strict group")) << "it may ask";
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{ProgramPath("oncectl"), "status", "--key", "once_wrong"},
        {"env", "ONCE_KEY=once_wrong", ProgramPath("oncectl"), "status"}}) {
    const ProgramResult result = RunProgram(arguments, scratch_.path());
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr("the key was refused (401)"));
  }
}

TEST_F(DevelopmentCluster, WhatWaitsForAPeerThatIsDownIsOnTheMetricsPage) {
  cluster_.node("ap").Kill();
  EXPECT_TRUE(
      WaitUntil([&] { return cluster_.Metric("us", "once_peer_queued_bytes{peer=\"ap\"}") > 0; }));
  EXPECT_EQ(cluster_.Metric("us", "once_peer_dropped_messages_total{peer=\"eu\"}"), 0);
}

TEST(Operator, TheFolderWithoutAClusterIsNamed) {
  const ScratchDirectory scratch;
  for (const char* command : {"status", "heal"}) {
    const ProgramResult result = Oncectl({command}, scratch.path());
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr(std::filesystem::canonical(scratch.path()).string()));
  }
}

TEST(Operator, AKeyWithoutRightsIsToldApartFromNodesThatAreNotThere) {
  NodeProcess node;
  const std::string tenant = node.AddKey("acme");
  ASSERT_TRUE(node.Start());
  const auto ask = [&](const std::string& key, const std::string& command) {
    std::vector<std::string> arguments = {
        command, "--url", "http://127.0.0.1:" + std::to_string(node.port()), "--key", key};
    if (command == "transfer") arguments.push_back("eu");
    const ProgramResult result = Oncectl(arguments, node.scratch().path());
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.out, "") << "no header without a line";
    return result.err;
  };
  for (const char* command : {"status", "members", "found", "transfer"}) {
    EXPECT_THAT(ask("once_wrong", command), HasSubstr("the key was refused (401)"));
    EXPECT_THAT(ask(tenant, command), HasSubstr("the key was refused (403)"));
  }
  const std::string admin = node.AddKey("ops", "operator", {"admin"});
  node.Signal(SIGHUP);
  EXPECT_TRUE(WaitUntil(
      [&] { return ask(admin, "status").find("there is no strict group") != std::string::npos; }));
  node.Kill();
  for (const char* command : {"status", "members", "found", "transfer"})
    EXPECT_THAT(ask(tenant, command), HasSubstr("no node could be reached"));
}

TEST(Operator, OverTlsTheKeyGoesOnlyToANodeOfThatNameFromThatAuthority) {
  NodeProcess node;
  const auto certificate = [&](const std::string& name, const std::string& alternative) {
    const std::string file = node.scratch() / name;
    const ProgramResult made = RunProgram(
        {"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "2", "-subj", "/CN=" + name, "-addext", "subjectAltName=" + alternative,
         "-keyout", file + ".key", "-out", file + ".crt"});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    return file + ".crt";
  };
  const auto start_with = [&](const std::string& crt) {
    node.setup.settings = "[tls]\ncertificate_file = \"" + crt + "\"\nkey_file = \"" +
                          crt.substr(0, crt.size() - 4) + ".key\"\n";
    ASSERT_TRUE(node.Start());
  };
  const std::string admin = node.AddKey("ops", "operator", {"admin"});
  const auto ask = [&](const std::string& host, const std::string& ca,
                       const std::string& scheme = "https://") {
    std::vector<std::string> arguments = {"status", "--key", admin, "--url",
                                          scheme + host + ":" + std::to_string(node.port())};
    if (!ca.empty()) arguments.insert(arguments.end(), {"--ca", ca});
    const ProgramResult result = Oncectl(arguments, node.scratch().path());
    EXPECT_EQ(result.exit_code, 1) << "one node is no group";
    return result.err;
  };
  const std::string by_address = certificate("address", "IP:127.0.0.1");
  const std::string by_name = certificate("name", "DNS:localhost");

  ASSERT_NO_FATAL_FAILURE(start_with(by_address));
  EXPECT_THAT(ask("127.0.0.1", by_address), HasSubstr("there is no strict group")) << "it answered";
  for (const std::string& error :
       {ask("localhost", by_address), ask("127.0.0.1", by_name), ask("127.0.0.1", "")})
    EXPECT_THAT(error, AllOf(HasSubstr("certificate verify failed"), HasSubstr("--ca")));
  EXPECT_THAT(ask("127.0.0.1", node.keys_file()), HasSubstr("no certificates in PEM"));
  EXPECT_THAT(ask("127.0.0.1", "", "http://"), HasSubstr("https://"));
  ASSERT_EQ(node.Stop(), 0);

  node.setup.settings.clear();
  ASSERT_TRUE(node.Start());
  EXPECT_THAT(ask("127.0.0.1", by_address), HasSubstr("does not speak TLS"));
  ASSERT_EQ(node.Stop(), 0);

  ASSERT_NO_FATAL_FAILURE(start_with(by_name));
  EXPECT_THAT(ask("localhost", by_name), HasSubstr("there is no strict group"));
  EXPECT_THAT(ask("127.0.0.1", by_name), HasSubstr("certificate verify failed"));
}

class StrictDevelopment : public testing::Test {
 protected:
  void SetUp() override {
    for (const std::string region : {"eu", "ap"})
      cluster_.nodes().node(region).AcceptKeysOf(cluster_.nodes().node("us"));
    ASSERT_TRUE(cluster_.nodes().StartAll());
    DescribeDevelopment(scratch_.path(), cluster_.nodes());
    // One that ended after the first of them.
    const std::string founders = "[\"" + cluster_.View("ap").member + "\",\"" +
                                 cluster_.View("eu").member + "\",\"" + cluster_.View("us").member +
                                 "\"]";
    ASSERT_EQ(cluster_.Change("us", R"({"found":)" + founders + "}").status, 202);
    EXPECT_EQ(Insist({"found"}), "Founded: " + founders + "\n");
    ASSERT_TRUE(cluster_.AwaitAgreement(cluster_.regions()));
  }

  /// The same again until it is done: another one may lead at any moment.
  std::string Insist(const std::vector<std::string>& arguments) {
    ProgramResult result;
    EXPECT_TRUE(WaitUntil([&] {
      result = Oncectl(arguments, scratch_.path());
      return result.exit_code == 0;
    })) << result.err;
    return result.out;
  }
  /// Until `oncectl status` has that line.
  bool AwaitStatus(const std::string& line) {
    const std::regex pattern("\n" + line + "\n");
    return WaitUntil(
        [&] { return std::regex_search(Oncectl({"status"}, scratch_.path()).out, pattern); });
  }

  ScratchDirectory scratch_;
  StrictCluster cluster_;
};

TEST_F(StrictDevelopment, AMemberMayBeNamedByItsRegion) {
  const std::string leader = cluster_.AwaitLeaderAmong(cluster_.regions());
  const std::string next = cluster_.OthersThan(leader).front();
  EXPECT_EQ(Insist({"transfer", next}), "Begun: transfer " + cluster_.View(next).member + "\n");
  ProgramResult result;
  for (const char* command : {"add", "transfer"}) {
    const std::string region = command == std::string("add") ? "us" : "mars";
    EXPECT_TRUE(WaitUntil([&] {
      result = Oncectl({command, region}, scratch_.path());
      return result.err.find("leads") == std::string::npos;
    }));
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr("MEMBER is region/identity, see oncectl members"));
    EXPECT_THAT(result.err, Not(HasSubstr("more than one")));
  }
}

TEST_F(StrictDevelopment, AMemberIsReplacedAsOperatingSays) {
  const std::string leader = cluster_.AwaitLeaderAmong(cluster_.regions());
  const std::string lost = cluster_.OthersThan(leader)[0];
  const std::string third = cluster_.OthersThan(leader)[1];
  NodeProcess& node = cluster_.nodes().node(lost);
  const std::string old_name = cluster_.View(lost).member;
  const auto begin = [&](const std::string& region, const std::string& key) {
    return cluster_.nodes().Acme(region).Begin(key, 600);
  };
  ASSERT_TRUE(WaitUntil([&] { return begin(leader, "before").status == 201; }));

  EXPECT_EQ(Insist({"remove", lost}), "Begun: remove " + old_name + "\n");
  ASSERT_EQ(node.Stop(), 0);
  std::filesystem::remove_all(node.data_dir());
  ASSERT_TRUE(cluster_.nodes().Start(lost));
  DescribeDevelopment(scratch_.path(), cluster_.nodes());
  const std::string name = cluster_.View(lost).member;
  ASSERT_NE(name, old_name);
  EXPECT_TRUE(node.Logged(name));
  EXPECT_TRUE(AwaitStatus(lost + " +no member .*"));

  EXPECT_EQ(Insist({"add", lost}), "Begun: add " + name + "\n");
  ASSERT_TRUE(AwaitStatus(lost + " +learner .* 0"));
  EXPECT_EQ(Insist({"promote", lost}), "Begun: promote " + name + "\n");
  ASSERT_TRUE(AwaitStatus(lost + " +(follower|leader) .* 0"));
  cluster_.nodes().node(third).Kill();
  EXPECT_TRUE(WaitUntil([&] { return begin(lost, "with its vote").status == 201; }));
  EXPECT_EQ(Member(begin(lost, "before"), "error"), "idempotency_in_flight");
}

TEST_F(StrictDevelopment, ARemovedMemberIsShownAsNone) {
  const std::string gone =
      cluster_.OthersThan(cluster_.AwaitLeaderAmong(cluster_.regions())).front();
  const std::string member = cluster_.View(gone).member;
  ASSERT_TRUE(cluster_.ChangeByLeader("remove", member));
  ProgramResult result;
  for (const auto& [command, name] : {std::pair{"members", member}, {"status", gone}}) {
    EXPECT_TRUE(WaitUntil([&] {
      result = Oncectl({command}, scratch_.path());
      return result.out.find("leader") != std::string::npos;
    })) << result.out;
    EXPECT_THAT(result.out, testing::ContainsRegex("\n" + name + " +no member +")) << result.out;
    EXPECT_EQ(result.err, "");
  }
  // It alone does not know that it was removed: the table says how far it can be believed.
  result = Oncectl(
      {"members", "--url", "http://127.0.0.1:" + std::to_string(cluster_.nodes().node(gone).port()),
       "--key", cluster_.nodes().AdminKey("us")},
      scratch_.path());
  EXPECT_THAT(result.out, HasSubstr(member));
  EXPECT_THAT(result.err, HasSubstr("none of these nodes leads"));
}

}  // namespace
}  // namespace once
