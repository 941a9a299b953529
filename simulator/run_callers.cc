#include "simulator/run_callers.h"

#include <boost/json.hpp>
#include <memory>

#include "replica/api/digest.h"
#include "replica/ledger/effects.h"
#include "replica/limits.h"
#include "simulator/run_holdings.h"
#include "simulator/take_up_watch.h"
#include "simulator/workload.h"

namespace once {
namespace {

// Longer than a region waits for a run's home, so that its 503 is heard.
constexpr std::int64_t kRunPatienceMs = kForwardMs + 1500;
constexpr std::uint64_t kFirstMark = 1'000'000;  // above what other callers' requests say
constexpr const char* kRuns = "POST /v1/runs";
constexpr const char* kCancel = "POST /v1/runs/{runId}/cancel";
constexpr const char* kApprove = "POST /v1/runs/{runId}/approvals/{nodeId}";
constexpr const char* kInterrupt = "POST /v1/interrupts/{token}";
constexpr const char* kWebhooks = "POST /v1/webhooks";
constexpr const char* kWebhook = "DELETE /v1/webhooks/{webhookId}";

bool IsUnknown(const Answer& answer) {
  return answer.kind == Answer::Kind::kUnavailable || answer.kind == Answer::Kind::kInFlight ||
         answer.kind == Answer::Kind::kFull;
}

// As the caller says it: without it the number of a command goes nowhere.
void Say(std::uint64_t mark, Mutation& mutation) {
  const std::string said = MarkOf(mark);
  if (mutation.has_cancel_run()) mutation.mutable_cancel_run()->set_reason(said);
  if (mutation.has_resolve_approval())
    mutation.mutable_resolve_approval()->set_payload("\"" + said + "\"");
  if (mutation.has_resolve_interrupt())
    mutation.mutable_resolve_interrupt()->set_payload("\"" + said + "\"");
  if (mutation.has_register_webhook())
    mutation.mutable_register_webhook()->set_url("https://acme.example/" + said);
}

std::string TextOf(const EventPage& page) {
  std::string text;
  for (const RunEvent& event : page.events())
    text += std::to_string(event.sequence()) + " " + event.type() + "\n";
  return text;
}

}  // namespace

std::string MarkOf(std::uint64_t number) {
  return "said-" + std::to_string(number);
}

RunCallers::RunCallers(Cluster& cluster, RunCallerOptions options, std::uint64_t seed,
                       History& history)
    : cluster_(cluster),
      options_(options),
      random_(seed),
      history_(history),
      start_us_(cluster.time().MonotonicMicros()) {}

std::int64_t RunCallers::NowMillis() const {
  return (cluster_.time().MonotonicMicros() - start_us_) / 1000;
}

std::string RunCallers::AnyRegion() {
  return cluster_.regions()[random_.Below(cluster_.regions().size())];
}

std::string RunCallers::OtherTenant(const std::string& tenant) const {
  return tenant == "acme" ? "globex" : "acme";
}

void RunCallers::Later(std::int64_t within_ms, std::function<void()> act) {
  cluster_.time().After(Below(within_ms), [this, act = std::move(act)] {
    if (!stopped_) act();
  });
}

void RunCallers::Start(std::int64_t duration_ms) {
  for (std::uint64_t left = options_.runs; left > 0;) {
    const std::uint64_t some = 1 + random_.Below(left);
    Later(duration_ms, [this, some] { CreateSome(some); });
    left -= some;
  }
  for (std::uint64_t i = 0; i < options_.webhooks; ++i)
    Later(duration_ms, [this] { RegisterWebhook(); });
}

void RunCallers::CreateSome(std::uint64_t runs) {
  for (std::uint64_t i = 0; i < runs; ++i) Later(2000, [this] { Create(); });
}

void RunCallers::Create() {
  static constexpr const char* kWorkflows[] = {"delay",    "delay",    "delay",  "approval",
                                               "approval", "approval", "append", "noop"};
  const std::string workflow = kWorkflows[random_.Below(std::size(kWorkflows))];
  Mutation mutation;
  CreateRun& create = *mutation.mutable_create_run();
  create.set_workflow_id(workflow);
  create.set_name_shown(workflow);
  // Over in a moment, beyond a lease, or beyond restarts and the leader's look at what goes on.
  static constexpr std::int64_t kDelays[] = {1500, 12'000, 45'000};
  if (workflow == "delay") create.set_delay_ms(Below(kDelays[random_.Below(3)]));
  const std::string tenant = random_.OneIn(3) ? "globex" : "acme";
  SendSome(NewRequest(Kind::kCreate, tenant, kRuns, std::move(mutation)));
}

RunCallers::Request RunCallers::NewRequest(Kind kind, const std::string& tenant,
                                           std::string_view endpoint, Mutation mutation) {
  Request request;
  request.kind = kind;
  request.region = AnyRegion();
  request.tenant = tenant;
  request.mark = kFirstMark + ++marks_;
  request.tries_left = static_cast<int>(random_.Below(4));
  mutation.set_tenant(tenant);
  mutation.set_actor("caller");
  Say(request.mark, mutation);
  if (Chance(options_.keyed_percent)) {
    request.key = "r" + std::to_string(marks_);
    Begin& begin = *mutation.mutable_begin();
    begin = BeginCommand(tenant, request.key, request.mark, options_.lease_ms, kDayMs).begin();
    SlotRef& slot = *begin.mutable_slot();
    slot.set_surface(ROUTE);
    slot.set_endpoint(std::string(endpoint));
    slot.set_hash(SlotKey(ROUTE, tenant, endpoint, request.key));
  }
  *request.command.mutable_mutation() = std::move(mutation);
  return request;
}

RunCallers::Request RunCallers::AboutRun(Kind kind, const KnownRun& run, std::string_view endpoint,
                                         Mutation mutation) {
  const bool foreign = Chance(options_.foreign_percent);
  Request request = NewRequest(kind, foreign ? OtherTenant(run.tenant) : run.tenant, endpoint,
                               std::move(mutation));
  request.run_id = run.run_id;
  return request;
}

RunCallers::Request RunCallers::Renewed(Request request) {
  if (!request.key.empty()) return request;
  request.mark = kFirstMark + ++marks_;
  Say(request.mark, *request.command.mutable_mutation());
  return request;
}

void RunCallers::SendSome(const Request& request) {
  Send(request);
  if (!Chance(options_.burst_percent)) return;
  Request other = Renewed(request);
  other.region = AnyRegion();
  Later(random_.OneIn(2) ? 1 : 200, [this, other] { Send(other); });
}

std::function<bool()> RunCallers::Await(std::function<void()> unheard) {
  ++waiting_;
  auto over = [this, pending = std::make_shared<bool>(true)] {
    if (!*pending) return false;
    *pending = false;
    --waiting_;
    return true;
  };
  cluster_.time().After(kRunPatienceMs, [over, unheard = std::move(unheard)] {
    if (over()) unheard();
  });
  return over;
}

std::size_t RunCallers::Record(Kind kind, const KnownRun& run, const std::string& region) {
  Operation operation;
  operation.id = history_.operations.size() + 1;
  operation.kind = kind;
  operation.region = region;
  operation.tenant = run.tenant;
  operation.run_id = run.run_id;
  operation.strict = IsStrictRunId(run.run_id);
  operation.invoked_ms = NowMillis();
  history_.operations.push_back(std::move(operation));
  return history_.operations.size() - 1;
}

void RunCallers::Send(const Request& request) {
  const Mutation& mutation = request.command.mutation();
  const bool about_run = !request.run_id.empty();
  // What is made under a key is like any other claim.
  const Kind kind = about_run || request.key.empty() ? request.kind : Kind::kBegin;
  const std::size_t at = Record(kind, {request.run_id, request.tenant}, request.region);
  Operation& operation = history_.operations[at];
  operation.key = request.key;
  operation.body = request.mark;
  if (mutation.has_begin()) {
    operation.retention_ms = mutation.begin().retention_ms();
    operation.lease_ms = mutation.begin().lease_ms();
  }
  if (!about_run)
    operation.strict = StrictRoutes(cluster_.options().strict_routes)
                           .Contains(request.tenant, mutation.has_create_run() ? kRuns : kWebhooks);
  const auto over = Await([this, request] { Again(request); });
  if (!cluster_.Listens(request.region)) return;
  Command command = request.command;
  if (mutation.has_begin()) {
    Begin& begin = *command.mutable_mutation()->mutable_begin();
    begin.set_actor(ActorOf(operation));
    const auto in_force =
        cluster_.replica(request.region).policies().For(request.tenant, begin.slot().endpoint());
    operation.mismatch = static_cast<Operation::Mismatch>(in_force);
    begin.set_mismatch(in_force);
  }
  cluster_.SubmitToHome(request.region, command, [this, over, request, at](const Answer& answer) {
    if (over()) Hear(request, at, answer);
  });
}

void RunCallers::Hear(const Request& request, std::size_t at, const Answer& answer) {
  Operation& heard = history_.operations[at];
  heard.returned_ms = NowMillis();
  heard.life = cluster_.life(heard.region);
  heard.answer = AnswerHeard(answer.kind);
  heard.refused = answer.refused;
  const bool done = answer.kind == Answer::Kind::kDone || answer.kind == Answer::Kind::kReplay;
  if (!request.run_id.empty()) {
    heard.status = done ? answer.outcome.status() : 0;
    if (done) heard.answer_body = answer.outcome.body();
  } else {
    Note(heard, answer);
  }
  if (IsUnknown(answer)) return Again(request);
  if (!done || !request.run_id.empty() || answer.outcome.status() != 201) return;
  if (request.command.mutation().has_register_webhook())
    return DeleteWebhook(request, answer.outcome.body());
  const CreateRun& create = request.command.mutation().create_run();
  Follow({heard.run_id, request.tenant, create.workflow_id() == "approval"});
}

void RunCallers::Again(Request request) {
  if (request.tries_left == 0 || (request.key.empty() && random_.OneIn(2))) return;
  request = Renewed(std::move(request));
  --request.tries_left;
  if (random_.OneIn(2)) request.region = AnyRegion();
  Later(800, [this, request] { Send(request); });
}

void RunCallers::Follow(const KnownRun& run) {
  if (!followed_.insert(run.run_id).second) return;
  const std::uint64_t times = random_.Below(5);
  // Before anybody else can have heard of the run, soon, or when it is long over.
  static constexpr std::int64_t kWithin[] = {20, 4000, 30'000};
  for (std::uint64_t i = 0; i < times; ++i)
    Later(kWithin[random_.Below(3)], [this, run] { Touch(run); });
}

void RunCallers::Touch(const KnownRun& run) {
  switch (random_.Below(run.asks ? 10 : 7)) {
    case 0:
    case 1:
    case 2:
      return Cancel(run);
    case 3:
      return Approve(run);
    case 4:
    case 5:
      return GetRun(run, AnyRegion());
    case 6:
      return GetEvents(run);
    case 7:
      return Interrupt(run, 4);
    default:
      return Approve(run);
  }
}

void RunCallers::Cancel(const KnownRun& run) {
  Mutation mutation;
  mutation.mutable_cancel_run()->set_run_id(run.run_id);
  SendSome(AboutRun(Kind::kCancel, run, kCancel, std::move(mutation)));
  LookSoon(run);
}

void RunCallers::Approve(const KnownRun& run) {
  Mutation mutation;
  ResolveApproval& resolve = *mutation.mutable_resolve_approval();
  resolve.set_run_id(run.run_id);
  resolve.set_node_id(Chance(options_.foreign_percent) ? "elsewhere" : "approve");
  resolve.set_approved(!random_.OneIn(3));
  SendSome(AboutRun(Kind::kApprove, run, kApprove, std::move(mutation)));
  LookSoon(run);
}

void RunCallers::Interrupt(const KnownRun& run, int looks_left) {
  GetRun(run, AnyRegion(), [this, run, looks_left](const Run& seen) {
    if (!seen.interrupt_token().empty()) return Resolve(run, seen.interrupt_token());
    if (looks_left > 0) Later(2000, [this, run, looks_left] { Interrupt(run, looks_left - 1); });
  });
}

void RunCallers::Resolve(const KnownRun& run, const std::string& token) {
  Mutation mutation;
  mutation.mutable_resolve_interrupt()->set_token(token);
  mutation.mutable_resolve_interrupt()->set_approved(!random_.OneIn(3));
  const Request request = AboutRun(Kind::kInterrupt, run, kInterrupt, std::move(mutation));
  Later(random_.OneIn(2) ? 20 : 5000, [this, request] { SendSome(request); });
}

void RunCallers::GetRun(const KnownRun& run, const std::string& region,
                        const std::function<void(const Run&)>& hear) {
  KnownRun asked = run;
  if (!hear && Chance(options_.foreign_percent)) asked.tenant = OtherTenant(run.tenant);
  const std::size_t at = Record(Kind::kGetRun, asked, region);
  const auto over = Await([] {});
  if (!cluster_.Listens(region)) return;
  cluster_.Read(
      region, run.run_id,
      [this, over, at, asked, hear](Tables& tables) {
        if (!over()) return;
        const auto found = tables.FindRun(asked.run_id);
        Operation& heard = history_.operations[at];
        heard.returned_ms = NowMillis();
        heard.life = cluster_.life(heard.region);
        heard.answer = Operation::Answer::kNotFound;
        if (!found || found->tenant() != asked.tenant) return;
        heard.answer = Operation::Answer::kDone;
        heard.answer_body = RunStatusName(found->status()) + (" " + found->reason());
        if (hear) hear(*found);
      },
      [this, over, at] {
        if (!over()) return;
        history_.operations[at].returned_ms = NowMillis();
        history_.operations[at].answer = Operation::Answer::kUnavailable;
      });
}

void RunCallers::LookSoon(const KnownRun& run) {
  const std::string home = HomeOfRun(run.run_id, cluster_.regions());
  if (!random_.OneIn(3)) return;
  Later(150,
        [this, run, region = home == kStrictRegion ? AnyRegion() : home] { GetRun(run, region); });
}

void RunCallers::GetEvents(const KnownRun& run) {
  KnownRun asked = run;
  if (Chance(options_.foreign_percent)) asked.tenant = OtherTenant(run.tenant);
  const std::string region = AnyRegion();
  const std::size_t at = Record(Kind::kGetEvents, asked, region);
  const auto over = Await([] {});
  if (!cluster_.Listens(region)) return;
  EventRequest question;
  question.set_tenant(asked.tenant);
  question.set_run_id(asked.run_id);
  cluster_.AskForEvents(region, question, [this, over, at](const Answer& answer) {
    if (!over()) return;
    Operation& heard = history_.operations[at];
    heard.returned_ms = NowMillis();
    heard.life = cluster_.life(heard.region);
    heard.answer = AnswerHeard(answer.kind);
    EventPage page;
    if (answer.kind == Answer::Kind::kDone && page.ParseFromString(answer.outcome.body()))
      heard.answer_body = TextOf(page);
  });
}

void RunCallers::RegisterWebhook() {
  Mutation mutation;
  mutation.mutable_register_webhook()->add_events("run.completed");
  const std::string tenant = random_.OneIn(3) ? "globex" : "acme";
  SendSome(NewRequest(Kind::kCreate, tenant, kWebhooks, std::move(mutation)));
}

void RunCallers::DeleteWebhook(const Request& registered, const std::string& outcome_body) {
  if (random_.OneIn(2)) return;
  const auto body = boost::json::parse(outcome_body);
  Mutation mutation;
  mutation.mutable_delete_webhook()->set_id(
      std::string(body.as_object().at("webhookId").as_string()));
  Request request = NewRequest(Kind::kDelete, registered.tenant, kWebhook, std::move(mutation));
  if (random_.OneIn(2)) request.region = registered.region;
  Later(6000, [this, request] { SendSome(request); });
}

}  // namespace once
