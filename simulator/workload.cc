#include "simulator/workload.h"

#include <algorithm>
#include <array>
#include <memory>

#include "conflict/forget.h"
#include "replica/api/digest.h"
#include "simulator/story_of_key.h"
#include "simulator/take_up_watch.h"

namespace once {
namespace {

constexpr std::int64_t kPatienceMs = 3000;  // a caller gives up after this
constexpr std::uint64_t kDayMs = 24ull * 3600 * 1000;
constexpr const char* kRunEndpoint = "POST /v1/runs";
// The admission of a kSecondTry fails once; that of a kReserved takes time, under a lease.
enum Workflow { kNoop, kDelay, kAppend, kApproval, kSecondTry, kReserved };
constexpr std::array<const char*, 6> kWorkflows = {"noop",     "delay", "append",
                                                   "approval", "fail",  "noop"};

Operation::Answer AnswerHeard(Answer::Kind kind) {
  switch (kind) {
    case Answer::Kind::kExecute:
      return Operation::Answer::kExecute;
    case Answer::Kind::kDone:
      return Operation::Answer::kDone;
    case Answer::Kind::kReplay:
      return Operation::Answer::kReplay;
    case Answer::Kind::kInFlight:
      return Operation::Answer::kInFlight;
    case Answer::Kind::kMismatch:
      return Operation::Answer::kMismatch;
    case Answer::Kind::kStaleFence:
      return Operation::Answer::kStaleFence;
    case Answer::Kind::kNotFound:
      return Operation::Answer::kNotFound;
    case Answer::Kind::kFull:
    case Answer::Kind::kCrowded:
      return Operation::Answer::kFull;
    case Answer::Kind::kUnavailable:
      break;
  }
  return Operation::Answer::kUnavailable;
}

void Note(Operation& heard, const Answer& answer) {
  heard.run_id = answer.claim.run_id();
  heard.fence = answer.claim.fence();
  if (answer.kind != Answer::Kind::kReplay && answer.kind != Answer::Kind::kDone) return;
  heard.status = answer.outcome.status();
  heard.answer_body = answer.outcome.body();
}

// What a look-up shows: the claim with the highest fence. One that is over by some clock, or was
// released, may be gone for a begin and still be there to be seen: such a sight says nothing.
void NoteSlot(const Slot& slot, std::int64_t now_ms, Operation& heard) {
  heard.answer = Operation::Answer::kNotFound;
  const Claim* last = nullptr;
  for (const Claim& claim : slot.claims())
    if (!last || claim.fence() > last->fence()) last = &claim;
  if (!last) return;
  heard.answer =
      last->state() == PENDING ? Operation::Answer::kInFlight : Operation::Answer::kReplay;
  if (last->state() == RELEASED || EndOf(*last) <= now_ms + 2 * kSkewBoundMs) return;
  heard.run_id = last->run_id();
  heard.fence = last->fence();
  if (last->state() == PENDING) return;
  heard.status = last->outcome().status();
  heard.answer_body = last->outcome().body();
}

ClaimState StateOf(std::uint32_t status) {
  if (status == 0) return RELEASED;
  if (status >= 500) return RETRYABLE;
  return status >= 400 ? TERMINAL_FAILURE : COMPLETED;
}

}  // namespace

Workload::Workload(Cluster& cluster, WorkloadOptions options, std::uint64_t seed, History& history)
    : cluster_(cluster),
      options_(options),
      random_(seed),
      history_(history),
      start_us_(cluster.time().MonotonicMicros()) {
  for (std::uint64_t i = 0; i < options_.keys; ++i) {
    Key key;
    key.tenant = random_.OneIn(4) ? "globex" : "acme";
    key.name = "k" + std::to_string(i);
    key.body = i + 1;
    key.run = Chance(options_.run_percent);
    key.workflow = static_cast<std::uint32_t>(random_.Below(kWorkflows.size()));
    if (!options_.tenant.empty()) key.tenant = options_.tenant;
    key.retention_ms = kDayMs;
    if (Chance(options_.never_expire_percent)) key.retention_ms = 0;
    if (Chance(options_.short_retention_percent))
      key.retention_ms = 1000 + random_.Below(options_.short_retention_ms_max);
    keys_.push_back(std::move(key));
  }
}

std::int64_t Workload::NowMillis() const {
  return (cluster_.time().MonotonicMicros() - start_us_) / 1000;
}

std::string Workload::AnyRegion() {
  return cluster_.regions()[random_.Below(cluster_.regions().size())];
}

void Workload::Start(std::int64_t duration_ms) {
  for (std::uint64_t i = 0; i < options_.calls; ++i)
    ScheduleCalls(
        static_cast<std::int64_t>(random_.Below(static_cast<std::uint64_t>(duration_ms))));
}

void Workload::ScheduleCalls(std::int64_t at_ms) {
  Call call;
  call.key = random_.Below(keys_.size());
  call.region = AnyRegion();
  call.body = keys_[call.key].body;
  if (Chance(options_.mismatch_percent)) call.body += 1000;
  const std::uint64_t copies = Chance(options_.burst_percent) ? 2 + random_.Below(3) : 1;
  for (std::uint64_t i = 0; i < copies; ++i) {
    if (i > 0 && random_.OneIn(2)) call.region = AnyRegion();
    const std::int64_t after_ms = i == 0 ? 0 : static_cast<std::int64_t>(random_.Below(40));
    cluster_.time().After(at_ms + after_ms, [this, call] { Begin(call); });
  }
  if (Chance(options_.late_retry_percent)) {
    const std::int64_t later_ms = 500 + static_cast<std::int64_t>(random_.Below(20'000));
    if (random_.OneIn(2)) call.region = AnyRegion();
    cluster_.time().After(at_ms + later_ms, [this, call] { Begin(call); });
  }
}

std::size_t Workload::Record(Operation operation) {
  operation.id = history_.operations.size() + 1;
  operation.invoked_ms = NowMillis();
  history_.operations.push_back(std::move(operation));
  return history_.operations.size() - 1;
}

Command Workload::MakeCommand(const Call& call) const {
  const Key& key = keys_[call.key];
  Command command =
      BeginCommand(key.tenant, key.name, call.body, options_.lease_ms, key.retention_ms);
  if (!key.run) return command;
  once::Begin begin = command.begin();
  SlotRef& slot = *begin.mutable_slot();
  slot.set_surface(ROUTE);
  slot.set_endpoint(kRunEndpoint);
  slot.set_hash(SlotKey(ROUTE, key.tenant, kRunEndpoint, key.name));
  Mutation& mutation = *command.mutable_mutation();
  mutation.set_tenant(key.tenant);
  mutation.set_actor("caller");
  *mutation.mutable_begin() = std::move(begin);
  CreateRun& create = *mutation.mutable_create_run();
  create.set_workflow_id(kWorkflows[key.workflow]);
  create.set_name_shown(kWorkflows[key.workflow]);
  create.set_delay_ms(key.workflow == kDelay ? 1500 : 0);
  if (key.workflow == kSecondTry) {
    create.set_fail_status(503);
    create.set_fail_times(1);
  }
  mutation.set_reserve_only(key.workflow == kReserved);
  return command;
}

std::function<bool()> Workload::Await(std::function<void()> unheard) {
  ++waiting_;
  auto over = [this, pending = std::make_shared<bool>(true)] {
    if (!*pending) return false;
    *pending = false;
    --waiting_;
    return true;
  };
  cluster_.time().After(kPatienceMs, [over, unheard = std::move(unheard)] {
    if (over()) unheard();
  });
  return over;
}

void Workload::Send(std::size_t operation, const std::string& region, Command command,
                    std::function<void(const Answer&)> hear, std::function<void()> unheard) {
  auto over = Await(std::move(unheard));
  if (!cluster_.IsUp(region)) return;
  cluster_.Submit(
      region, std::move(command),
      [this, over = std::move(over), hear = std::move(hear), operation](const Answer& answer) {
        if (!over()) return;
        Operation& heard = history_.operations[operation];
        heard.returned_ms = NowMillis();
        heard.life = cluster_.life(heard.region);
        heard.answer = AnswerHeard(answer.kind);
        if (heard.kind == Operation::Kind::kBegin) Note(heard, answer);
        hear(answer);
      });
}

Operation Workload::About(Operation::Kind kind, const Call& call, const std::string& region) const {
  const Key& key = keys_[call.key];
  Operation operation;
  operation.kind = kind;
  operation.region = region;
  operation.tenant = key.tenant;
  operation.key = key.name;
  operation.body = call.body;
  operation.retention_ms = key.retention_ms;
  operation.strict = cluster_.IsStrict(region, key.tenant, key.run ? kRunEndpoint : "");
  return operation;
}

void Workload::Begin(const Call& call) {
  if (stopped_ && !call.probe) return;
  Operation operation = About(Operation::Kind::kBegin, call, call.region);
  operation.lease_ms = options_.lease_ms;
  const std::size_t at = Record(std::move(operation));
  auto command = commands_.find({call.key, call.body});
  if (command == commands_.end())
    command = commands_.emplace(std::pair(call.key, call.body), MakeCommand(call)).first;
  Command sent = command->second;
  (sent.has_mutation() ? *sent.mutable_mutation()->mutable_begin() : *sent.mutable_begin())
      .set_actor(ActorOf(history_.operations[at]));
  if (call.probe && sent.has_mutation()) sent.mutable_mutation()->set_reserve_only(false);
  Send(
      at, call.region, std::move(sent),
      [this, call, at](const Answer& answer) { HearBegin(call, at, answer); },
      [this, call] { Again(call, static_cast<std::int64_t>(random_.Below(500))); });
}

void Workload::HearBegin(const Call& call, std::size_t operation, const Answer& answer) {
  const std::int64_t pause_ms = 50 + static_cast<std::int64_t>(random_.Below(800));
  if (!answer.hash.empty()) LookUpLater(call, history_.operations[operation], answer.hash);
  switch (answer.kind) {
    case Answer::Kind::kExecute:
      if (keys_[call.key].run) return Admit(call, history_.operations[operation]);
      return Execute(call, history_.operations[operation], answer.hash);
    case Answer::Kind::kDone:
      if (answer.claim.state() == RETRYABLE) Again(call, pause_ms);
      return;
    case Answer::Kind::kInFlight:
      return Again(call, std::min<std::int64_t>(answer.retry_after_ms, 2 * pause_ms));
    case Answer::Kind::kFull:
    case Answer::Kind::kCrowded:
    case Answer::Kind::kUnavailable:
      return Again(call, pause_ms);
    default:
      return;  // the caller knows what it wanted to know
  }
}

// A retry goes to the same region mostly, and sometimes to wherever the network leads it.
void Workload::Again(Call call, std::int64_t delay_ms) {
  if (call.tries_left == 0 || call.probe) return;
  --call.tries_left;
  if (random_.OneIn(4)) call.region = AnyRegion();
  cluster_.time().After(delay_ms, [this, call] { Begin(call); });
}

std::int64_t Workload::WorkMillis(const Call& call) {
  if (call.probe) return 1;
  if (Chance(options_.late_settle_percent))
    return static_cast<std::int64_t>(options_.lease_ms + random_.Below(4 * options_.lease_ms));
  return 1 + static_cast<std::int64_t>(random_.Below(400));
}

void Workload::Execute(const Call& call, const Operation& owned, const std::string& hash) {
  if (!call.probe && Chance(options_.no_settle_percent)) return;
  const std::int64_t work_ms = WorkMillis(call);
  std::uint32_t status = 200;
  if (Chance(options_.retryable_percent)) status = 503;
  if (Chance(options_.terminal_percent)) status = 422;
  if (Chance(options_.release_percent)) status = 0;
  if (call.probe) status = 200;

  Ending ending = EndingOf(owned, status);
  Settle& settle = *ending.command.mutable_settle();
  settle.set_tenant(owned.tenant);
  settle.set_hash(hash);
  settle.set_run_id(owned.run_id);
  settle.set_fence(owned.fence);
  settle.set_state(StateOf(status));
  if (status != 0) {
    ending.answer_body = "answer " + std::to_string(owned.id) + " of " + owned.run_id;
    settle.mutable_outcome()->set_status(status);
    settle.mutable_outcome()->set_body(ending.answer_body);
  }
  if (!call.probe && Chance(options_.stray_settle_percent)) ending.region = AnyRegion();
  ending.tries_left = 2;
  cluster_.time().After(work_ms, [this, call, ending] { End(call, ending); });
}

// The node's own second step, which it takes once or, when it dies before, never.
void Workload::Admit(const Call& call, const Operation& reserved) {
  if (Chance(options_.no_settle_percent)) return;
  Ending ending = EndingOf(reserved, 201);
  ending.admission = true;
  const std::string url = "/v1/runs/" + reserved.run_id;
  ending.answer_body = "{\"runId\":\"" + reserved.run_id +
                       "\",\"status\":\"running\",\"eventsUrl\":\"" + url +
                       "/events\",\"statusUrl\":\"" + url + "\"}";
  ending.command = commands_.at({call.key, call.body});
  ending.command.mutable_mutation()->set_reserve_only(false);
  ending.command.mutable_mutation()->set_admitted_fence(reserved.fence);
  cluster_.time().After(WorkMillis(call), [this, call, ending] { End(call, ending); });
}

Workload::Ending Workload::EndingOf(const Operation& owned, std::uint32_t status) {
  Ending ending;
  ending.region = owned.region;
  ending.run_id = owned.run_id;
  ending.fence = owned.fence;
  ending.status = status;
  return ending;
}

void Workload::End(const Call& call, const Ending& ending) {
  Operation operation = About(Operation::Kind::kSettle, call, ending.region);
  operation.run_id = ending.run_id;
  operation.fence = ending.fence;
  operation.status = ending.status;
  operation.answer_body = ending.answer_body;
  operation.strict = IsStrictRunId(ending.run_id);
  const std::size_t at = Record(std::move(operation));
  const auto again = [this, call, ending] {
    // Whoever waits for an admission asks again with the key.
    if (ending.admission) return Again(call, static_cast<std::int64_t>(random_.Below(500)));
    if (ending.tries_left == 0 || stopped_) return;
    const std::int64_t pause_ms = static_cast<std::int64_t>(random_.Below(500));
    cluster_.time().After(pause_ms, [this, call, next = ending]() mutable {
      --next.tries_left;
      End(call, next);
    });
  };
  Send(
      at, ending.region, ending.command,
      [this, call, again, ending](const Answer& answer) {
        if (answer.kind == Answer::Kind::kFull || answer.kind == Answer::Kind::kUnavailable ||
            (ending.admission && answer.kind == Answer::Kind::kStaleFence))
          return again();
        if (StateOf(ending.status) == RETRYABLE)
          Again(call, 100 + static_cast<std::int64_t>(random_.Below(2000)));
      },
      again);
}

void Workload::LookUpLater(const Call& call, const Operation& begun, const std::string& hash) {
  if (!begun.strict || begun.run_id.empty() || !Chance(options_.look_up_percent)) return;
  const std::int64_t later_ms = static_cast<std::int64_t>(random_.Below(2000));
  cluster_.time().After(later_ms, [this, call, region = AnyRegion(), run_id = begun.run_id, hash] {
    if (!stopped_) LookUp(call, region, run_id, hash);
  });
}

void Workload::LookUp(const Call& call, const std::string& region, const std::string& run_id,
                      const std::string& hash) {
  const std::size_t at = Record(About(Operation::Kind::kLookUp, call, region));
  const auto over = Await([] {});
  if (!cluster_.IsUp(region)) return;
  const auto heard = [this, over, at](const Slot* slot) {
    if (!over()) return;
    history_.operations[at].returned_ms = NowMillis();
    if (slot) NoteSlot(*slot, cluster_.time().WallMillis(), history_.operations[at]);
  };
  cluster_.Read(
      region, run_id,
      [heard, hash](Tables& tables) {
        const Slot* const slot = tables.FindSlot(hash);
        heard(slot ? slot : &Slot::default_instance());
      },
      [this, at, heard] {
        history_.operations[at].answer = Operation::Answer::kUnavailable;
        heard(nullptr);
      });
}

void Workload::Probe(const std::string& region) {
  for (std::size_t key = 0; key < keys_.size(); ++key) {
    Call call;
    call.key = key;
    call.region = region;
    call.body = keys_[key].body;
    call.probe = true;
    Begin(call);
  }
}

}  // namespace once
