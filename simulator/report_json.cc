#include "simulator/report_json.h"

#include <boost/json.hpp>
#include <cstdio>
#include <string>
#include <string_view>

#include "simulator/report_words.h"

namespace once {
namespace {

namespace json = boost::json;

/// 64 bits as text, because many JSON readers keep only 53 of a number.
std::string Hex(std::uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

json::object Json(const Operation& operation) {
  return {{"id", operation.id},
          {"kind", Word(operation.kind)},
          {"region", Utf8(operation.region)},
          {"tenant", Utf8(operation.tenant)},
          {"key", Utf8(operation.key)},
          {"body", operation.body},
          {"invokedMs", operation.invoked_ms},
          {"returnedMs", operation.returned_ms},
          {"answer", Word(operation.answer)},
          {"runId", Utf8(operation.run_id)},
          {"fence", operation.fence},
          {"status", operation.status},
          {"answerBody", Utf8(operation.answer_body)},
          {"retentionMs", operation.retention_ms},
          {"leaseMs", operation.lease_ms},
          {"waitMs", operation.wait_ms},
          {"mismatch", Word(operation.mismatch)},
          {"strict", operation.strict},
          {"life", operation.life},
          {"refused", operation.refused},
          {"lost", operation.lost}};
}

json::object Json(const Fault& fault) {
  return {{"kind", Word(fault.kind)},     {"fromMs", fault.from_ms},    {"toMs", fault.to_ms},
          {"region", Utf8(fault.region)}, {"other", Utf8(fault.other)}, {"amount", fault.amount}};
}

json::object Json(const LostRun& lost) {
  return {{"detectedMs", lost.detected_ms},
          {"region", Utf8(lost.region)},
          {"tenant", Utf8(lost.tenant)},
          {"key", Utf8(lost.key)},
          {"winner", Utf8(lost.winner)},
          {"loser", Utf8(lost.loser)},
          {"regionPair", Utf8(lost.region_pair)},
          {"payloadDivergent", lost.payload_divergent},
          {"loserHadCompleted", lost.loser_had_completed}};
}

json::object Json(const Quantiles& quantiles) {
  return {{"count", quantiles.count},
          {"p50Ms", quantiles.p50},
          {"p90Ms", quantiles.p90},
          {"p99Ms", quantiles.p99},
          {"maxMs", quantiles.max}};
}

json::object AnswersJson(const std::map<Operation::Answer, std::size_t>& counts) {
  json::object out;
  for (const Operation::Answer answer : kAnswers) out[Word(answer)] = CountOf(counts, answer);
  return out;
}

json::array RegionsJson(const History& history) {
  json::array out;
  for (const std::string& region : history.regions) out.push_back(json::string(Utf8(region)));
  return out;
}

json::object OptionsJson(const History& history) {
  json::object out;
  for (const auto& [name, value] : history.options) out[Utf8(name)] = Utf8(value);
  return out;
}

json::object OperationsJson(const History& history, const Figures& figures) {
  json::object by_kind, by_region;
  for (const Operation::Kind kind : kOperationKinds)
    by_kind[Word(kind)] = CountOf(figures.by_kind, kind);
  for (const auto& [region, answers] : figures.by_region)
    by_region[Utf8(region)] = AnswersJson(answers);
  return {{"total", history.operations.size()},
          {"byKind", std::move(by_kind)},
          {"byAnswer", AnswersJson(figures.by_answer)},
          {"byRegion", std::move(by_region)}};
}

json::object ConflictsJson(const History& history, const Figures& figures) {
  json::object by_pair;
  for (const auto& [pair, count] : figures.lost_by_pair) by_pair[Utf8(pair)] = count;
  json::array runs;
  for (const LostRun& lost : history.lost) runs.push_back(Json(lost));
  return {{"total", history.lost.size()},
          {"payloadDivergent", figures.payload_divergent},
          {"loserHadCompleted", figures.loser_had_completed},
          {"byRegionPair", std::move(by_pair)},
          {"runs", std::move(runs)}};
}

json::object LagJson(const Figures& figures) {
  json::array links;
  for (const auto& [link, quantiles] : figures.lag_by_link) {
    json::object entry = {{"from", Utf8(link.first)}, {"to", Utf8(link.second)}};
    for (auto& member : Json(quantiles)) entry.insert(member);
    links.push_back(std::move(entry));
  }
  json::object out = Json(figures.lag);
  out["overBound"] = figures.lag_over_bound;
  out["links"] = std::move(links);
  return out;
}

json::array LeadersJson(const History& history) {
  json::array out;
  for (const Leadership& led : history.leaders)
    out.push_back({{"atMs", led.at_ms}, {"region", Utf8(led.region)}, {"term", led.term}});
  return out;
}

json::object ResultsJson(const History& history, const Figures& figures) {
  json::object convergence = Json(figures.convergence);
  convergence["overBound"] = figures.convergence_over_bound;
  json::object faults;
  for (const Fault::Kind kind : kFaultKinds) faults[Word(kind)] = CountOf(figures.faults, kind);
  json::array violations;
  for (const Violation& violation : history.violations)
    violations.push_back({{"checker", Utf8(violation.checker)},
                          {"what", Utf8(violation.what)},
                          {"atMs", violation.at_ms}});
  return {{"version", 1},
          {"verdict", figures.passed ? "pass" : "fail"},
          {"seed", history.seed},
          {"scenario", Utf8(history.scenario)},
          {"reproduce", Utf8(figures.reproduce)},
          {"regions", RegionsJson(history)},
          {"options", OptionsJson(history)},
          {"safetyMs", history.safety_ms},
          {"endMs", history.end_ms},
          {"lagBoundMs", history.lag_bound_ms},
          {"operations", OperationsJson(history, figures)},
          {"conflicts", ConflictsJson(history, figures)},
          {"convergence", std::move(convergence)},
          {"lag", LagJson(figures)},
          {"faults", std::move(faults)},
          {"strict", history.strict},
          {"leaders", LeadersJson(history)},
          {"violations", std::move(violations)},
          {"violationsLeftOut", history.violations_left_out},
          {"messages", {{"count", history.messages}, {"bytes", history.message_bytes}}},
          {"traceHash", Hex(history.trace_hash)}};
}

}  // namespace

void WriteResults(const History& history, const Figures& figures, std::ostream& out) {
  std::string_view before = "{\n  ";
  for (const auto& member : ResultsJson(history, figures)) {
    out << before << json::serialize(json::string(member.key())) << ": "
        << json::serialize(member.value());
    before = ",\n  ";
  }
  out << "\n}\n";
}

void WriteHistoryLines(const History& history, std::ostream& out) {
  out << json::serialize(json::object{{"seed", history.seed},
                                      {"scenario", Utf8(history.scenario)},
                                      {"regions", RegionsJson(history)},
                                      {"lagBoundMs", history.lag_bound_ms}})
      << '\n';
  for (const Operation& operation : history.operations)
    out << json::serialize(Json(operation)) << '\n';
  for (const Fault& fault : history.faults)
    out << json::serialize(json::object{{"fault", Json(fault)}}) << '\n';
  for (const LostRun& lost : history.lost)
    out << json::serialize(json::object{{"lost", Json(lost)}}) << '\n';
}

}  // namespace once
