#include "simulator/once_sim/swarm.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "conflict/mutation.h"
#include "simulator/once_sim/child.h"
#include "simulator/probes.h"
#include "simulator/report_figures.h"
#include "simulator/runner.h"
#include "simulator/scenario.h"

namespace once {
namespace {

constexpr std::size_t kProbesMax = 256;
constexpr unsigned kSecondsMax = 300;  // of one seed, under a sanitizer too: it would never end

// What a worker tells the parent about one seed: small enough for one atomic write to a pipe.
struct Told {
  std::uint64_t seed = 0;
  bool over = false;     // false: it begins now
  bool reached = false;  // the seeded bug
  std::uint64_t trace_hash = 0;
  std::uint64_t operations = 0;
  std::uint32_t probes[kProbesMax] = {};
  char failure[400] = {};  // empty: it passed
};
static_assert(sizeof(Told) <= PIPE_BUF);

bool CameToSeededBug() {
#ifdef ONCE_MUTATIONS
  return std::exchange(MutationReached(), false);
#else
  return false;
#endif
}

Told RunSeed(std::uint64_t seed, const SwarmArguments& arguments) {
  Told told{.seed = seed, .over = true};
  auto loaded = LoadScenario(arguments.scenario, seed, arguments.strict);
  RunOptions& options = std::get<RunOptions>(loaded);
  options.without = arguments.without;
  const History history = Simulate(options);
  told.trace_hash = history.trace_hash;
  told.operations = history.operations.size();
  told.reached = CameToSeededBug();
  std::ranges::copy(TakeProbeCounts(), told.probes);
  if (!history.violations.empty()) {
    const Violation& first = history.violations.front();
    std::snprintf(told.failure, sizeof told.failure, "%s: %s", first.checker.c_str(),
                  first.what.c_str());
  }
  return told;
}

bool Tell(int pipe, const Told& told) {
  return write(pipe, &told, sizeof told) == sizeof told;
}

// Every jobs-th seed from the one with that number on.
[[noreturn]] void Work(const SwarmArguments& arguments, std::uint64_t number, int pipe) {
  CountProbes();
  for (; number < arguments.seeds; number += arguments.jobs) {
    alarm(kSecondsMax);
    const std::uint64_t seed = arguments.first + number;
    if (!Tell(pipe, {.seed = seed}) || !Tell(pipe, RunSeed(seed, arguments))) _exit(2);
  }
  _exit(0);
}

class Swarm {
 public:
  Swarm(const SwarmArguments& arguments, bool quiet)
      : arguments_(arguments), quiet_(quiet), tty_(isatty(STDOUT_FILENO) != 0) {}

  const Search& search() const { return search_; }

  int Run() {
    for (unsigned index = 0; index < arguments_.jobs; ++index)
      if (!Launch(workers_.emplace_back(), index)) return 2;
    while (!enough_ && Wait()) {
    }
    for (Worker& worker : workers_) End(worker);
    Finish();
    return failed_ > 0 || (arguments_.all_probes && !unreached_.empty()) ? 1 : 0;
  }

 private:
  struct Worker {
    pid_t child = -1;
    int pipe = -1;  // -1: it is over
    std::uint64_t seed = 0;
    bool busy = false;  // with that seed
  };

  bool Launch(Worker& worker, std::uint64_t number) {
    int ends[2];
    if (pipe(ends) != 0) return false;
    std::fflush(nullptr);
    worker.child = fork();
    if (worker.child == 0) {
      close(ends[0]);
      Work(arguments_, number, ends[1]);
    }
    close(ends[1]);
    worker.pipe = ends[0];
    worker.busy = false;
    return worker.child > 0;
  }

  // For the next word of any worker; false when all are over.
  bool Wait() {
    std::vector<pollfd> ends;
    for (const Worker& worker : workers_) ends.push_back({worker.pipe, POLLIN, 0});
    if (std::ranges::all_of(ends, [](const pollfd& end) { return end.fd < 0; })) return false;
    if (poll(ends.data(), ends.size(), -1) < 0) return true;
    for (std::size_t i = 0; i < ends.size() && !enough_; ++i)
      if (ends[i].revents != 0) Hear(workers_[i]);
    return true;
  }

  void Hear(Worker& worker) {
    Told told;
    if (read(worker.pipe, &told, sizeof told) != sizeof told) return Bury(worker);
    worker.seed = told.seed;
    worker.busy = !told.over;
    if (told.over) Note(told);
  }

  // Its process ended, or died: then another goes on with the seed after that.
  void Bury(Worker& worker) {
    close(std::exchange(worker.pipe, -1));
    int status = 0;
    waitpid(std::exchange(worker.child, -1), &status, 0);
    if (!worker.busy) return;
    Told told{.seed = worker.seed, .over = true, .reached = true};
    const std::string death = DeathOf(status);
    std::snprintf(told.failure, sizeof told.failure, "%s",
                  death.empty() ? "crash: the process ended" : death.c_str());
    Note(told);
    const std::uint64_t next = worker.seed - arguments_.first + arguments_.jobs;
    if (!enough_ && next < arguments_.seeds) Launch(worker, next);
  }

  void End(Worker& worker) {
    if (worker.pipe < 0) return;
    kill(worker.child, SIGKILL);
    waitpid(worker.child, nullptr, 0);
    close(worker.pipe);
  }

  void Note(const Told& told) {
    ++search_.seeds;
    search_.reached += told.reached;
    operations_ += told.operations;
    hash_ ^= told.trace_hash * (told.seed * 2 + 1);  // in whatever order they end
    for (std::size_t i = 0; i < Probes().size(); ++i) {
      worlds_[i] += told.probes[i] > 0;
      times_[i] += told.probes[i];
    }
    if (told.failure[0] != 0) Fail(told);
    Progress();
  }

  void Fail(const Told& told) {
    ++failed_;
    enough_ = !arguments_.keep_going;
    if (!search_.failure) search_.failure = {told.seed, told.failure};
    if (quiet_) return;
    std::printf("%sseed %llu FAIL violation: %s\n  reproduce: %s\n", tty_ ? "\r\033[K" : "",
                static_cast<unsigned long long>(told.seed), told.failure,
                ReproduceCommand(told.seed, arguments_.scenario, arguments_.strict).c_str());
    std::fflush(stdout);
  }

  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  void Progress() {
    if (quiet_) return;
    const std::uint64_t every = tty_ ? 20 : std::max<std::uint64_t>(arguments_.seeds / 10, 1);
    if (search_.seeds % every != 0) return;
    const double part = static_cast<double>(search_.seeds) / static_cast<double>(arguments_.seeds);
    std::string bar(static_cast<std::size_t>(part * 40), '#');
    bar.resize(40, '.');
    std::printf(
        tty_ ? "\r[%s] %llu/%llu, %.0f/s, %llu failed" : "[%s] %llu/%llu, %.0f/s, %llu failed\n",
        bar.c_str(), static_cast<unsigned long long>(search_.seeds),
        static_cast<unsigned long long>(arguments_.seeds),
        static_cast<double>(search_.seeds) / Seconds(), static_cast<unsigned long long>(failed_));
    std::fflush(stdout);
  }

  // Of this mode, the rarest first.
  void TellProbes() {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < Probes().size(); ++i) {
      const bool expected = arguments_.strict ? Probes()[i].strict : Probes()[i].best_effort;
      if (expected || worlds_[i] > 0) order.push_back(i);
      if (expected && worlds_[i] == 0) unreached_.push_back(i);
    }
    if (quiet_) return;
    std::ranges::stable_sort(order, {}, [this](std::size_t i) { return worlds_[i]; });
    std::printf("%s%10s %10s  state\n", tty_ ? "\r\033[K" : "", "worlds", "times");
    for (const std::size_t i : order)
      std::printf("%10llu %10llu  %s\n", static_cast<unsigned long long>(worlds_[i]),
                  static_cast<unsigned long long>(times_[i]), Probes()[i].state);
    if (arguments_.all_probes)
      for (const std::size_t i : unreached_)
        std::printf("FAIL never reached: %s\n", Probes()[i].state);
  }

  void Finish() {
    TellProbes();
    if (quiet_) return;
    const bool pass = failed_ == 0 && !(arguments_.all_probes && !unreached_.empty());
    std::printf(
        "%s: %llu seeds from %llu, %llu operations, %llu failed, %.1f s (%.0f seeds/s), "
        "trace %016llx\n",
        pass ? "pass" : "FAIL", static_cast<unsigned long long>(search_.seeds),
        static_cast<unsigned long long>(arguments_.first),
        static_cast<unsigned long long>(operations_), static_cast<unsigned long long>(failed_),
        Seconds(), static_cast<double>(search_.seeds) / Seconds(),
        static_cast<unsigned long long>(hash_));
  }

  const SwarmArguments& arguments_;
  const bool quiet_;
  const bool tty_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::vector<Worker> workers_;
  Search search_;
  bool enough_ = false;
  std::uint64_t failed_ = 0;
  std::uint64_t operations_ = 0;
  std::uint64_t hash_ = 0;
  std::vector<std::uint64_t> worlds_ = std::vector<std::uint64_t>(Probes().size());
  std::vector<std::uint64_t> times_ = std::vector<std::uint64_t>(Probes().size());
  std::vector<std::size_t> unreached_;  // of those that this mode is expected to reach
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

Search SearchForFailure(const SwarmArguments& arguments) {
  Swarm swarm(arguments, true);
  swarm.Run();
  return swarm.search();
}

}  // namespace once
