// Layer 1: a mutating request with a key happens once, and its duplicates get its answer.
#include <algorithm>

#include "conflict/window.h"
#include "replica/api/api.h"
#include "replica/api/digest.h"
#include "replica/api/errors.h"
#include "replica/api/fingerprint.h"
#include "replica/api/idempotency_key.h"
#include "replica/api/json_value.h"
#include "replica/strict/strict_routes.h"

namespace once {
namespace {

// What a caller that was told "in flight" should wait; the lease may be much longer than the work.
constexpr std::int64_t kInFlightRetrySecondsMax = 2;

HttpReply FromOutcome(const Outcome& outcome, bool as_problem) {
  // Stored as {error, message}; the form is the caller's choice, in a replay too.
  if (as_problem && outcome.status() >= 400) {
    std::string ignored;
    const auto stored = ParseJson(outcome.body(), ignored);
    const auto* body = stored ? stored->if_object() : nullptr;
    const auto* error = body ? body->if_contains("error") : nullptr;
    const auto* message = body ? body->if_contains("message") : nullptr;
    if (error && message && error->is_string() && message->is_string())
      return ErrorReply(static_cast<int>(outcome.status()), error->as_string(),
                        message->as_string(), true);
  }
  HttpReply reply;
  reply.status = static_cast<int>(outcome.status());
  for (const Header& header : outcome.headers())
    reply.headers.emplace_back(header.name(), header.value());
  reply.body = outcome.body();
  return reply;
}

// Without a key a retry is another request.
HttpReply NothingPromised(bool refused, bool as_problem, bool keyed) {
  std::string message =
      refused ? "Nothing can be promised now, and nothing was done" : "The outcome is unknown";
  if (keyed)
    message += "; a retry with the same key is safe.";
  else
    message += refused ? "." : "; without a key a retry may do it twice.";
  return UnavailableReply(message, as_problem);
}

}  // namespace

bool Api::FillBegin(Call& call, Surface surface, std::string_view endpoint, Begin& begin) {
  const IdempotencyKey key = ReadIdempotencyKey(call.request);
  if (key.kind == IdempotencyKey::Kind::kInvalid) {
    call.Fail(400, "validation_error", key.text);
    return false;
  }
  if (key.kind == IdempotencyKey::Kind::kAbsent) return true;
  SlotRef& slot = *begin.mutable_slot();
  slot.set_surface(surface);
  slot.set_tenant(call.who.tenant);
  slot.set_endpoint(std::string(endpoint));
  slot.set_key(key.text);
  slot.set_hash(
      SlotKey(static_cast<std::uint8_t>(surface), slot.tenant(), slot.endpoint(), key.text));
  begin.set_actor(call.who.actor);
  begin.set_lease_ms(config_.lease_ms);
  begin.set_retention_ms(surface == ROUTE ? config_.route_retention_ms
                                          : config_.claim_retention_ms);
  begin.set_mismatch(replica_.policies().For(call.who.tenant, endpoint));
  return true;
}

bool Api::Replay(const Call& call, const Begin& begin) {
  if (!replays_.Has(begin.slot().hash())) return false;  // a new key: no need of the clock
  if (!replica_.Answering() || !replica_.ClockSafe()) return false;
  const HttpReply* reply =
      replays_.Find(begin.slot().hash(), begin.fingerprint(), replica_.NowMillis());
  if (!reply) return false;
  metrics_.Count(Metrics::Event::kReplay, call.who.tenant, begin.slot().endpoint());
  call.respond(*reply);
  return true;
}

// Only what every later duplicate would get: the answer of a claim that is final, to a request that
// is the same.
void Api::KeepReplay(const Answer& answer, const std::string& fingerprint, std::uint64_t changes,
                     const HttpReply& reply) {
  if (answer.mismatched || !IsFinal(answer.claim) || changes != replays_.changes()) return;
  // Another member may give a strict key to somebody else when the claim is over by its clock.
  const std::int64_t margin_ms =
      IsStrictRunId(answer.claim.run_id()) ? config_.clock_skew_bound_ms : 0;
  replays_.Put(answer.hash, fingerprint, answer.claim.expires_ms() - margin_ms, reply);
}

void Api::Mutate(Call& call, Mutation mutation, std::int64_t admission_ms) {
  const std::string endpoint = call.route.Endpoint();
  Begin begin;
  if (!FillBegin(call, ROUTE, endpoint, begin)) return;
  const bool keyed = begin.has_slot();
  if (keyed) {
    const FingerprintInput input{call.request.method,
                                 call.route.path,
                                 call.parameters,
                                 call.query,
                                 call.request.Header("Content-Type"),
                                 call.request.body};
    FingerprintResult result = FingerprintOfRequest(input);
    if (!result.fingerprint) return call.Fail(400, "validation_error", result.error.reason);
    begin.set_fingerprint(std::move(result.fingerprint->bytes));
    begin.set_fingerprint_version(result.fingerprint->version);
    if (!call.as_problem && Replay(call, begin)) return;
    *mutation.mutable_begin() = std::move(begin);
  }
  mutation.set_tenant(call.who.tenant);
  mutation.set_actor(call.who.actor);
  const std::string home = forward_ ? homes_.Of(mutation) : "";
  Command command;
  *command.mutable_mutation() = std::move(mutation);
  // Another region's slots change without this one being told: its answers are not kept.
  const bool keep = keyed && home.empty() && !call.as_problem;
  auto done = [this, respond = std::move(call.respond), tenant = call.who.tenant, endpoint, keyed,
               keep, fingerprint = command.mutation().begin().fingerprint(),
               changes = replays_.changes(), as_problem = call.as_problem](const Answer& answer) {
    CountAnswer(answer, tenant, endpoint);
    HttpReply reply = MutationReply(answer, keyed, as_problem);
    if (keep && answer.kind == Answer::Kind::kReplay)
      KeepReplay(answer, fingerprint, changes, reply);
    respond(std::move(reply));
  };
  if (!home.empty()) {
    ForwardRequest request;
    request.set_command(command.SerializeAsString());
    return forward_(home, std::move(request), std::move(done));
  }
  Execute(std::move(command), WaitMillis(call.request), admission_ms, std::move(done));
}

// An admission that takes time first reserves the key, so that duplicates meet a claim in flight
// and a crash leaves a lease that runs out. The client may go away meanwhile; the work goes on.
void Api::Execute(Command command, std::int64_t wait_ms, std::int64_t admission_ms,
                  Replica::Done respond) {
  if (admission_ms <= 0)
    return replica_.SubmitOrWait(std::move(command), wait_ms, std::move(respond));
  const std::size_t bytes = command.ByteSizeLong();
  if (admitting_bytes_ + bytes > config_.limits.waiting_bytes_max)
    return respond(Unavailable(true));
  admitting_bytes_ += bytes;
  const auto done = [this, bytes, respond](const Answer& answer) {
    admitting_bytes_ -= bytes;
    respond(answer);
  };
  const auto second = [this, command, admission_ms, done](const Answer& reserved) {
    Command admitted = command;
    admitted.mutable_mutation()->set_admitted_fence(reserved.claim.fence());
    // How the key was reserved is known to the first step alone, and counted with the last.
    const auto finish = [done, keyed = command.mutation().has_begin(),
                         reclaimed = reserved.reclaimed,
                         mismatched = reserved.mismatched](Answer answer) {
      if (keyed) answer.refused = false;  // the key is reserved: not nothing was done
      answer.reclaimed = reclaimed;
      answer.mismatched = mismatched;
      done(answer);
    };
    replica_.scheduler().After(admission_ms,
                               [this, admitted, finish] { replica_.Submit(admitted, finish); });
  };
  if (!command.mutation().has_begin()) return second({});
  command.mutable_mutation()->set_reserve_only(true);
  replica_.SubmitOrWait(std::move(command), wait_ms, [second, done](const Answer& answer) {
    if (answer.kind != Answer::Kind::kExecute) return done(answer);
    second(answer);
  });
}

void Api::CountAnswer(const Answer& answer, const std::string& tenant,
                      const std::string& endpoint) {
  using Event = Metrics::Event;
  const auto count = [&](Event event) { metrics_.Count(event, tenant, endpoint); };
  if (answer.mismatched) {
    count(Event::kMismatch);
    if (replica_.policies().For(tenant, endpoint) == OBSERVE)
      log_(Severity::kInfo, "mismatch-observed",
           "tenant=" + tenant + " run=" + answer.claim.run_id());
  }
  if (answer.reclaimed) count(Event::kReclaim);
  switch (answer.kind) {
    case Answer::Kind::kExecute:
    case Answer::Kind::kDone:
      count(Event::kClaim);
      break;
    case Answer::Kind::kReplay:
      count(Event::kReplay);
      break;
    case Answer::Kind::kInFlight:
      count(Event::kInFlight);
      break;
    case Answer::Kind::kStaleFence:
      count(Event::kStaleFence);
      break;
    case Answer::Kind::kFull:
    case Answer::Kind::kCrowded:
    case Answer::Kind::kUnavailable:
      count(Event::kRefused);
      break;
    case Answer::Kind::kMismatch:
    case Answer::Kind::kNotFound:
      break;
  }
  if (answer.kind == Answer::Kind::kDone && answer.claim.state() == RETRYABLE)
    count(Event::kRetryable);
}

HttpReply Api::Refusal(const Answer& answer, bool as_problem, bool keyed) const {
  switch (answer.kind) {
    case Answer::Kind::kInFlight: {
      const std::int64_t seconds = std::clamp<std::int64_t>((answer.retry_after_ms + 999) / 1000, 1,
                                                            kInFlightRetrySecondsMax);
      HttpReply reply =
          ErrorReply(409, "idempotency_in_flight", "A request with this key is being processed.",
                     as_problem, {{"retryAfter", seconds}});
      RetryAfter(reply, seconds);
      return reply;
    }
    case Answer::Kind::kMismatch:
      return ErrorReply(409, "idempotency_key_mismatch",
                        "This key belongs to a request with another content.", as_problem,
                        {{"existingRunId", answer.claim.run_id()}});
    case Answer::Kind::kStaleFence:
      if (!answer.winner.empty())
        return ErrorReply(409, "stale_fence", "Another region's request with this key succeeded.",
                          as_problem, {{"existingRunId", answer.winner}});
      return ErrorReply(
          409, "stale_fence",
          "The fence is not the claim's any more: another owner took it up, or it is settled.",
          as_problem);
    case Answer::Kind::kNotFound:
      return ErrorReply(404, "claim_not_found", "No such claim.", as_problem);
    case Answer::Kind::kFull: {
      if (answer.more) return NothingPromised(true, as_problem, keyed);
      HttpReply reply = ErrorReply(
          507, "insufficient_storage",
          "The store is at its size bound, or its disk is full; nothing was stored.", as_problem);
      RetryAfter(reply, 60);
      return reply;
    }
    case Answer::Kind::kCrowded: {
      const std::int64_t seconds = answer.retry_after_ms / 1000 + 1;
      HttpReply reply = ErrorReply(429, "too_many_claims",
                                   "This key was given back too often; nothing was stored.",
                                   as_problem, {{"retryAfter", seconds}});
      RetryAfter(reply, seconds);
      return reply;
    }
    default:
      return NothingPromised(answer.refused, as_problem, keyed);
  }
}

HttpReply Api::MutationReply(const Answer& answer, bool keyed, bool as_problem) {
  // The admission outlasted its lease and another request with the key took over: to this caller
  // the key is in flight, and a retry gets the other one's answer.
  if (answer.kind == Answer::Kind::kStaleFence) {
    Answer taken_over = answer;
    taken_over.kind = Answer::Kind::kInFlight;
    return Refusal(taken_over, as_problem);
  }
  if (answer.kind != Answer::Kind::kDone && answer.kind != Answer::Kind::kReplay)
    return Refusal(answer, as_problem, keyed);
  HttpReply reply = FromOutcome(answer.outcome, as_problem);
  if (keyed && answer.kind == Answer::Kind::kReplay)
    reply.headers.emplace_back(kReplayedHeader, "true");
  if (answer.kind == Answer::Kind::kDone && (reply.status == 429 || reply.status == 503))
    RetryAfter(reply, 1);
  return reply;
}

}  // namespace once
