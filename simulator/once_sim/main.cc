// once-sim: the product in a simulated world. Exit 0: all held, 1: something did not, 2: it could
// not be run.
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "replica/command_line.h"
#include "simulator/checks.h"
#include "simulator/history_reader.h"
#include "simulator/once_sim/child.h"
#include "simulator/once_sim/gate.h"
#include "simulator/once_sim/swarm.h"
#include "simulator/report.h"
#include "simulator/report_figures.h"
#include "simulator/runner.h"
#include "simulator/scenario.h"

namespace {

constexpr int kPass = 0;
constexpr int kViolation = 1;
constexpr int kCouldNotRun = once::kMisused;

struct RunArguments {
  std::uint64_t seed = 1;
  std::string scenario;
  std::string out;
  bool strict = false;
};

// The parser takes -1 for the highest number that there is, and so any that is too large.
std::string WholeNumber(const std::string& text) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec == std::errc() && read.ptr == end) return "";
  return "must be a whole number of 0 to " + std::to_string(UINT64_MAX) + ", not " + text;
}

template <typename Number>
void AddNumber(CLI::App* command, const char* name, Number& number, const char* help) {
  command->add_option(name, number, help)->check(WholeNumber)->capture_default_str();
}

void PrintViolations(const std::vector<once::Violation>& violations) {
  for (const once::Violation& violation : violations)
    std::printf("violation: %s at %lld ms: %s\n", violation.checker.c_str(),
                static_cast<long long>(violation.at_ms), violation.what.c_str());
}

bool Report(const once::History& history, const std::string& directory) {
  try {
    once::WriteReport(history, directory);
    std::printf("report: %s/report.html\n", directory.c_str());
    return true;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "once-sim: %s\n", error.what());
    return false;
  }
}

int RunOne(const RunArguments& arguments) {
  auto loaded = once::LoadScenario(arguments.scenario, arguments.seed, arguments.strict);
  if (const std::string* wrong = std::get_if<std::string>(&loaded)) {
    std::fprintf(stderr, "once-sim: %s\n", wrong->c_str());
    return kCouldNotRun;
  }
  once::RunOptions& options = std::get<once::RunOptions>(loaded);
  options.detailed = !arguments.out.empty();
  if (options.detailed) once::TryReport(arguments.out);
  std::printf("seed %llu%s%s\n", static_cast<unsigned long long>(options.seed),
              options.scenario.empty() ? "" : " scenario ", options.scenario.c_str());
  for (const auto& [name, value] : once::Describe(options))
    std::printf("  %s = %s\n", name.c_str(), value.c_str());
  const once::History history = once::Simulate(options);
  std::printf("%zu operations, %zu faults, %zu losers, %llu messages\n", history.operations.size(),
              history.faults.size(), history.lost.size(),
              static_cast<unsigned long long>(history.messages));
  PrintViolations(history.violations);
  if (history.violations_left_out > 0) std::printf("and %zu more\n", history.violations_left_out);
  const bool reported = !options.detailed || Report(history, arguments.out);
  const bool pass = history.violations.empty();
  if (!pass)
    std::printf("reproduce: %s\n",
                once::ReproduceCommand(options.seed, arguments.scenario, arguments.strict).c_str());
  std::printf("%s trace %016llx\n", pass ? "pass" : "FAIL",
              static_cast<unsigned long long>(history.trace_hash));
  if (!reported) return kCouldNotRun;
  return pass ? kPass : kViolation;
}

int RunInOwnProcess(const RunArguments& arguments) {
  return once::RunInChild(
      [&arguments] { return RunOne(arguments); },
      [&arguments](const std::string& death) {
        std::printf(
            "violation: %s\nreproduce: %s\nFAIL\n", death.c_str(),
            once::ReproduceCommand(arguments.seed, arguments.scenario, arguments.strict).c_str());
        return kViolation;
      });
}

int List() {
  for (const once::Scenario& scenario : once::ListScenarios())
    std::printf("%-31s %s\n", scenario.name.c_str(), scenario.about.c_str());
  return kPass;
}

int CheckFile(const std::string& path) {
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path)) {
    std::fprintf(stderr, "once-sim: cannot read the file %s\n", path.c_str());
    return kCouldNotRun;
  }
  const auto read = once::ReadHistory(file);
  if (const std::string* wrong = std::get_if<std::string>(&read)) {
    std::fprintf(stderr, "once-sim: %s: %s\n", path.c_str(), wrong->c_str());
    return kCouldNotRun;
  }
  const once::History& history = std::get<once::History>(read);
  const auto violations = once::CheckHistory(history);
  PrintViolations(violations);
  std::printf("%s: %zu operations\n", violations.empty() ? "pass" : "FAIL",
              history.operations.size());
  return violations.empty() ? kPass : kViolation;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("The product in a simulated world: virtual time, network and disks.", "once-sim");
  app.set_version_flag("--version", std::string("once-sim ") + ONCE_VERSION);
  app.require_subcommand(1);
  RunArguments run_arguments;
  CLI::App* run = app.add_subcommand("run", "Run one seed and say what happened");
  AddNumber(run, "--seed", run_arguments.seed, "Decides everything");
  run->add_option("--scenario", run_arguments.scenario, "Name or file of a scenario");
  run->add_option("--out", run_arguments.out, "Folder for results, history and report");
  run->add_flag("--strict", run_arguments.strict, "In a world with a strict group");
  once::SwarmArguments swarm_arguments;
  CLI::App* swarm = app.add_subcommand("swarm", "Run many seeds, each with its own mix of faults");
  AddNumber(swarm, "--seeds", swarm_arguments.seeds, "How many");
  AddNumber(swarm, "--first", swarm_arguments.first, "The first one");
  AddNumber(swarm, "--jobs", swarm_arguments.jobs, "Processes");
  swarm->add_option("--scenario", swarm_arguments.scenario, "Name or file of a scenario");
  swarm->add_flag("--strict", swarm_arguments.strict, "In worlds with a strict group");
  swarm->add_flag("--keep-going", swarm_arguments.keep_going, "Do not stop at a violation");
  swarm->add_flag("--all-probes", swarm_arguments.all_probes,
                  "Fail when a probe of this mode was never reached");
  CLI::App* list = app.add_subcommand("list", "Name the scenarios");
  std::string file;
  CLI::App* check = app.add_subcommand("check-history", "Judge a recorded history.jsonl");
  check->add_option("file", file, "The history")->required();
  once::GateArguments gate_arguments;
  CLI::App* gate = nullptr;
  std::string mutation;
  if (once::HasMutations()) {
    for (CLI::App* command : {run, swarm})
      command->add_option("--mutation", mutation, "With this seeded bug turned on");
    gate =
        app.add_subcommand("gate", "Turn every seeded bug on, one at a time: each must be found");
    AddNumber(gate, "--seeds", gate_arguments.seeds, "Within so many");
    AddNumber(gate, "--first", gate_arguments.first, "The first one");
    AddNumber(gate, "--jobs", gate_arguments.jobs, "Processes");
    gate->add_option("--only", gate_arguments.only, "This one");
    gate->add_flag("--strict", gate_arguments.strict, "Only those of strict mode");
    gate->add_flag("--without", gate_arguments.without,
                   "Each without the checker that was made for it, or that finds it first");
  }
  if (const auto ended = once::ParseCommandLine(app, argc, argv)) return *ended;
  if (!mutation.empty() && !once::TurnOn(mutation)) {
    std::fprintf(stderr, "once-sim: there is no seeded bug %s\n", mutation.c_str());
    return kCouldNotRun;
  }
  try {
    if (*run) return RunInOwnProcess(run_arguments);
    if (*swarm) return once::RunSwarm(swarm_arguments);
    if (*list) return List();
    if (*check) return CheckFile(file);
    if (gate && *gate) return once::RunGate(gate_arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "once-sim: %s\n", error.what());
  }
  return kCouldNotRun;
}
