// onced, oncectl and once-sim as an operator types them.
#include <gmock/gmock.h>

#include <boost/json.hpp>
#include <csignal>
#include <filesystem>

#include "tests/system/node_process.h"
#include "tests/system/promises.h"

namespace once {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

ProgramResult Onced(const std::vector<std::string>& arguments, const std::string& directory = "") {
  std::vector<std::string> all = {ProgramPath("onced")};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return RunProgram(all, directory);
}

TEST(CommandLine, VersionAndHelp) {
  EXPECT_EQ(Onced({"--version"}).exit_code, 0);
  EXPECT_THAT(Onced({"--version"}).out, testing::MatchesRegex("onced [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  EXPECT_EQ(Onced({"--help"}).exit_code, 0);
  for (const char* option : {"--config", "--dev", "--check-config", "--adopt-data"})
    EXPECT_THAT(Onced({"--help"}).out, HasSubstr(option));
  EXPECT_NE(Onced({"--no-such-option"}).exit_code, 0);
}

TEST(CommandLine, NoConfigurationIsExitCode2) {
  EXPECT_EQ(Onced({}).exit_code, 2);
  EXPECT_THAT(Onced({}).err, HasSubstr("--config"));
  const ProgramResult missing = Onced({"--config", "/nonexistent/once.toml"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("/nonexistent/once.toml"));
}

struct Mistake {
  std::vector<std::string> line;
  std::vector<std::string> message;
};

TEST(CommandLine, AMistakeIsExitCode2AndNamedWithTheHelpToAskFor) {
  const std::vector<Mistake> mistakes = {
      {{"onced", "--no-such-option"}, {"onced: ", "--no-such-option", "see onced --help"}},
      {{"onced", "--config"}, {"onced: --config", "see onced --help"}},
      {{"onced", "--config", "."}, {"cannot read the file ."}},
      {{"oncectl"}, {"oncectl: ", "see oncectl --help"}},
      {{"oncectl", "nonsense"}, {"oncectl: there is no command nonsense; see oncectl --help"}},
      {{"oncectl", "keys"}, {"oncectl keys: ", "see oncectl keys --help"}},
      {{"oncectl", "keys", "nonsense"}, {"there is no command nonsense; see oncectl keys --help"}},
      {{"oncectl", "keys", "create"}, {"--tenant is required; see oncectl keys create --help"}},
      {{"oncectl", "keys", "create", "--tenant", "a:b"},
       {"--tenant", "must be 1 to 64 of A-Z", "see oncectl keys create --help"}},
      {{"oncectl", "status", "--url", "https://127.0.0.1"}, {"https://ADDRESS:PORT"}},
      {{"oncectl", "status", "--url", "https://127.0.0.1:8101", "--ca", "/none"}, {"/none"}},
      {{"oncectl", "status", "--url", "127.0.0.1:8101"}, {"127.0.0.1:8101", "http://ADDRESS:PORT"}},
      {{"oncectl", "status", "--url", "http://127.0.0.1"}, {"http://ADDRESS:PORT"}},
      {{"oncectl", "status", "--url", "http://127.0.0.1:99999"}, {"http://ADDRESS:PORT"}},
      {{"once-sim", "nonsense"}, {"once-sim: there is no command nonsense; see once-sim --help"}},
      {{"once-sim", "run", "--seed", "-1"}, {"--seed", "-1", "see once-sim run --help"}},
      {{"once-sim", "swarm", "--seeds", "-3"}, {"--seeds", "-3", "whole number"}},
      {{"once-sim", "swarm", "--first", "99999999999999999999"}, {"--first", "whole number"}},
      {{"once-sim", "swarm", "--jobs", "many"}, {"--jobs", "many", "whole number"}},
      {{"once-sim", "swarm", "--seeds", "0"}, {"--seeds", "at least 1"}},
      {{"once-sim", "run", "--scenario", "nonsense"}, {"nonsense", "see once-sim list"}},
      {{"once-sim", "run", "--scenario", "."}, {"cannot read the file ."}},
      {{"once-sim", "check-history", "."}, {"cannot read the file ."}},
      {{"once-sim", "check-history", "none"}, {"cannot read the file none"}}};
  const ScratchDirectory scratch;
  for (const auto& [line, message] : mistakes) {
    std::vector<std::string> arguments = line;
    arguments.front() = ProgramPath(line.front());
    const ProgramResult result = RunProgram(arguments, scratch.path());
    SCOPED_TRACE(testing::PrintToString(line));
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.out, "");
    for (const std::string& part : message) EXPECT_THAT(result.err, HasSubstr(part));
  }
}

TEST(CommandLine, AScenarioThatMeansNothingIsNamedWithItsPlace) {
  const ScratchDirectory scratch;
  const std::string file = scratch / "world.toml";
  const auto run = [&](const std::string& text) {
    WriteFile(file, text);
    const ProgramResult result = RunProgram({ProgramPath("once-sim"), "run", "--scenario", file});
    EXPECT_EQ(result.exit_code, 2) << text;
    EXPECT_THAT(result.err, HasSubstr(file));
    return result.err;
  };
  EXPECT_THAT(run("about = \"x\"\n= 3\n"), HasSubstr("line 2"));
  EXPECT_THAT(run("cals = 3\n"), HasSubstr("unknown option cals"));
  EXPECT_THAT(run("[workload]\ncals = 3\n"), HasSubstr("unknown option workload.cals"));
  EXPECT_THAT(run("workload = 3\n"), HasSubstr("[workload]"));
  EXPECT_THAT(run("[fault]\nkind = \"crash\"\n"), HasSubstr("[[fault]]"));
  EXPECT_THAT(run("[[fault]]\nkind = \"crash\"\nregion = \"us\"\nfrom = 3\n"),
              HasSubstr("unknown option fault.from"));
}

struct BadConfig {
  const char* name;
  const char* text;
  std::vector<std::string> message;
};

void PrintTo(const BadConfig& config, std::ostream* out) {
  *out << config.name;
}

class CheckConfig : public testing::TestWithParam<BadConfig> {};

TEST_P(CheckConfig, SaysWhatIsWrongAndWhere) {
  const ScratchDirectory scratch;
  const std::string file = scratch / "once.toml";
  WriteFile(file, GetParam().text);
  const ProgramResult result = Onced({"--check-config", "--config", file}, scratch.path());
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.out, Not(HasSubstr("good")));
  for (const std::string& part : GetParam().message) EXPECT_THAT(result.err, HasSubstr(part));
}

INSTANTIATE_TEST_SUITE_P(
    Bad, CheckConfig,
    testing::Values(
        BadConfig{"Unknown", "[node]\ndata_dir = \"d\"\nregoin = \"us\"\n", {"regoin", "line 3"}},
        BadConfig{
            "WrongType", "[limits]\n\nbody_bytes_max = \"big\"\n", {"body_bytes_max", "line 3"}},
        BadConfig{"Syntax", "[node]\ndata_dir = \n", {"line 2"}},
        BadConfig{"Negative", "[limits]\nconnections_max = -1\n", {"connections_max", "line 2"}},
        BadConfig{"Section", "[nodes]\nregion = \"us\"\n", {"nodes"}},
        BadConfig{"NoSection", "region = \"us\"\n", {"\"region\" stands in no section", "line 1"}},
        BadConfig{"Listen", "[node]\nlisten = \"8100\"\n", {"listen", "8100"}},
        BadConfig{
            "ListenName", "[node]\nlisten = \"host:8100\"\n", {"IP-ADDRESS:PORT", "host:8100"}},
        BadConfig{"Region", "[node]\nregion = \"US East\"\n", {"region", "a-z", "US East"}},
        BadConfig{"Retention", "[retention]\nroutes_seconds = 60\n", {"routes_seconds"}},
        BadConfig{"HalfTls", "[tls]\ncertificate_file = \"c\"\n", {"key_file"}},
        BadConfig{"NoData", "[auth]\ncredentials_file = \"k\"\n", {"once.toml", "data_dir"}},
        BadConfig{"NoKeys", "[node]\ndata_dir = \"d\"\n", {"once.toml", "credentials_file"}}),
    [](const auto& config) { return config.param.name; });

TEST(CommandLine, CheckConfigOfAGoodFileStartsNothing) {
  const ScratchDirectory scratch;
  WriteFile(scratch / "once.toml",
            "[node]\ndata_dir = \"data\"\n[auth]\ncredentials_file = \"keys.json\"\n");
  const ProgramResult result =
      Onced({"--check-config", "--config", scratch / "once.toml"}, scratch.path());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("good"));
  EXPECT_THAT(result.out, HasSubstr("oncectl keys create --tenant TENANT --file keys.json"));
  EXPECT_FALSE(fs::exists(scratch / "data"));
}

TEST(CommandLine, CheckConfigReadsTheFilesThatTheConfigurationNames) {
  const ScratchDirectory scratch;
  const auto check = [&](const std::string& more) {
    WriteFile(scratch / "once.toml",
              "[node]\ndata_dir = \"data\"\n[auth]\ncredentials_file = \"keys.json\"\n" + more);
    return Onced({"--check-config", "--config", scratch / "once.toml"}, scratch.path());
  };
  const ProgramResult no_certificate =
      check("[tls]\ncertificate_file = \"none.crt\"\nkey_file = \"none.key\"\n");
  EXPECT_EQ(no_certificate.exit_code, 2);
  EXPECT_THAT(no_certificate.err, HasSubstr("none.crt"));
  EXPECT_THAT(no_certificate.out, Not(HasSubstr("good")));
  const ProgramResult no_authority = check(
      "[cluster]\npeer_listen = \"127.0.0.1:0\"\ncertificate_file = \"c\"\nkey_file = "
      "\"none.key\"\n"
      "ca_file = \"a\"\ncertificates_dir = \"d\"\n[[peer]]\nregion = \"us\"\n"
      "address = \"127.0.0.1:1\"\n");
  EXPECT_EQ(no_authority.exit_code, 2);
  EXPECT_THAT(no_authority.err, HasSubstr("none.key"));
  WriteFile(scratch / "keys.json", "[{\"id\": ");
  const ProgramResult damaged = check("");
  EXPECT_EQ(damaged.exit_code, 2);
  EXPECT_THAT(damaged.err, HasSubstr("keys.json"));
  EXPECT_FALSE(fs::exists(scratch / "data"));
}

TEST(CommandLine, InsecureDevListensOnLoopbackOnly) {
  const ScratchDirectory scratch;
  WriteFile(scratch / "once.toml", "[node]\ndata_dir = \"data\"\nlisten = \"0.0.0.0:0\"\n");
  const ProgramResult result =
      Onced({"--insecure-dev", "--config", scratch / "once.toml"}, scratch.path());
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("loopback"));
}

TEST(CommandLine, PlainHttpBeyondLoopbackIsWarnedOf) {
  NodeProcess open({.listen = "192.0.2.1:0"});  // an address that no machine has
  EXPECT_EQ(open.StartAndExit(), 1);
  EXPECT_TRUE(open.Logged("event=plain-http")) << open.Log();
  NodeProcess loopback;
  ASSERT_TRUE(loopback.Start());
  EXPECT_FALSE(loopback.Logged("plain-http"));
}

TEST(CommandLine, DevMakesCredentialsAndServesThem) {
  const ScratchDirectory scratch;
  Program dev({{ProgramPath("onced"), "--dev"}, {}, scratch.path(), "", scratch / "log"});
  const std::string shown = scratch / ".once/credentials.json";
  const auto log = [&] { return ReadFile(scratch / "log"); };
  ASSERT_TRUE(
      WaitUntil([&] { return log().find("event=ready") != std::string::npos || dev.Exited(); }));
  std::map<std::string, std::string> keys;
  const boost::json::value list = boost::json::parse(ReadFile(shown));
  for (const auto& entry : list.as_array())
    keys[std::string(entry.at("tenant").as_string())] = entry.at("key").as_string();
  EXPECT_EQ(keys.size(), 4u);
  for (const char* tenant : {"acme", "globex", "vault", "admin"}) EXPECT_TRUE(keys.count(tenant));
  EXPECT_EQ(fs::status(shown).permissions() & fs::perms(0077), fs::perms::none);
  EXPECT_THAT(ReadFile(scratch / ".once/keys.json"), Not(HasSubstr(keys["acme"])));
  EXPECT_THAT(log(), Not(HasSubstr(keys["acme"])));
  if (log().find("cannot listen") != std::string::npos)
    GTEST_SKIP() << "the port of --dev is in use on this machine";
  EXPECT_EQ(Caller(8101, keys["acme"]).CreateRun("order").status, 201);
  EXPECT_EQ(Caller(8101, keys["vault"]).Begin("order").status, 201);
  EXPECT_EQ(Caller(8101, keys["admin"]).Get("/v1/admin/policies").status, 200);
  EXPECT_EQ(Caller(8101, keys["admin"]).CreateRun("order").status, 403);
  dev.Signal(SIGTERM);
  EXPECT_EQ(dev.WaitExit(), 0);
}

class Keys : public testing::Test {
 protected:
  ProgramResult Oncectl(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {ProgramPath("oncectl"), "keys"});
    arguments.insert(arguments.end(), {"--file", node_.keys_file()});
    return RunProgram(arguments, node_.scratch().path());
  }
  NodeProcess node_;
};

TEST_F(Keys, CreatedListedUsedAndRevoked) {
  const ProgramResult made = Oncectl({"create", "--tenant", "acme", "--actor", "billing"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const std::string key = made.out.substr(0, made.out.find('\n'));
  EXPECT_EQ(made.out, key + "\n") << "so that a script can take it";
  EXPECT_GE(key.size(), 43u) << "256 bits";
  const ProgramResult other = Oncectl({"create", "--tenant", "operator", "--scopes", "admin"});
  const std::string admin = other.out.substr(0, other.out.find('\n'));
  ASSERT_TRUE(node_.Start());
  EXPECT_EQ(Caller(node_.port(), key).CreateRun("order").status, 201);
  EXPECT_EQ(Caller(node_.port(), admin).Get("/v1/admin/policies").status, 200);

  const ProgramResult listed = Oncectl({"list"});
  EXPECT_EQ(listed.exit_code, 0);
  EXPECT_THAT(listed.out, HasSubstr("billing"));
  EXPECT_THAT(listed.out, HasSubstr("runs,claims"));
  EXPECT_THAT(listed.out + listed.err, Not(HasSubstr(key)));
  const std::string id = listed.out.substr(listed.out.find("key_"), 16);

  EXPECT_EQ(Oncectl({"revoke", id}).exit_code, 0);
  EXPECT_THAT(Oncectl({"list"}).out, HasSubstr("revoked"));
  EXPECT_EQ(Oncectl({"revoke", id}).exit_code, 1);
  EXPECT_EQ(Oncectl({"revoke", "key_none"}).exit_code, 1);
  EXPECT_EQ(Caller(node_.port(), admin).Post("/v1/admin/reload", "").status, 200);
  EXPECT_EQ(Caller(node_.port(), key).CreateRun("order").status, 401);
}

TEST_F(Keys, WrongUseIsAnError) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"list"}, {"revoke", "key_none"}}) {
    EXPECT_EQ(Oncectl(arguments).exit_code, 1);
    EXPECT_THAT(Oncectl(arguments).err, HasSubstr("there is no file " + node_.keys_file()));
  }
  EXPECT_NE(Oncectl({"create"}).exit_code, 0) << "no tenant";
  EXPECT_NE(Oncectl({"create", "--tenant", ""}).exit_code, 0) << "no tenant either";
  EXPECT_NE(Oncectl({"create", "--tenant", "acme", "--scopes", "everything"}).exit_code, 0);
  EXPECT_NE(Oncectl({}).exit_code, 0);
  EXPECT_FALSE(fs::exists(node_.keys_file()));
}

TEST_F(Keys, FileIsForItsOwnerOnly) {
  ASSERT_EQ(Oncectl({"create", "--tenant", "acme"}).exit_code, 0);
  EXPECT_EQ(fs::status(node_.keys_file()).permissions() & fs::perms(0077), fs::perms::none);
}

}  // namespace
}  // namespace once
