// The plain claim API, for services in any language: begin, settle, renew, release, look up.
#include <algorithm>
#include <charconv>

#include "conflict/window.h"
#include "replica/api/api.h"
#include "replica/api/canonical_json.h"
#include "replica/api/digest.h"
#include "replica/api/errors.h"
#include "replica/api/fingerprint.h"
#include "replica/api/header_list.h"
#include "replica/api/json_members.h"
#include "replica/api/timestamp.h"
#include "replica/ledger/effects.h"

namespace once {
namespace {

bool IsControl(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

// A claim id says where the slot is, so that no index is needed: run id, '.', slot.
void AppendClaimId(std::string& out, std::string_view run_id, std::string_view hash) {
  out.append(run_id).append(1, '.');
  AppendBase64Url(out, hash);
}

void AppendNumber(std::string& out, std::uint64_t number) {
  char digits[20];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

struct ClaimRef {
  std::string run_id;
  std::string hash;
};

// What a caller must say to change a claim.
struct OwnedClaim {
  ClaimRef ref;
  std::uint64_t fence;
};

std::optional<ClaimRef> ParseClaimId(std::string_view id) {
  const auto dot = id.find('.');
  if (dot == std::string_view::npos || id.size() - dot - 1 != 43) return std::nullopt;
  std::string text(id.substr(dot + 1));
  if (text.find_first_of("+/") != std::string::npos) return std::nullopt;
  std::replace(text.begin(), text.end(), '-', '+');
  std::replace(text.begin(), text.end(), '_', '/');
  const auto hash = Base64Decode(text + "=");
  if (!hash || hash->size() != 32) return std::nullopt;
  return ClaimRef{std::string(id.substr(0, dot)), *hash};
}

const char* StateName(ClaimState state) {
  switch (state) {
    case PENDING:
      return "pending";
    case COMPLETED:
      return "completed";
    case TERMINAL_FAILURE:
      return "terminal-failure";
    case RETRYABLE:
      return "retryable-failure";
    case RELEASED:
      return "released";
    case SUPERSEDED:
      return "superseded";
    default:
      return "unknown";
  }
}

void AppendOutcome(std::string& out, const Outcome& outcome) {
  AppendNumber(out.append(R"(,"outcome":{"status":)"), outcome.status());
  out += R"(,"headers":{)";
  for (const Header& header : outcome.headers()) {
    if (out.back() != '{') out += ',';
    AppendJsonString(out, header.name());
    out += ':';
    AppendJsonString(out, header.value());
  }
  out += outcome.binary() ? R"(},"bodyBase64":)" : R"(},"body":)";
  if (outcome.binary())
    AppendJsonString(out, Base64(outcome.body()));
  else
    AppendJsonString(out, outcome.body());
  out += '}';
}

// The claim as the caller sees it. Written by hand: it is the body of the hottest answers.
HttpReply ClaimReply(int status, const Claim& claim, const std::string& hash,
                     const Outcome* outcome) {
  HttpReply reply;
  reply.status = status;
  reply.headers.reserve(3);
  reply.headers.emplace_back("Content-Type", "application/json");
  std::string& tag = reply.headers.emplace_back("ETag", "\"").second;
  AppendNumber(tag, claim.fence());
  tag += '"';
  std::string& out = reply.body;
  out.reserve(384 + (outcome ? outcome->body().size() * 9 / 8 : 0));
  AppendClaimId(out.append(R"({"claimId":")"), claim.run_id(), hash);
  out.append(R"(","runId":")").append(claim.run_id());
  out.append(R"(","state":")").append(StateName(claim.state()));
  AppendNumber(out.append(R"(","fence":)"), claim.fence());
  AppendNumber(out.append(R"(,"tries":)"), claim.tries());
  if (claim.state() == PENDING) {
    AppendNumber(out.append(R"(,"leaseMs":)"), static_cast<std::uint64_t>(claim.lease_ms()));
    out.append(R"(,"leaseUntil":")").append(Timestamp(claim.lease_until_ms())).append(1, '"');
  } else if (claim.expires_ms() != kNeverMs) {
    out.append(R"(,"expiresAt":")").append(Timestamp(claim.expires_ms())).append(1, '"');
  }
  if (outcome) AppendOutcome(out, *outcome);
  out += '}';
  return reply;
}

// The fence from If-Match: "12" or 12.
std::optional<std::uint64_t> Fence(const HttpRequest& request) {
  std::string_view text = request.Header("If-Match");
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
    text = text.substr(1, text.size() - 2);
  std::uint64_t fence = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), fence);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return fence;
}

// The claim of the path and the fence of the header; answers the call itself when one is missing.
std::optional<OwnedClaim> ReadOwnedClaim(const Call& call) {
  auto ref = ParseClaimId(call.Parameter("claimId"));
  const auto fence = Fence(call.request);
  if (!ref) {
    call.Fail(404, "claim_not_found", "No such claim.");
    return std::nullopt;
  }
  if (!fence) {
    call.Fail(428, "fence_required", "Say the claim's fence in If-Match, as \"12\".");
    return std::nullopt;
  }
  return OwnedClaim{std::move(*ref), *fence};
}

// The body's members, as views into `text`; answers the call itself when it is not an object of
// `known` ones.
std::optional<JsonMembers> ReadBody(const Call& call, std::string& text,
                                    std::initializer_list<std::string_view> known) {
  CanonicalJson canonical = Canonicalize(call.request.body);
  std::string wrong;
  std::optional<JsonMembers> body;
  if (canonical.text) {
    text = std::move(*canonical.text);
    body = JsonMembers::Of(text);
    if (!body)
      wrong = "The body must be a JSON object.";
    else if (!body->AllAmong(known))
      wrong = "The body has a member that this operation does not know.";
  } else {
    wrong = "The body is not acceptable JSON: " + canonical.error.reason;
  }
  if (wrong.empty()) return body;
  call.Fail(400, "validation_error", wrong);
  return std::nullopt;
}

// Begin or Renew: the lease that the body asks for, if it does. False and an answer when it is
// wrong.
template <typename Change>
bool ReadLease(const Call& call, const JsonMembers& body, std::int64_t lease_ms_max,
               Change& change) {
  if (!body.Has("leaseSeconds")) return true;
  const auto most = static_cast<std::uint64_t>(lease_ms_max / 1000);
  const auto seconds = body.Whole("leaseSeconds", 1, most);
  if (seconds)
    change.set_lease_ms(*seconds * 1000);
  else
    call.Fail(400, "validation_error",
              "leaseSeconds must be a whole number from 1 to " + std::to_string(most) + ".");
  return seconds.has_value();
}

// Settle or Renew: whose claim it is, and under which fence.
template <typename Change>
void Name(Change& change, const Call& call, const OwnedClaim& owned) {
  change.set_tenant(call.who.tenant);
  change.set_hash(owned.ref.hash);
  change.set_run_id(owned.ref.run_id);
  change.set_fence(owned.fence);
}

bool IsToken(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

// Reads {status, headers?, body?, bodyBase64?}; the text of what is wrong, or empty.
std::string ReadOutcome(const JsonMembers& body, std::size_t headers_max, Outcome& outcome) {
  const auto status = body.Whole("status", 200, 599);
  if (!status) return "status must be a whole number from 200 to 599.";
  outcome.set_status(static_cast<std::uint32_t>(*status));
  if (body.Has("body") && body.Has("bodyBase64")) return "Give body or bodyBase64, not both.";
  if (body.Has("body")) {
    auto text = body.String("body");
    if (!text) return "body must be a string.";
    outcome.set_body(std::move(*text));
  }
  if (body.Has("bodyBase64")) {
    const auto text = body.String("bodyBase64");
    auto bytes = text ? Base64Decode(*text) : std::nullopt;
    if (!bytes) return "bodyBase64 must be padded base 64.";
    outcome.set_body(std::move(*bytes));
    outcome.set_binary(true);
  }
  if (!body.Has("headers")) return "";
  const auto headers = JsonMembers::Of(body.Raw("headers"));
  if (!headers) return "headers must be an object of strings.";
  for (const auto& [name, raw] : headers->all()) {
    if (!IsToken(name) || raw[0] != '"') return "headers must be an object of strings.";
    std::string value = UnescapeJson(raw);
    if (std::any_of(value.begin(), value.end(),
                    [](char c) { return (c >= 0 && c < 0x20 && c != '\t') || c == 0x7f; }))
      return "A header value holds a control character.";
    if (SameToken(name, "Set-Cookie")) continue;
    Header* header = outcome.add_headers();
    header->set_name(std::string(name));
    header->set_value(std::move(value));
  }
  if (static_cast<std::size_t>(outcome.headers_size()) > headers_max)
    return "An outcome may have " + std::to_string(headers_max) + " headers.";
  return "";
}

// The caller may say what the status means to it; otherwise the status decides.
std::optional<ClaimState> ReadState(const JsonMembers& body, std::uint32_t status) {
  if (!body.Has("state")) return StateFor(status);
  const auto name = body.String("state");
  for (const ClaimState state : {COMPLETED, TERMINAL_FAILURE, RETRYABLE})
    if (name && *name == StateName(state)) return state;
  return std::nullopt;
}

}  // namespace

void Api::BeginClaim(Call& call) {
  std::string text;
  const auto body = ReadBody(
      call, text, {"endpoint", "request", "fingerprint", "retentionSeconds", "leaseSeconds"});
  if (!body) return;
  const auto endpoint = body->String("endpoint");
  if (!endpoint || endpoint->empty() || endpoint->size() > kEndpointBytesMax)
    return call.Fail(
        400, "validation_error",
        "endpoint must be a string of 1 to " + std::to_string(kEndpointBytesMax) + " bytes.");
  if (std::any_of(endpoint->begin(), endpoint->end(), IsControl))
    return call.Fail(400, "validation_error", "endpoint must have no control characters.");
  if (body->Has("request") == body->Has("fingerprint"))
    return call.Fail(400, "validation_error", "Give either request or fingerprint.");
  Command command;
  Begin& begin = *command.mutable_begin();
  if (!FillBegin(call, CLAIM, *endpoint, begin)) return;
  if (!begin.has_slot())
    return call.Fail(400, "validation_error", "The Idempotency-Key header is needed.");
  Fingerprint fingerprint;
  if (body->Has("request")) {
    fingerprint = FingerprintOfCanonicalJson(body->Raw("request"));
  } else {
    const auto opaque = body->String("fingerprint");
    const std::size_t most = config_.limits.fingerprint_bytes_max;
    if (!opaque || opaque->empty() || opaque->size() > most)
      return call.Fail(400, "validation_error",
                       "fingerprint must be a string of 1 to " + std::to_string(most) + " bytes.");
    fingerprint = FingerprintOfOpaque(*opaque);
  }
  begin.set_fingerprint(std::move(fingerprint.bytes));
  begin.set_fingerprint_version(fingerprint.version);
  if (body->Has("retentionSeconds")) {
    // For ever is longer than any bound that an operator has set.
    const std::uint64_t most = config_.limits.retention_seconds_max;
    const std::uint64_t least = most < kSpanSecondsMax ? 1 : 0;
    const auto seconds = body->Whole("retentionSeconds", least, most);
    if (!seconds)
      return call.Fail(400, "validation_error",
                       "retentionSeconds must be a whole number from " + std::to_string(least) +
                           " to " + std::to_string(most) +
                           (least == 0 ? " (0: never expires)." : "."));
    begin.set_retention_ms(*seconds * 1000);
  }
  if (!ReadLease(call, *body, config_.limits.lease_ms_max, begin)) return;
  if (Replay(call, begin)) return;
  auto done = [this, respond = std::move(call.respond), tenant = call.who.tenant,
               endpoint = *endpoint, fingerprint = begin.fingerprint(),
               changes = replays_.changes(), as_problem = call.as_problem](const Answer& answer) {
    CountAnswer(answer, tenant, endpoint);
    if (answer.kind == Answer::Kind::kExecute)
      return respond(ClaimReply(201, answer.claim, answer.hash, nullptr));
    if (answer.kind != Answer::Kind::kReplay) return respond(Refusal(answer, as_problem));
    HttpReply reply = ClaimReply(200, answer.claim, answer.hash, &answer.outcome);
    reply.headers.emplace_back(kReplayedHeader, "true");
    KeepReplay(answer, fingerprint, changes, reply);
    respond(std::move(reply));
  };
  replica_.SubmitOrWait(std::move(command), WaitMillis(call.request), std::move(done));
}

void Api::GetClaim(Call& call) {
  const auto ref = ParseClaimId(call.Parameter("claimId"));
  if (!ref) return call.Fail(404, "claim_not_found", "No such claim.");
  replica_.ReadAbout(
      ref->run_id,
      [this, ref = *ref, respond = call.respond, tenant = call.who.tenant,
       as_problem = call.as_problem](Tables& tables) {
        Slot* slot = tables.FindSlot(ref.hash);
        Claim* claim = slot && slot->tenant() == tenant ? FindClaim(*slot, ref.run_id) : nullptr;
        if (!claim) {
          Answer none;
          none.kind = Answer::Kind::kNotFound;
          return respond(Refusal(none, as_problem));
        }
        // That of a claim that gave way is evidence, and no begin is answered with it.
        const bool shown =
            IsFinal(*claim) || (claim->state() == SUPERSEDED && claim->has_outcome());
        HttpReply reply = ClaimReply(200, *claim, ref.hash, shown ? &claim->outcome() : nullptr);
        reply.body.back() = ',';
        reply.body.append(R"("cacheKey":")")
            .append(PublicCacheKey(tenant, slot->endpoint(), slot->key()))
            .append(R"("})");
        respond(std::move(reply));
      },
      [respond = call.respond, as_problem = call.as_problem] { respond(CannotRead(as_problem)); });
}

bool Api::GivenElsewhere(const Call& call, const std::string& run_id) const {
  const std::string region = homes_.OfRunId(run_id);
  if (region.empty()) return false;
  call.respond(ErrorReply(421, "wrong_region",
                          "Another region gave this claim: settle, renew and release it there.",
                          call.as_problem, {{"region", region}}));
  return true;
}

void Api::SettleClaimRoute(Call& call) {
  const auto owned = ReadOwnedClaim(call);
  if (!owned || GivenElsewhere(call, owned->ref.run_id)) return;
  std::string text;
  const auto body = ReadBody(call, text, {"status", "headers", "body", "bodyBase64", "state"});
  if (!body) return;
  Command command;
  Settle& settle = *command.mutable_settle();
  if (std::string wrong =
          ReadOutcome(*body, config_.limits.stored_headers_max, *settle.mutable_outcome());
      !wrong.empty())
    return call.Fail(400, "validation_error", wrong);
  if (settle.outcome().ByteSizeLong() > config_.limits.stored_answer_bytes_max)
    return call.Fail(413, "outcome_too_large", "The answer is larger than may be stored.");
  const auto state = ReadState(*body, settle.outcome().status());
  if (!state)
    return call.Fail(400, "validation_error",
                     "state must be completed, terminal-failure or retryable-failure.");
  settle.set_state(*state);
  Name(settle, call, *owned);
  SettleWith(call, std::move(command), 200);
}

void Api::ReleaseClaim(Call& call) {
  const auto owned = ReadOwnedClaim(call);
  if (!owned || GivenElsewhere(call, owned->ref.run_id)) return;
  Command command;
  Settle& settle = *command.mutable_settle();
  settle.set_state(RELEASED);
  Name(settle, call, *owned);
  SettleWith(call, std::move(command), 204);
}

void Api::SettleWith(Call& call, Command command, int status) {
  const bool success = command.settle().state() == COMPLETED;
  replica_.Submit(std::move(command),
                  [this, status, success, respond = std::move(call.respond),
                   tenant = call.who.tenant, as_problem = call.as_problem](const Answer& answer) {
                    using Kind = Answer::Kind;
                    if (answer.kind == Kind::kStaleFence)
                      metrics_.Count(Metrics::Event::kStaleFence, tenant, "claims");
                    // One that had given way is a late completion, which the ledger counts.
                    if (answer.kind == Kind::kStaleFence && success && answer.winner.empty())
                      metrics_.Count(Metrics::Event::kLateSuccess, tenant, "claims");
                    if (answer.kind == Kind::kDone && answer.claim.state() == RETRYABLE)
                      metrics_.Count(Metrics::Event::kRetryable, tenant, "claims");
                    if (answer.kind != Kind::kDone && answer.kind != Kind::kReplay)
                      return respond(Refusal(answer, as_problem));
                    HttpReply reply = ClaimReply(status, answer.claim, answer.hash, nullptr);
                    if (status == 204) reply.body.clear();
                    if (answer.kind == Kind::kReplay)
                      reply.headers.emplace_back(kReplayedHeader, "true");
                    respond(std::move(reply));
                  });
}

void Api::RenewClaimRoute(Call& call) {
  const auto owned = ReadOwnedClaim(call);
  if (!owned || GivenElsewhere(call, owned->ref.run_id)) return;
  Command command;
  Renew& renew = *command.mutable_renew();
  if (!call.request.body.empty()) {
    std::string text;
    const auto body = ReadBody(call, text, {"leaseSeconds"});
    if (!body || !ReadLease(call, *body, config_.limits.lease_ms_max, renew)) return;
  }
  Name(renew, call, *owned);
  replica_.Submit(std::move(command), [this, respond = call.respond, tenant = call.who.tenant,
                                       as_problem = call.as_problem](const Answer& answer) {
    if (answer.kind == Answer::Kind::kStaleFence)
      metrics_.Count(Metrics::Event::kStaleFence, tenant, "claims");
    if (answer.kind != Answer::Kind::kDone) return respond(Refusal(answer, as_problem));
    respond(ClaimReply(200, answer.claim, answer.hash, nullptr));
  });
}

}  // namespace once
