#include "simulator/once_sim/swarm.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <vector>

#include "simulator/report_figures.h"
#include "simulator/runner.h"
#include "simulator/scenario.h"

namespace once {
namespace {

// What a worker tells the parent about one seed: small enough for one atomic write to a pipe.
struct Told {
  std::uint64_t seed = 0;
  std::uint64_t trace_hash = 0;
  std::uint64_t operations = 0;
  char failure[200] = {};  // empty: it passed
};

Told RunSeed(std::uint64_t seed, const std::string& scenario, bool strict) {
  Told told;
  told.seed = seed;
  auto loaded = LoadScenario(scenario, seed, strict);
  const History history = Simulate(std::get<RunOptions>(loaded));
  told.trace_hash = history.trace_hash;
  told.operations = history.operations.size();
  if (!history.violations.empty()) {
    const Violation& first = history.violations.front();
    std::snprintf(told.failure, sizeof told.failure, "%s: %s", first.checker.c_str(),
                  first.what.c_str());
  }
  return told;
}

// Worker `index` of `jobs` takes every jobs-th seed, and says which one it begins: a seed without a
// second word is one that crashed.
[[noreturn]] void Work(const SwarmArguments& arguments, unsigned index, int pipe) {
  for (std::uint64_t i = index; i < arguments.seeds; i += arguments.jobs) {
    Told begins;
    begins.seed = arguments.first + i;
    std::strcpy(begins.failure, "begins");
    if (write(pipe, &begins, sizeof begins) != sizeof begins) _exit(2);
    const Told told = RunSeed(arguments.first + i, arguments.scenario, arguments.strict);
    if (write(pipe, &told, sizeof told) != sizeof told) _exit(2);
  }
  _exit(0);
}

class Swarm {
 public:
  Swarm(const SwarmArguments& arguments, bool quiet)
      : arguments_(arguments), quiet_(quiet), tty_(isatty(STDOUT_FILENO) != 0) {}

  const std::optional<FoundFailure>& first() const { return first_; }

  int Run() {
    int ends[2];
    if (pipe(ends) != 0) return 2;
    for (unsigned index = 0; index < arguments_.jobs; ++index) {
      const pid_t child = fork();
      if (child < 0) return 2;
      if (child == 0) {
        close(ends[0]);
        Work(arguments_, index, ends[1]);
      }
      children_.push_back(child);
    }
    close(ends[1]);
    Listen(ends[0]);
    for (const pid_t child : children_) waitpid(child, nullptr, 0);
    for (const auto& [seed, began] : under_way_)
      if (failed_ == 0 || arguments_.keep_going) Fail(seed, "the process ended");
    Finish();
    return failed_ > 0 ? 1 : 0;
  }

 private:
  void Listen(int pipe) {
    Told told;
    while (read(pipe, &told, sizeof told) == sizeof told) {
      if (std::strcmp(told.failure, "begins") == 0) {
        under_way_[told.seed] = true;
        continue;
      }
      under_way_.erase(told.seed);
      ++done_;
      operations_ += told.operations;
      hash_ ^= told.trace_hash * (told.seed * 2 + 1);  // in whatever order they end
      if (told.failure[0] != 0) Fail(told.seed, told.failure);
      if (failed_ > 0 && !arguments_.keep_going) {
        for (const pid_t child : children_) kill(child, SIGTERM);
        under_way_.clear();
        return;
      }
      Progress();
    }
  }

  void Fail(std::uint64_t seed, const char* why) {
    ++failed_;
    if (!first_) first_ = FoundFailure{seed, done_, why};
    if (quiet_) return;
    std::printf("%sseed %llu FAIL %s\n  reproduce: %s\n", tty_ ? "\r\033[K" : "",
                static_cast<unsigned long long>(seed), why,
                ReproduceCommand(seed, arguments_.scenario, arguments_.strict).c_str());
    std::fflush(stdout);
  }

  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  void Progress() {
    if (quiet_) return;
    const std::uint64_t every = tty_ ? 20 : std::max<std::uint64_t>(arguments_.seeds / 10, 1);
    if (done_ % every != 0) return;
    const double part = static_cast<double>(done_) / static_cast<double>(arguments_.seeds);
    std::string bar(static_cast<std::size_t>(part * 40), '#');
    bar.resize(40, '.');
    std::printf(
        tty_ ? "\r[%s] %llu/%llu, %.0f/s, %llu failed" : "[%s] %llu/%llu, %.0f/s, %llu failed\n",
        bar.c_str(), static_cast<unsigned long long>(done_),
        static_cast<unsigned long long>(arguments_.seeds), static_cast<double>(done_) / Seconds(),
        static_cast<unsigned long long>(failed_));
    std::fflush(stdout);
  }

  void Finish() {
    if (quiet_) return;
    std::printf(
        "%s%s: %llu seeds from %llu, %llu operations, %llu failed, %.1f s (%.0f seeds/s), "
        "trace %016llx\n",
        tty_ ? "\r\033[K" : "", failed_ > 0 ? "FAIL" : "pass",
        static_cast<unsigned long long>(done_), static_cast<unsigned long long>(arguments_.first),
        static_cast<unsigned long long>(operations_), static_cast<unsigned long long>(failed_),
        Seconds(), static_cast<double>(done_) / Seconds(), static_cast<unsigned long long>(hash_));
  }

  const SwarmArguments& arguments_;
  const bool quiet_;
  const bool tty_;
  std::optional<FoundFailure> first_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::vector<pid_t> children_;
  std::map<std::uint64_t, bool> under_way_;
  std::uint64_t done_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t operations_ = 0;
  std::uint64_t hash_ = 0;
};

}  // namespace

int RunSwarm(const SwarmArguments& arguments) {
  if (arguments.jobs == 0 || arguments.seeds == 0) {
    std::fprintf(stderr, "once-sim: --jobs and --seeds are at least 1\n");
    return 2;
  }
  auto loaded = LoadScenario(arguments.scenario, arguments.first, arguments.strict);
  if (const std::string* wrong = std::get_if<std::string>(&loaded)) {
    std::fprintf(stderr, "once-sim: %s\n", wrong->c_str());
    return 2;
  }
  std::printf("seeds %llu to %llu%s%s%s, %u processes\n",
              static_cast<unsigned long long>(arguments.first),
              static_cast<unsigned long long>(arguments.first + arguments.seeds - 1),
              arguments.strict ? ", strict" : "", arguments.scenario.empty() ? "" : ", scenario ",
              arguments.scenario.c_str(), arguments.jobs);
  std::fflush(stdout);
  return Swarm(arguments, false).Run();
}

std::optional<FoundFailure> FindFailure(const SwarmArguments& arguments) {
  Swarm swarm(arguments, true);
  swarm.Run();
  return swarm.first();
}

}  // namespace once
