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

constexpr const char* kRunEndpoint = "POST /v1/runs";
constexpr const char* kEndpoint = "POST /pay";  // of BeginCommand
static_assert(static_cast<int>(Operation::Mismatch::kReject) == REJECT &&
              static_cast<int>(Operation::Mismatch::kObserve) == OBSERVE &&
              static_cast<int>(Operation::Mismatch::kOff) == OFF);
// The admission of a kSecondTry fails once; that of a kReserved takes time, under a lease.
enum Workflow { kNoop, kDelay, kAppend, kApproval, kSecondTry, kReserved };
constexpr std::array<const char*, 6> kWorkflows = {"noop",     "delay", "append",
                                                   "approval", "fail",  "noop"};

}  // namespace

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

namespace {

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

Begin& BeginIn(Command& command) {
  return command.has_mutation() ? *command.mutable_mutation()->mutable_begin()
                                : *command.mutable_begin();
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
  if (options_.give_back_times > 0) {
    Call call;
    call.region = AnyRegion();
    call.body = keys_.front().body;
    call.give_back = options_.give_back_times;
    call.tries_left = UINT32_MAX;
    Begin(call);
  }
  for (std::uint64_t i = 0; i < options_.policy_changes; ++i)
    cluster_.time().After(
        static_cast<std::int64_t>(random_.Below(static_cast<std::uint64_t>(duration_ms))),
        [this] { ChangePolicy(); });
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
    if (Chance(options_.mismatch_percent)) call.body += 2000;
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
  if (!cluster_.Listens(region)) return;
  history_.operations[operation].room = HasRoom(history_.operations[operation]);
  const std::int64_t wait_ms = history_.operations[operation].wait_ms;
  cluster_.Submit(region, std::move(command), Heard(operation, std::move(over), std::move(hear)),
                  wait_ms);
}

Replica::Done Workload::Heard(std::size_t operation, std::function<bool()> over,
                              std::function<void(const Answer&)> hear) {
  return [this, over = std::move(over), hear = std::move(hear), operation](const Answer& answer) {
    if (!over()) return;
    Operation& heard = history_.operations[operation];
    heard.returned_ms = NowMillis();
    heard.life = cluster_.life(heard.region);
    heard.answer = AnswerHeard(answer.kind);
    heard.refused = answer.refused;
    heard.room = heard.room && HasRoom(heard);
    if (heard.kind == Operation::Kind::kBegin) Note(heard, answer);
    if (heard.kind == Operation::Kind::kSettle && answer.claim.fence() == heard.fence)
      heard.winner = answer.winner;
    hear(answer);
  };
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
  if (!call.probe && Chance(options_.wait_percent))
    operation.wait_ms = 100 + static_cast<std::int64_t>(random_.Below(2000));
  operation.mismatch = MismatchIn(call.region, keys_[call.key]);
  const auto mismatch = static_cast<MismatchPolicy>(operation.mismatch);
  const std::size_t at = Record(std::move(operation));
  auto command = commands_.find({call.key, call.body});
  if (command == commands_.end())
    command = commands_.emplace(std::pair(call.key, call.body), MakeCommand(call)).first;
  Command sent = command->second;
  once::Begin& begin = BeginIn(sent);
  begin.set_mismatch(mismatch);
  begin.set_actor(ActorOf(history_.operations[at]));
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

void Workload::ChangePolicy() {
  if (stopped_) return;
  Operation operation;
  operation.kind = Operation::Kind::kPolicy;
  operation.region = AnyRegion();
  operation.tenant = random_.OneIn(4) ? "globex" : "acme";
  operation.mismatch = static_cast<Operation::Mismatch>(random_.Below(3));
  RoutePolicy policy;
  policy.set_tenant(operation.tenant);
  policy.set_mismatch(static_cast<MismatchPolicy>(operation.mismatch));
  const std::string region = operation.region;
  const std::size_t at = Record(std::move(operation));
  auto over = Await([] {});
  if (!cluster_.Listens(region)) return;
  cluster_.ChangePolicy(region, policy, Heard(at, std::move(over), [](const Answer&) {}));
}

bool Workload::HasRoom(const Operation& operation) const {
  constexpr std::uint64_t kSlots = 3;
  constexpr std::uint64_t kBytes = 10'000;
  if (!cluster_.IsUp(operation.region)) return false;
  const ClusterOptions& bounds = cluster_.options();
  const Head& head = operation.strict ? cluster_.group(operation.region)->tables().head()
                                      : cluster_.replica(operation.region).tables().head();
  return head.slots() + kSlots <= bounds.slots_max &&
         head.slot_bytes() + kBytes <= bounds.slot_bytes_max;
}

Operation::Mismatch Workload::MismatchIn(const std::string& region, const Key& key) {
  if (!cluster_.IsUp(region)) return Operation::Mismatch::kReject;
  return static_cast<Operation::Mismatch>(
      cluster_.replica(region).policies().For(key.tenant, key.run ? kRunEndpoint : kEndpoint));
}

void Workload::LookUpLater(const Call& call, const Operation& begun, const std::string& hash) {
  if (begun.run_id.empty() || !Chance(options_.look_up_percent)) return;
  const std::int64_t later_ms = static_cast<std::int64_t>(random_.Below(2000));
  cluster_.time().After(later_ms, [this, call, region = AnyRegion(), run_id = begun.run_id, hash] {
    if (!stopped_) LookUp(call, region, run_id, hash);
  });
}

void Workload::LookUp(const Call& call, const std::string& region, const std::string& run_id,
                      const std::string& hash) {
  const std::size_t at = Record(About(Operation::Kind::kLookUp, call, region));
  const auto over = Await([] {});
  if (!cluster_.Listens(region)) return;
  const auto heard = [this, over, at](const Slot* slot) {
    if (!over()) return;
    history_.operations[at].returned_ms = NowMillis();
    history_.operations[at].life = cluster_.life(history_.operations[at].region);
    history_.operations[at].answer = Operation::Answer::kUnavailable;
    if (slot) NoteSlot(*slot, cluster_.time().WallMillis(), history_.operations[at]);
  };
  cluster_.Read(
      region, run_id,
      [this, heard, hash, region, at](Tables& tables) {
        const Slot* const slot = tables.FindSlot(hash);
        if (slot && !history_.operations[at].strict)
          Report(CheckShown(cluster_.disk(region), hash, *slot));
        heard(slot ? slot : &Slot::default_instance());
      },
      [heard] { heard(nullptr); });
}

void Workload::Report(Violations found) {
  for (Violation& violation : found) {
    violation.at_ms = NowMillis();
    history_.violations.push_back(std::move(violation));
  }
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
