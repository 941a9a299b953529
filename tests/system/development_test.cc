// ops/up and ops/down, in a tree of their own.
#include <gmock/gmock.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/json.hpp>
#include <csignal>
#include <filesystem>

#include "tests/system/caller.h"
#include "tests/system/node_process.h"

namespace once {
namespace {

namespace fs = std::filesystem;
using boost::asio::ip::tcp;
using testing::HasSubstr;
using testing::Not;

constexpr std::chrono::seconds kUpPatience{120};
const std::vector<std::string> kRegions = {"us", "eu", "ap"};

// In place of the project: what is built are copies of the programs of this build.
constexpr const char* kProject = R"(cmake_minimum_required(VERSION 3.25)
project(once NONE)
foreach(name onced oncectl)
  add_custom_command(OUTPUT ${name}.copied
    COMMAND ${CMAKE_COMMAND} -E make_directory bin
    COMMAND ${CMAKE_COMMAND} -E copy )" ONCE_BIN_DIR R"(/${name} bin/${name}
    COMMAND ${CMAKE_COMMAND} -E touch ${name}.copied)
  add_custom_target(${name} DEPENDS ${name}.copied)
endforeach()
)";

bool IsFree(int port) {
  boost::asio::io_context context;
  tcp::acceptor acceptor(context, tcp::v4());
  acceptor.set_option(tcp::acceptor::reuse_address(true));
  boost::system::error_code failed;
  acceptor.bind({boost::asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(port)},
                failed);
  return !failed;
}

/// An ONCE_PORT_BASE whose ports are free. Below those that the system gives out, and a hundred
/// processes do not ask for the same one.
int FreePortBase() {
  constexpr int kFirst = 10'000;
  constexpr int kStep = 200;
  for (int number = ::getpid() % 100;; ++number) {
    const int base = kFirst + number % 100 * kStep;
    bool free = true;
    for (const int port : {1, 2, 3, 101, 102, 103}) free = free && IsFree(base + port);
    if (free) return base;
  }
}

bool Runs(pid_t pid) {
  std::error_code failed;  // also for one that has ended and that nobody has waited for
  return !fs::read_symlink("/proc/" + std::to_string(pid) + "/exe", failed).empty();
}

class DevelopmentTree : public testing::Test {
 protected:
  DevelopmentTree() {
    fs::create_directories(tree_ / "ops");
    for (const char* name :
         {"ops/up", "ops/down", "ops/setup", "ops/nodes.sh", "ops/certs", "CMakePresets.json"})
      fs::copy_file(ONCE_SOURCE_DIR "/" + std::string(name), tree_ / name);
    WriteFile(tree_ / "ops/packages.txt", "# Nothing is to be installed.\n");
    WriteFile(tree_ / "CMakeLists.txt", kProject);
  }
  ~DevelopmentTree() override {
    for (const auto& [region, pid] : started_)
      if (Runs(pid)) ::kill(pid, SIGKILL);
  }

  Program::Options Command(std::vector<std::string> arguments) {
    arguments.front() = tree_ / arguments.front();
    return {arguments,
            {"ONCE_PORT_BASE=" + std::to_string(base_), "ONCE_STOP_SECONDS=" + stop_seconds_},
            tree_.path(),
            tree_ / "out",
            tree_ / "err"};
  }
  ProgramResult Run(const std::vector<std::string>& arguments) {
    for (const char* name : {"out", "err"}) WriteFile(tree_ / name, "");
    Program program(Command(arguments));
    ProgramResult result;
    result.exit_code = program.WaitExit(kUpPatience).value_or(-SIGKILL);
    result.out = ReadFile(tree_ / "out");
    result.err = ReadFile(tree_ / "err");
    for (const std::string& region : kRegions)
      if (const pid_t pid = PidOf(region); pid != 0) started_[region] = pid;
    return result;
  }
  ProgramResult UpDetached() { return Run({"ops/up", "--detach"}); }
  std::string KeyOf(const std::string& tenant) {
    const boost::json::value list = boost::json::parse(ReadFile(tree_ / ".once/credentials.json"));
    for (const boost::json::value& entry : list.as_array())
      if (entry.at("tenant").as_string() == tenant) return std::string(entry.at("key").as_string());
    return "";
  }

  std::string PidFile(const std::string& region) { return tree_ / (".once/" + region + ".pid"); }
  /// As its pid file says; 0: there is none.
  pid_t PidOf(const std::string& region) { return std::atoi(ReadFile(PidFile(region)).c_str()); }
  void WritePid(const std::string& region, pid_t pid) {
    fs::create_directories(tree_ / ".once");
    WriteFile(PidFile(region), std::to_string(pid) + "\n");
  }
  bool AllRun() {
    return std::all_of(kRegions.begin(), kRegions.end(),
                       [this](const std::string& region) { return Runs(PidOf(region)); });
  }
  void ExpectNoneRuns() {
    for (const auto& [region, pid] : started_) EXPECT_FALSE(Runs(pid)) << region;
    for (const std::string& region : kRegions) EXPECT_FALSE(fs::exists(PidFile(region)));
  }

  ScratchDirectory tree_;
  int base_ = FreePortBase();
  std::string stop_seconds_ = "30";
  std::map<std::string, pid_t> started_;  // the last of each region
};

/// What ops/up proposes to type.
std::string ProposedCommands(const std::string& banner) {
  return banner.substr(std::min(banner.size(), banner.find("Try:") + 4));
}

TEST_F(DevelopmentTree, UpGivesCredentialsAndTheCommandThatItProposesWorks) {
  const ProgramResult up = UpDetached();
  ASSERT_EQ(up.exit_code, 0) << up.err;
  EXPECT_TRUE(AllRun());
  const boost::json::value list = boost::json::parse(ReadFile(tree_ / ".once/credentials.json"));
  std::map<std::string, std::string> scopes;
  for (const boost::json::value& entry : list.as_array()) {
    const std::string tenant(entry.at("tenant").as_string());
    scopes[tenant] = boost::json::serialize(entry.at("scopes"));
    EXPECT_FALSE(entry.at("actor").as_string().empty());
    const std::string key(entry.at("key").as_string());
    for (const int port : {1, 2, 3}) {
      Caller caller(static_cast<std::uint16_t>(base_ + port), key);
      EXPECT_EQ(caller.Get("/v1/admin/policies").status, tenant == "admin" ? 200 : 403);
    }
  }
  const std::string caller = R"(["runs","claims"])";
  EXPECT_EQ(
      scopes,
      (std::map<std::string, std::string>{
          {"acme", caller}, {"globex", caller}, {"vault", caller}, {"admin", R"(["admin"])"}}));
  const ProgramResult tried = RunProgram({"bash", "-c", ProposedCommands(up.out)}, tree_.path());
  EXPECT_EQ(tried.exit_code, 0) << tried.err;
  EXPECT_THAT(tried.out, HasSubstr("HTTP/1.1 201 Created")) << up.out;
}

TEST_F(DevelopmentTree, OW_MR_11_TheVaultOfUpIsStrictAndTheOthersAreNot) {
  ASSERT_EQ(UpDetached().exit_code, 0) << ReadFile(tree_ / "err");
  const ProgramResult members = RunProgram({"build/bin/oncectl", "members"}, tree_.path());
  EXPECT_THAT(members.out, testing::AllOf(HasSubstr("us/"), HasSubstr("eu/"), HasSubstr("ap/")));
  EXPECT_THAT(members.out, HasSubstr("leader")) << members.err;
  const ProgramResult cut =
      RunProgram({"build/bin/oncectl", "partition", "us", "--from", "eu,ap"}, tree_.path());
  ASSERT_EQ(cut.exit_code, 0) << cut.err;
  const auto create = [this](const std::string& tenant, int port) {
    return Caller(static_cast<std::uint16_t>(base_ + port), KeyOf(tenant)).CreateRun("k").status;
  };
  EXPECT_EQ(create("vault", 1), 503);
  EXPECT_EQ(create("acme", 1), 201);
  EXPECT_TRUE(WaitUntil([&] { return create("vault", 2) == 201; }));
}

TEST_F(DevelopmentTree, ASecondUpLeavesTheNodesAloneAndDownStopsThem) {
  ASSERT_EQ(UpDetached().exit_code, 0) << ReadFile(tree_ / "err");
  const auto first = started_;
  const auto built = fs::last_write_time(tree_ / "build/bin/onced");
  const ProgramResult again = UpDetached();
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("Node us is already running"));
  EXPECT_EQ(started_, first);
  EXPECT_EQ(fs::last_write_time(tree_ / "build/bin/onced"), built);
  EXPECT_TRUE(AllRun());

  const ProgramResult foreground = Run({"ops/up"});
  EXPECT_EQ(foreground.exit_code, 1) << "their end would not be its own";
  EXPECT_THAT(foreground.err, HasSubstr("Node us is already running"));
  const int base = std::exchange(base_, FreePortBase());
  ASSERT_NE(base, base_);
  const ProgramResult elsewhere = UpDetached();
  EXPECT_EQ(elsewhere.exit_code, 1);
  EXPECT_THAT(elsewhere.err, HasSubstr("Node us is already running (pid " +
                                       std::to_string(first.at("us")) + ") on another port"));
  EXPECT_TRUE(AllRun());

  const ProgramResult down = Run({"ops/down"});
  EXPECT_EQ(down.exit_code, 0) << down.err;
  EXPECT_EQ(down.out, "Stopped 3 node(s).\n");
  ExpectNoneRuns();
}

TEST_F(DevelopmentTree, CtrlCEndsUpWithItsNodesAndExitCode0) {
  Program up(Command({"ops/up"}));
  ASSERT_TRUE(WaitUntil(
      [&] {
        return ReadFile(tree_ / "out").find("Ctrl-C stops it.") != std::string::npos || up.Exited();
      },
      kUpPatience));
  ASSERT_FALSE(up.Exited()) << ReadFile(tree_ / "err");
  for (const std::string& region : kRegions) started_[region] = PidOf(region);
  EXPECT_TRUE(AllRun());
  up.Signal(SIGINT);
  EXPECT_EQ(up.WaitExit(kUpPatience), 0) << ReadFile(tree_ / "err");
  ExpectNoneRuns();
}

TEST_F(DevelopmentTree, APidThatBelongsToAnotherProcessByNowIsNotTouched) {
  Program other({{"cat", "/dev/zero"}, {}, "", "", ""});
  NodeProcess node;  // the same program, and not of this cluster
  ASSERT_TRUE(node.Start());
  WritePid("us", other.pid());
  WritePid("eu", node.pid());
  const ProgramResult down = Run({"ops/down"});
  EXPECT_EQ(down.exit_code, 0) << down.err;
  EXPECT_EQ(down.out, "Stopped 0 node(s).\n");
  for (const std::string& region : kRegions) EXPECT_FALSE(fs::exists(PidFile(region)));

  WritePid("us", other.pid());
  const ProgramResult up = UpDetached();
  EXPECT_EQ(up.exit_code, 0) << up.err;
  EXPECT_TRUE(AllRun());
  EXPECT_NE(PidOf("us"), other.pid());
  WritePid("ap", other.pid());
  EXPECT_EQ(Run({"ops/down"}).out, "Stopped 2 node(s).\n");
  EXPECT_FALSE(other.Exited());
  EXPECT_EQ(node.Stop(), 0);
}

TEST_F(DevelopmentTree, DownSaysSoWhenANodeDoesNotStop) {
  ASSERT_EQ(UpDetached().exit_code, 0) << ReadFile(tree_ / "err");
  const pid_t stuck = PidOf("eu");
  ::kill(stuck, SIGSTOP);
  stop_seconds_ = "1";
  const ProgramResult down = Run({"ops/down", "--wipe"});
  EXPECT_EQ(down.exit_code, 1);
  EXPECT_THAT(down.err, HasSubstr("Node eu (pid " + std::to_string(stuck) + ") did not stop"));
  EXPECT_THAT(down.err, HasSubstr("kill -9 " + std::to_string(stuck)));
  EXPECT_TRUE(fs::exists(tree_ / ".once/eu")) << "it still writes there";
  ::kill(stuck, SIGCONT);
  stop_seconds_ = "30";
  EXPECT_EQ(Run({"ops/down", "--wipe"}).exit_code, 0);
  ExpectNoneRuns();
  EXPECT_FALSE(fs::exists(tree_ / ".once"));
}

TEST_F(DevelopmentTree, UpNamesAPortThatIsInUseAndTheWayOut) {
  boost::asio::io_context context;
  const tcp::acceptor taken(context, {boost::asio::ip::address_v4::loopback(), 0});
  const int port = taken.local_endpoint().port();
  base_ = port - 1;
  const ProgramResult result = UpDetached();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("Port " + std::to_string(port) + " is in use"));
  EXPECT_THAT(result.err, HasSubstr("ONCE_PORT_BASE=9100 ./ops/up"));
  EXPECT_THAT(result.err, Not(HasSubstr("Building"))) << "known before minutes have passed";
}

TEST_F(DevelopmentTree, UpRefusesPortsThatAreNone) {
  for (const char* base : {"http", "-1", "70000", "65433", "1e3", "0"}) {
    const ProgramResult result =
        RunProgram({"env", std::string("ONCE_PORT_BASE=") + base, tree_ / "ops/up"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr("ONCE_PORT_BASE must be a number"));
  }
}

}  // namespace
}  // namespace once
