#include "tests/system/history_recorder.h"

#include <algorithm>
#include <boost/json.hpp>
#include <fstream>

#include "simulator/report_json.h"

namespace once {
namespace {

namespace json = boost::json;

constexpr int kLeaseSeconds = 1;
constexpr int kRetentionSeconds = 3600;

Operation::Answer AnswerTo(Operation::Kind kind, const HttpResult& result) {
  using Answer = Operation::Answer;
  const bool begin = kind == Operation::Kind::kBegin;
  switch (result.status) {
    case 201:
      return Answer::kExecute;
    case 200:
      return begin || result.replayed() ? Answer::kReplay : Answer::kDone;
    case 404:
      return Answer::kNotFound;
    case 409:
      if (Member(result, "error") == "idempotency_in_flight") return Answer::kInFlight;
      return begin ? Answer::kMismatch : Answer::kStaleFence;
    case 507:
      return Answer::kFull;
    case 0:
      return Answer::kNone;
    case 503:
      break;
    default:
      ADD_FAILURE() << "answered " << result.status << ": " << result.body;
  }
  return Answer::kUnavailable;
}

// A text of the body by its path; empty when there is none.
std::string TextAt(const HttpResult& result, const char* pointer) {
  boost::system::error_code error;
  const json::value body = json::parse(result.body, error);
  const json::value* found = error ? nullptr : body.find_pointer(pointer, error);
  return found && found->is_string() ? std::string(found->as_string()) : "";
}

std::uint32_t StatusOfOutcome(const HttpResult& result) {
  boost::system::error_code error;
  const json::value body = json::parse(result.body, error);
  const json::value* found = error ? nullptr : body.find_pointer("/outcome/status", error);
  return found ? found->to_number<std::uint32_t>() : 0;
}

}  // namespace

std::int64_t HistoryRecorder::NowMillis() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                               start_)
      .count();
}

void HistoryRecorder::Add(Operation operation) {
  operation.strict = strict_;
  const std::lock_guard lock(mutex_);
  history_.operations.push_back(std::move(operation));
}

void HistoryRecorder::Cut(const Regions& one, const Regions& other) {
  for (const std::string& a : one)
    for (const std::string& b : other)
      for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)})
        history_.faults.push_back({Fault::Kind::kCut, NowMillis(), -1, from, to, 0});
}

void HistoryRecorder::Heal() {
  for (Fault& fault : history_.faults) fault.to_ms = NowMillis();
}

void HistoryRecorder::AddLost(const std::string& conflicts_page) {
  const json::value page = json::parse(conflicts_page);
  for (const json::value& one : page.at("conflicts").as_array()) {
    if (one.at("kind").as_string() != "lost") continue;
    const auto text = [&one](const char* name) { return std::string(one.at(name).as_string()); };
    LostRun lost;
    lost.detected_ms = NowMillis();
    lost.region = text("region");
    lost.tenant = text("tenant");
    lost.winner = text("winner");
    lost.loser = text("loser");
    lost.region_pair = text("regionPair");
    lost.payload_divergent = one.at("payloadDivergent").as_bool();
    lost.loser_had_completed = one.at("loserHadCompleted").as_bool();
    for (const Operation& operation : history_.operations)
      if (operation.run_id == lost.loser) lost.key = operation.key;
    history_.lost.push_back(std::move(lost));
  }
}

ProgramResult JudgeHistory(const History& history) {
  const ScratchDirectory directory;
  const std::string file = (directory.path() / "history.jsonl").string();
  std::ofstream out(file);
  WriteHistoryLines(history, out);
  out.close();
  return RunProgram({ProgramPath("once-sim"), "check-history", file});
}

History HistoryRecorder::Take() {
  std::stable_sort(
      history_.operations.begin(), history_.operations.end(),
      [](const Operation& a, const Operation& b) { return a.invoked_ms < b.invoked_ms; });
  std::uint64_t id = 0;
  for (Operation& operation : history_.operations) operation.id = ++id;
  history_.end_ms = NowMillis();
  return history_;
}

RecordedCaller::RecordedCaller(HistoryRecorder& recorder, ClusterProcess& cluster,
                               std::string region)
    : recorder_(recorder), cluster_(cluster) {
  GoTo(region);
}

void RecordedCaller::GoTo(const std::string& region) {
  region_ = region;
  caller_.reset(new Caller(cluster_.Acme(region)));
}

Operation RecordedCaller::Begin(const std::string& key, std::uint64_t body) {
  Operation operation;
  operation.kind = Operation::Kind::kBegin;
  operation.key = key;
  operation.body = body;
  operation.lease_ms = kLeaseSeconds * 1000;
  const json::object request = {{"endpoint", "charge"},
                                {"request", {{"amount", body}}},
                                {"leaseSeconds", kLeaseSeconds},
                                {"retentionSeconds", kRetentionSeconds}};
  return Ask(std::move(operation),
             [&] { return caller_->Post("/v1/claims", json::serialize(request), key); });
}

Operation RecordedCaller::Settle(const Operation& begun, std::uint32_t status) {
  Operation operation;
  operation.kind = Operation::Kind::kSettle;
  operation.key = begun.key;
  operation.body = begun.body;
  operation.run_id = begun.run_id;
  operation.fence = begun.fence;
  operation.status = status;
  operation.answer_body =
      "answer of " + begun.run_id + " under fence " + std::to_string(begun.fence);
  const BegunClaim claim = owned_.at(begun.run_id);
  return Ask(operation, [&] {
    return caller_->Settle(claim, operation.answer_body, static_cast<int>(status));
  });
}

Operation RecordedCaller::Ask(Operation operation, const std::function<HttpResult()>& request) {
  operation.region = region_;
  operation.tenant = "acme";
  operation.retention_ms = kRetentionSeconds * 1000;
  operation.invoked_ms = recorder_.NowMillis();
  const HttpResult result = request();
  loss_ = result.loss;
  operation.answer = AnswerTo(operation.kind, result);
  if (operation.answer != Operation::Answer::kNone) operation.returned_ms = recorder_.NowMillis();
  if (operation.kind == Operation::Kind::kBegin) {
    const BegunClaim claim = ClaimOf(result);
    operation.run_id = operation.answer == Operation::Answer::kMismatch
                           ? TextAt(result, "/details/existingRunId")
                           : claim.run_id;
    operation.fence = claim.fence;
    if (operation.answer == Operation::Answer::kExecute) owned_[claim.run_id] = claim;
    if (operation.answer == Operation::Answer::kReplay) {
      operation.status = StatusOfOutcome(result);
      operation.answer_body = AnswerOf(result);
    }
  }
  recorder_.Add(operation);
  return operation;
}

}  // namespace once
