// The public face: HTTP in, commands out, answers back. The only place that maps JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "replica/api/http.h"
#include "replica/api/lamport_log.h"
#include "replica/api/replay_cache.h"
#include "replica/api/route.h"
#include "replica/config.h"
#include "replica/credentials.h"
#include "replica/homes.h"
#include "replica/metrics.h"
#include "replica/rate_limit.h"
#include "replica/replica.h"

namespace once {

enum class Severity { kInfo, kWarning };

/// On an answer that was given before.
inline constexpr const char* kReplayedHeader = "openwop-Idempotent-Replay";

/// One request on its way through a handler. Views are valid until the handler returns.
struct Call {
  const HttpRequest& request;
  const Route& route;
  PathParameters parameters;
  std::string_view query;
  const Credential& who;
  bool as_problem;
  Respond respond;

  std::string_view Parameter(std::string_view name) const;
  void Fail(int status, std::string_view error, std::string_view message) const;
};

class Api : public HttpService {
 public:
  /// Log lines for the operator; never given a caller's key or content.
  using Log =
      std::function<void(Severity severity, std::string_view event, std::string_view detail)>;

  Api(Replica& replica, const Config& config, Credentials credentials, Metrics& metrics, Log log);

  void Serve(const HttpRequest& request, Respond respond) override;

  /// From a reloaded configuration: credentials and policies take effect at once. Event streams
  /// end: their clients come back by themselves, if their keys are still good.
  void Reload(Credentials credentials, std::vector<RoutePolicy> policies);
  /// What POST /v1/admin/reload does; set by the owner of the configuration file. Returns an error
  /// text, or empty.
  void SetReload(std::function<std::string()> reload) { reload_ = std::move(reload); }
  /// Adds what the listener knows to the gauges.
  void SetListenerGauges(std::function<void(Metrics::Gauges&)> fill) {
    listener_ = std::move(fill);
  }
  /// How a command or question reaches another region; without it there is only this one.
  using Forward = std::function<void(const std::string& region, ForwardRequest, Replica::Done)>;
  void SetForward(Forward forward) { forward_ = std::move(forward); }
  /// Adds what the network between regions knows to the gauges.
  void SetClusterGauges(std::function<void(Metrics::Gauges&)> fill) { cluster_ = std::move(fill); }
  /// Cuts this node off from exactly the given regions, for development; set where that is allowed.
  void SetCut(std::function<void(const std::vector<std::string>&)> cut) { cut_ = std::move(cut); }
  /// Ends every open event stream, and those that are being opened.
  void CloseStreams();

 private:
  friend std::span<const Route> Routes();

  const Credential* Authenticate(const HttpRequest& request) const;
  // Answers 429 and says false when the tenant is over its rate.
  bool WithinRate(const Credential& who, bool as_problem, const Respond& respond);
  Respond Measured(const Route& route, Respond respond) const;

  // Layer 1 over a mutating route: with a key the mutation happens once.
  // `admission_ms`: how long the admission itself takes, for workflows that say so.
  void Mutate(Call& call, Mutation mutation, std::int64_t admission_ms = 0);
  void Execute(Command command, std::int64_t wait_ms, std::int64_t admission_ms,
               Replica::Done respond);
  HttpReply MutationReply(const Answer& answer, bool keyed, bool as_problem);
  void CountAnswer(const Answer& answer, const std::string& tenant, const std::string& endpoint);
  /// `keyed`: the caller may be told that a retry with the same key is safe.
  HttpReply Refusal(const Answer& answer, bool as_problem, bool keyed = true) const;
  bool FillBegin(Call& call, Surface surface, std::string_view endpoint, Begin& begin);
  // Answers a duplicate whose final answer is at hand; false: the ledger must be asked.
  bool Replay(const Call& call, const Begin& begin);
  void KeepReplay(const Answer& answer, const std::string& fingerprint, std::uint64_t changes,
                  const HttpReply& reply);
  std::int64_t WaitMillis(const HttpRequest& request) const;

  // Operations, in the order of the routing table.
  void CreateRunRoute(Call& call);
  void GetRun(Call& call);
  void CancelRunRoute(Call& call);
  void GetEvents(Call& call);
  void Approve(Call& call);
  void Interrupt(Call& call);
  void CreateWebhook(Call& call);
  void RemoveWebhook(Call& call);
  void BeginClaim(Call& call);
  void GetClaim(Call& call);
  // Answers 421 and says true when another region gave the claim, the only one to move it.
  bool GivenElsewhere(const Call& call, const std::string& run_id) const;
  void SettleClaimRoute(Call& call);
  void SettleWith(Call& call, Command command, int status);
  void RenewClaimRoute(Call& call);
  void ReleaseClaim(Call& call);
  void Discovery(Call& call);
  void Health(Call& call);
  void Ready(Call& call);
  void MetricsPage(Call& call);
  void OpenApi(Call& call);
  void ListConflicts(Call& call);
  void SimulatePartition(Call& call);
  void CrossEngineAppend(Call& call);
  void CrossEngineRead(Call& call);
  void CrossEngineReset(Call& call);
  bool SeamsOff(const Call& call) const;
  void ListPolicies(Call& call);
  void PutPolicy(Call& call);
  void DeletePolicy(Call& call);
  void ChangePolicy(Call& call, const RoutePolicy& policy, bool remove);
  void ReloadConfig(Call& call);
  void ShowCut(Call& call);
  void PutCut(Call& call);
  void ShowCluster(Call& call);
  void ChangeCluster(Call& call);

  // Event streams of runs that go on.
  struct Stream {
    std::shared_ptr<EventSink> sink;
    std::uint64_t next;
  };
  void StreamEvents(const std::string& run_id, std::uint64_t from, Respond respond);
  void PumpStreams(const std::string& run_id);
  void KeepStreamsAlive();
  // Followers of conflicts; tenant empty: of all tenants.
  struct ConflictStream {
    std::shared_ptr<EventSink> sink;
    std::uint64_t next;
    std::string tenant;
  };
  void StreamConflicts(const std::string& tenant, std::uint64_t from, const Respond& respond);
  void PumpConflicts();
  void HearOfConflict(const Conflict& conflict);

  Replica& replica_;
  const Config config_;
  Homes homes_;
  Credentials credentials_;
  Metrics& metrics_;
  Log log_;
  RateLimit rate_limit_;
  std::function<std::string()> reload_;
  std::function<void(Metrics::Gauges&)> listener_;
  Forward forward_;
  std::function<void(Metrics::Gauges&)> cluster_;
  std::function<void(const std::vector<std::string>&)> cut_;
  std::vector<std::string> cut_from_;
  std::unordered_map<std::string, std::vector<Stream>> streams_;
  std::vector<ConflictStream> conflict_streams_;
  std::uint64_t stream_closings_ = 0;
  std::size_t admitting_bytes_ = 0;  // of requests whose admission takes time
  LamportLog lamport_log_;
  ReplayCache replays_;
};

}  // namespace once
