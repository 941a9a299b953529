// Seeded callers of what docs/API.md offers for runs. Each story is about one run: somebody creates
// it, and then it is cancelled, approved, rejected, its interrupt resolved, it and its events are
// read: from any region, with a key and without, at once or after its end, by its tenant or
// another. Webhooks are registered and deleted beside. Every command says something that no other
// command says, so that its effect can be told from others'. Whoever hears nothing asks again.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "replica/env/random.h"
#include "simulator/cluster.h"
#include "simulator/history.h"
#include "simulator/run_options.h"

namespace once {

/// What the command under that number says: the reason of a cancellation, the payload of a
/// decision, the page of a webhook.
std::string MarkOf(std::uint64_t number);

class RunCallers {
 public:
  /// All must outlive the callers, and the callers every task of the cluster's scheduler.
  RunCallers(Cluster& cluster, RunCallerOptions options, std::uint64_t seed, History& history);

  /// Schedules all stories over the next `duration_ms`.
  void Start(std::int64_t duration_ms);
  /// From now on nobody starts or repeats anything; what is under way may finish.
  void Stop() { stopped_ = true; }
  /// Operations whose callers still wait.
  std::size_t waiting() const { return waiting_; }

 private:
  using Kind = Operation::Kind;
  /// What one caller asks for: the same when it is sent again.
  struct Request {
    Kind kind = Kind::kCreate;
    std::string region;
    std::string tenant;
    std::string key;  // empty: none
    std::uint64_t mark = 0;
    std::string run_id;  // that it is about
    Command command;
    int tries_left = 0;
  };
  struct KnownRun {
    std::string run_id;
    std::string tenant;
    bool asks = false;  // it waits for an approval at some time
  };

  /// Some of the stories, one soon after the other.
  void CreateSome(std::uint64_t runs);
  void Create();
  void RegisterWebhook();
  void DeleteWebhook(const Request& registered, const std::string& outcome_body);
  void Follow(const KnownRun& run);
  /// Does one thing with the run, whatever has become of it.
  void Touch(const KnownRun& run);
  void Cancel(const KnownRun& run);
  void Approve(const KnownRun& run);
  /// Reads the run, and answers with the token that it shows; again later, if there is none yet.
  void Interrupt(const KnownRun& run, int looks_left);
  void Resolve(const KnownRun& run, const std::string& token);
  void GetRun(const KnownRun& run, const std::string& region,
              const std::function<void(const Run&)>& hear = {});
  void GetEvents(const KnownRun& run);

  Request NewRequest(Kind kind, const std::string& tenant, std::string_view endpoint,
                     Mutation mutation);
  Request AboutRun(Kind kind, const KnownRun& run, std::string_view endpoint, Mutation mutation);
  /// Somebody reads the run at its home, perhaps before the command is on disk.
  void LookSoon(const KnownRun& run);
  /// Perhaps twice at once: the same request, or without a key another one like it.
  void SendSome(const Request& request);
  void Send(const Request& request);
  void Hear(const Request& request, std::size_t operation, const Answer& answer);
  void Again(Request request);
  /// The same wish, which without a key is another command.
  Request Renewed(Request request);
  std::size_t Record(Kind kind, const KnownRun& run, const std::string& region);
  /// Waits for an answer; true for whoever comes first of that answer and the caller's patience,
  /// after which `unheard` runs.
  std::function<bool()> Await(std::function<void()> unheard);

  void Later(std::int64_t within_ms, std::function<void()> act);
  std::int64_t NowMillis() const;
  std::string AnyRegion();
  std::string OtherTenant(const std::string& tenant) const;
  bool Chance(std::uint32_t percent) { return random_.Below(100) < percent; }
  std::int64_t Below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_.Below(static_cast<std::uint64_t>(bound)));
  }

  Cluster& cluster_;
  const RunCallerOptions options_;
  Random random_;
  History& history_;
  std::set<std::string> followed_;  // runs that have their story
  std::uint64_t marks_ = 0;         // so many commands so far
  bool stopped_ = false;
  std::size_t waiting_ = 0;
  std::int64_t start_us_;
};

}  // namespace once
