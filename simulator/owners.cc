// What the owners of claims do: they work, renew, settle, give back, or never come back.
#include "conflict/forget.h"
#include "simulator/story_of_key.h"
#include "simulator/workload.h"

namespace once {
namespace {

constexpr std::uint32_t kSettleTries = 2;  // that follow the first

ClaimState StateOf(std::uint32_t status) {
  if (status == 0) return RELEASED;
  if (status >= 500) return RETRYABLE;
  return status >= 400 ? TERMINAL_FAILURE : COMPLETED;
}

}  // namespace

std::int64_t Workload::WorkMillis(const Call& call) {
  if (call.probe) return 1;
  if (Chance(options_.late_settle_percent))
    return static_cast<std::int64_t>(options_.lease_ms + random_.Below(4 * options_.lease_ms));
  return 1 + static_cast<std::int64_t>(random_.Below(400));
}

void Workload::Execute(const Call& call, const Operation& owned, const std::string& hash) {
  if (call.give_back > 0) return GiveBack(call, owned, hash);
  if (!call.probe && Chance(options_.no_settle_percent)) return;
  const std::int64_t work_ms = WorkMillis(call);
  std::uint32_t status = 200;
  if (Chance(options_.retryable_percent)) status = 503;
  if (Chance(options_.terminal_percent)) status = 422;
  if (Chance(options_.release_percent)) status = 0;
  if (call.probe) status = 200;

  Ending ending = SettlementOf(owned, hash, status);
  if (!call.probe && Chance(options_.stray_settle_percent)) ending.region = AnyRegion();
  ending.tries_left = kSettleTries;
  if (!call.probe && Chance(options_.renew_percent))
    return RenewLater(call, {ending, hash, owned.lease_ms, 1 + static_cast<int>(random_.Below(3)),
                             random_.OneIn(3)});
  cluster_.time().After(work_ms, [this, call, ending] { End(call, ending); });
}

void Workload::GiveBack(const Call& call, const Operation& owned, const std::string& hash) {
  const Ending ending = SettlementOf(owned, hash, 0);
  Operation operation = About(Operation::Kind::kSettle, call, ending.region);
  operation.run_id = ending.run_id;
  operation.fence = ending.fence;
  Call next = call;
  --next.give_back;
  const auto again = [this, next](const Answer&) {
    if (next.give_back > 0) Begin(next);
  };
  Send(Record(std::move(operation)), ending.region, ending.command, again,
       [this, next] { Again(next, 500); });
}

void Workload::RenewLater(const Call& call, Renewal renewal) {
  const std::uint64_t percent = renewal.late ? 100 + random_.Below(80) : 30 + random_.Below(50);
  auto after_ms = static_cast<std::int64_t>(renewal.lease_ms * percent / 100);
  // Some come when nobody else would come back for the claim either.
  const std::uint64_t retention_ms = keys_[call.key].retention_ms;
  if (renewal.late && retention_ms < kDayMs && random_.OneIn(3))
    after_ms += static_cast<std::int64_t>(retention_ms) + 2 * kSkewBoundMs;
  cluster_.time().After(after_ms, [this, call, renewal = std::move(renewal)]() mutable {
    if (renewal.times_left-- > 0 && !stopped_) return Renew(call, std::move(renewal));
    End(call, renewal.ending);
  });
}

// An owner that hears that it is none any more stops, or goes on and is late.
void Workload::Renew(const Call& call, Renewal renewal) {
  const Ending& ending = renewal.ending;
  Command command;
  once::Renew& renew = *command.mutable_renew();
  renew.set_tenant(keys_[call.key].tenant);
  renew.set_hash(renewal.hash);
  renew.set_run_id(ending.run_id);
  renew.set_fence(ending.fence);
  const std::uint64_t before_ms = renewal.lease_ms;
  if (random_.OneIn(2)) {
    renewal.lease_ms = options_.lease_ms / 2 + random_.Below(options_.lease_ms / 2 + 1);
    renew.set_lease_ms(renewal.lease_ms);
  }
  Operation operation = About(Operation::Kind::kRenew, call, ending.region);
  operation.run_id = ending.run_id;
  operation.fence = ending.fence;
  operation.lease_ms = renewal.lease_ms;
  const std::size_t at = Record(std::move(operation));
  const bool gives_up = random_.OneIn(2);
  Send(
      at, ending.region, std::move(command),
      [this, call, renewal, before_ms, gives_up](const Answer& answer) mutable {
        const bool lost =
            answer.kind == Answer::Kind::kStaleFence || answer.kind == Answer::Kind::kNotFound;
        if (answer.kind != Answer::Kind::kDone) renewal.lease_ms = before_ms;
        if (!lost || !gives_up) RenewLater(call, renewal);
      },
      [this, call, renewal, before_ms]() mutable {
        renewal.lease_ms = std::min(renewal.lease_ms, before_ms);  // one of them
        RenewLater(call, renewal);
      });
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

Workload::Ending Workload::SettlementOf(const Operation& owned, const std::string& hash,
                                        std::uint32_t status) {
  Ending ending = EndingOf(owned, status);
  Settle& settle = *ending.command.mutable_settle();
  settle.set_tenant(owned.tenant);
  settle.set_hash(hash);
  settle.set_run_id(owned.run_id);
  settle.set_fence(owned.fence);
  settle.set_state(StateOf(status));
  if (status == 0) return ending;
  ending.answer_body = "answer " + std::to_string(owned.id) + " of " + owned.run_id;
  settle.mutable_outcome()->set_status(status);
  settle.mutable_outcome()->set_body(ending.answer_body);
  return ending;
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
        // It does not believe that it worked in vain.
        if (!answer.winner.empty() && ending.tries_left == kSettleTries) again();
        if (StateOf(ending.status) == RETRYABLE)
          Again(call, 100 + static_cast<std::int64_t>(random_.Below(2000)));
      },
      again);
}

}  // namespace once
