// What an operator or an engine may want to act on: the runs that lost, and who stands now.
#include <algorithm>
#include <boost/json.hpp>
#include <charconv>

#include "conflict/survivor.h"
#include "replica/api/accept.h"
#include "replica/api/api.h"
#include "replica/api/digest.h"
#include "replica/api/errors.h"
#include "replica/api/query_string.h"
#include "replica/api/timestamp.h"

namespace once {
namespace {

namespace json = boost::json;

constexpr std::size_t kPageDefault = 100;

// A whole number that one can be added to.
std::optional<std::uint64_t> Number(std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || at != end || number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(number);
}

// A number from the query, `fallback` when absent, nothing when it is no number.
std::optional<std::uint64_t> QueryNumber(std::string_view query, std::string_view name,
                                         std::uint64_t fallback) {
  for (const QueryParameter& parameter : ParseQuery(query))
    if (parameter.name == name) return Number(parameter.value);
  return fallback;
}

const char* Strategy(const Config& config) {
  return config.spec_profile == SpecProfile::kV17 ? "lexicographic-min-run-id"
                                                  : "x-host-once-lowest-run-id";
}

const char* KindName(ConflictKind kind) {
  switch (kind) {
    case LOST:
      return "lost";
    case LATE_COMPLETION:
      return "late-completion";
    case RUN_ID_COLLISION:
      return "run-id-collision";
    default:
      return "unknown";
  }
}

// As logged and streamed.
std::string EventName(const Conflict& conflict) {
  return conflict.kind() == LOST ? "dedup.conflict-resolved"
                                 : std::string("dedup.") + KindName(conflict.kind());
}

// From that place on: a tenant's, or with an empty one everybody's.
std::vector<Conflict> List(Tables& tables, const std::string& tenant, std::uint64_t from,
                           std::size_t limit) {
  return tenant.empty() ? tables.Conflicts(from, limit) : tables.ConflictsOf(tenant, from, limit);
}

// In the list that the asker sees: a tenant's own numbers tell nothing of the others.
std::uint64_t PlaceOf(const Conflict& conflict, const std::string& tenant) {
  return tenant.empty() ? conflict.sequence() : conflict.tenant_sequence();
}

// No content: ids, regions and flags only. Once starts no effect for a run, so it knows of none:
// the effects of the loser are whatever its owner did, and are classified accordingly.
json::object ConflictJson(const Conflict& conflict, std::uint64_t place, const Config& config,
                          Tables& tables, std::int64_t now_ms) {
  std::string survivor = conflict.winner();
  if (Slot* slot = tables.FindSlot(conflict.slot_hash()))
    if (const Claim* claim = SurvivorAt(*slot, now_ms, config.clock_skew_bound_ms))
      survivor = claim->run_id();
  json::object body = {{"sequence", place},
                       {"kind", KindName(conflict.kind())},
                       {"region", conflict.region()},
                       {"tenant", conflict.tenant()},
                       {"route", conflict.endpoint()},
                       {"winner", conflict.winner()},
                       {"loser", conflict.loser()},
                       {"survivor", survivor},
                       {"regionPair", conflict.region_pair()},
                       {"strategy", Strategy(config)},
                       {"payloadDivergent", conflict.payload_divergent()},
                       {"loserHadCompleted", conflict.loser_had_completed()},
                       {"effectIds", json::array()},
                       {"effectClass", "at-least-once-risk"},
                       {"detectedAt", Timestamp(conflict.detected_ms())}};
  if (conflict.kind() == LATE_COMPLETION) body["lateStatus"] = conflict.late_status();
  if (conflict.kind() == RUN_ID_COLLISION) {
    json::array fingerprints;
    for (const std::string& fingerprint : conflict.fingerprints())
      fingerprints.emplace_back(Hex(fingerprint));
    body["fingerprints"] = std::move(fingerprints);
  }
  return body;
}

}  // namespace

void Api::ListConflicts(Call& call) {
  const Credential* who = Authenticate(call.request);
  if (!who) return call.Fail(401, "unauthenticated", "A valid bearer key is needed.");
  if (!who->May("admin") && !who->May("runs"))
    return call.Fail(403, "forbidden", "The key lacks a scope for this.");
  if (!WithinRate(*who, call.as_problem, call.respond)) return;
  const std::uint64_t seen = Number(call.request.Header("Last-Event-ID")).value_or(0);
  const auto after = QueryNumber(call.query, "after", seen);
  const auto limit = QueryNumber(call.query, "limit", kPageDefault);
  if (!after || !limit || *limit == 0 || *limit > kConflictsPerPageMax)
    return call.Fail(400, "validation_error",
                     "after and limit (1 to " + std::to_string(kConflictsPerPageMax) +
                         ") must be whole numbers.");
  // An administrator sees every tenant's, anybody else their own.
  const std::string tenant = who->May("admin") ? "" : who->tenant;
  const bool stream = PrefersToJson(call.request, kEventStream);
  if (stream) return StreamConflicts(tenant, *after + 1, call.respond);
  replica_.Read(
      [this, tenant, after = *after, limit = *limit, respond = call.respond](Tables& tables) {
        json::array list;
        std::uint64_t last = after;
        auto page = List(tables, tenant, after + 1, limit + 1);
        const bool more = page.size() > limit;
        if (more) page.pop_back();
        for (const Conflict& conflict : page) {
          last = PlaceOf(conflict, tenant);
          list.emplace_back(ConflictJson(conflict, last, config_, tables, replica_.NowMillis()));
        }
        respond(JsonReply(200, {{"conflicts", std::move(list)}, {"next", last}, {"more", more}}));
      },
      [respond = call.respond, as_problem = call.as_problem] { respond(CannotRead(as_problem)); });
}

void Api::StreamConflicts(const std::string& tenant, std::uint64_t from, const Respond& respond) {
  HttpReply reply;
  reply.status = 200;
  reply.headers.emplace_back("Content-Type", kEventStream);
  reply.headers.emplace_back("Cache-Control", "no-store");
  reply.stream = [this, tenant, from](std::shared_ptr<EventSink> sink) {
    conflict_streams_.push_back({std::move(sink), from, tenant});
    PumpConflicts();
  };
  respond(std::move(reply));
}

// Logged where it was dealt with: by the loser's home, or by whoever saw the collision.
void Api::HearOfConflict(const Conflict& conflict) {
  const bool collision = conflict.kind() == RUN_ID_COLLISION;
  if (collision || conflict.region() == config_.region)
    log_(collision ? Severity::kWarning : Severity::kInfo, EventName(conflict),
         "winner=" + conflict.winner() + " loser=" + conflict.loser() +
             " pair=" + conflict.region_pair());
  PumpConflicts();
}

void Api::PumpConflicts() {
  if (conflict_streams_.empty()) return;
  replica_.Read(
      [this](Tables& tables) {
        std::erase_if(conflict_streams_, [&](ConflictStream& stream) {
          while (true) {
            const auto page = List(tables, stream.tenant, stream.next, kConflictsPerPageMax);
            if (page.empty()) return false;
            for (const Conflict& conflict : page) {
              const std::uint64_t place = PlaceOf(conflict, stream.tenant);
              stream.next = place + 1;
              const std::string text = "id: " + std::to_string(place) +
                                       "\nevent: " + EventName(conflict) + "\ndata: " +
                                       json::serialize(ConflictJson(conflict, place, config_,
                                                                    tables, replica_.NowMillis())) +
                                       "\n\n";
              if (!stream.sink->Send(text)) return true;
            }
          }
        });
      },
      [] {});
}

}  // namespace once
