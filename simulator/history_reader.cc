#include "simulator/history_reader.h"

#include <array>
#include <boost/json.hpp>
#include <stdexcept>
#include <string_view>

#include "replica/api/json_value.h"

namespace once {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 12> kKindWords = {
    "begin",  "settle",  "look-up",   "renew",  "policy",  "create",
    "cancel", "approve", "interrupt", "delete", "get-run", "get-events"};
constexpr std::array<std::string_view, 3> kMismatchWords = {"reject", "observe", "off"};
constexpr std::array<std::string_view, 10> kAnswerWords = {
    "none", "execute",     "replay",    "in-flight", "mismatch",
    "done", "stale-fence", "not-found", "full",      "unavailable"};
constexpr std::array<std::string_view, 16> kFaults = {"cut",
                                                      "clog",
                                                      "crash",
                                                      "pause",
                                                      "slow-disk",
                                                      "sync-failure",
                                                      "disk-full",
                                                      "clock-jump",
                                                      "lossy-links",
                                                      "emptied-directory",
                                                      "restored-backup",
                                                      "transfer",
                                                      "dismissed-member",
                                                      "cloned-directory",
                                                      "stepped-starts",
                                                      "stopped-node"};

template <typename Number>
Number Figure(const json::object& object, std::string_view name, Number otherwise = 0) {
  const json::value* value = object.if_contains(name);
  return value && value->is_number() ? value->to_number<Number>() : otherwise;
}

bool Flag(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value && value->is_bool() && value->as_bool();
}

template <typename Enum, std::size_t n>
Enum Word(const std::array<std::string_view, n>& words, const std::string& word) {
  for (std::size_t i = 0; i < n; ++i)
    if (words[i] == word) return static_cast<Enum>(i);
  throw std::runtime_error("unknown word '" + word + "'");
}

void ReadHead(const json::object& line, History& history) {
  history.seed = Figure<std::uint64_t>(line, "seed");
  history.scenario = JsonText(line, "scenario");
  history.lag_bound_ms = Figure<std::int64_t>(line, "lagBoundMs");
  if (const json::value* regions = line.if_contains("regions"); regions && regions->is_array())
    for (const json::value& region : regions->as_array())
      history.regions.emplace_back(region.as_string());
}

Operation ReadOperation(const json::object& line) {
  Operation operation;
  operation.id = Figure<std::uint64_t>(line, "id");
  operation.kind = Word<Operation::Kind>(kKindWords, JsonText(line, "kind"));
  operation.region = JsonText(line, "region");
  operation.tenant = JsonText(line, "tenant");
  operation.key = JsonText(line, "key");
  operation.body = Figure<std::uint64_t>(line, "body");
  operation.invoked_ms = Figure<std::int64_t>(line, "invokedMs");
  operation.returned_ms = Figure<std::int64_t>(line, "returnedMs", -1);
  operation.answer = Word<Operation::Answer>(kAnswerWords, JsonText(line, "answer"));
  operation.run_id = JsonText(line, "runId");
  operation.fence = Figure<std::uint64_t>(line, "fence");
  operation.status = Figure<std::uint32_t>(line, "status");
  operation.answer_body = JsonText(line, "answerBody");
  operation.retention_ms = Figure<std::uint64_t>(line, "retentionMs");
  operation.lease_ms = Figure<std::uint64_t>(line, "leaseMs");
  operation.wait_ms = Figure<std::int64_t>(line, "waitMs");
  if (line.contains("mismatch"))
    operation.mismatch = Word<Operation::Mismatch>(kMismatchWords, JsonText(line, "mismatch"));
  operation.strict = Flag(line, "strict");
  operation.life = Figure<std::uint32_t>(line, "life");
  operation.refused = Flag(line, "refused");
  operation.lost = Flag(line, "lost");
  return operation;
}

Fault ReadFault(const json::object& line) {
  Fault fault;
  fault.kind = Word<Fault::Kind>(kFaults, JsonText(line, "kind"));
  fault.from_ms = Figure<std::int64_t>(line, "fromMs");
  fault.to_ms = Figure<std::int64_t>(line, "toMs", -1);
  fault.region = JsonText(line, "region");
  fault.other = JsonText(line, "other");
  fault.amount = Figure<std::int64_t>(line, "amount");
  return fault;
}

LostRun ReadLost(const json::object& line) {
  LostRun lost;
  lost.detected_ms = Figure<std::int64_t>(line, "detectedMs");
  lost.region = JsonText(line, "region");
  lost.tenant = JsonText(line, "tenant");
  lost.key = JsonText(line, "key");
  lost.winner = JsonText(line, "winner");
  lost.loser = JsonText(line, "loser");
  lost.region_pair = JsonText(line, "regionPair");
  lost.payload_divergent = Flag(line, "payloadDivergent");
  lost.loser_had_completed = Flag(line, "loserHadCompleted");
  return lost;
}

void ReadLine(const json::object& line, bool first, History& history) {
  if (first) return ReadHead(line, history);
  if (line.contains("kind"))
    history.operations.push_back(ReadOperation(line));
  else if (const json::value* fault = line.if_contains("fault"))
    history.faults.push_back(ReadFault(fault->as_object()));
  else if (const json::value* lost = line.if_contains("lost"))
    history.lost.push_back(ReadLost(lost->as_object()));
}

}  // namespace

std::variant<History, std::string> ReadHistory(std::istream& lines) {
  History history;
  std::string text;
  std::size_t number = 0;
  while (std::getline(lines, text)) {
    ++number;
    if (text.empty()) continue;
    json::error_code failed;
    const json::value line = json::parse(text, failed);
    if (failed || !line.is_object())
      return "line " + std::to_string(number) +
             " is no JSON object; a history.jsonl of "
             "once-sim run --out is wanted";
    try {
      ReadLine(line.get_object(), number == 1, history);
    } catch (const std::exception& wrong) {
      return "line " + std::to_string(number) + ": " + wrong.what();
    }
  }
  if (number == 0) return "there is nothing in it";
  return history;
}

}  // namespace once
