#include "tests/system/promises.h"

#include "replica/api/digest.h"

namespace once {
namespace {

constexpr int kLeaseSeconds = 600;  // longer than any test: nobody takes these claims over

constexpr int kCallers = 4;

std::string DigestOf(const std::string& text) {
  return Hex(Bytes(Sha256(text)));
}

std::string MakeAnswer(const std::string& key, std::size_t bytes) {
  std::string answer;
  for (std::string part = key; answer.size() < bytes; answer += part) part = DigestOf(part);
  return answer;
}

}  // namespace

void Promises::Begun(std::string key, BegunClaim claim) {
  const std::lock_guard lock(mutex_);
  claims_.push_back({std::move(key), std::move(claim), "", false});
  ++size_;
}

void Promises::Settled(const std::string& key, const std::string& answer) {
  const std::lock_guard lock(mutex_);
  for (auto claim = claims_.rbegin(); claim != claims_.rend(); ++claim) {
    if (claim->key != key) continue;
    claim->answer_digest = DigestOf(answer);
    claim->settled = true;
    ++size_;
    return;
  }
}

void Promises::Created(std::string key, std::string body) {
  const std::lock_guard lock(mutex_);
  runs_.push_back({std::move(key), std::move(body)});
  ++size_;
}

void Promises::Add(const Promises& other) {
  const std::scoped_lock lock(mutex_, other.mutex_);
  claims_.insert(claims_.end(), other.claims_.begin(), other.claims_.end());
  runs_.insert(runs_.end(), other.runs_.begin(), other.runs_.end());
  size_ += other.size_;
}

std::vector<std::string> Promises::Broken(std::uint16_t port, const std::string& bearer_key) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> broken;
  Caller caller(port, bearer_key);
  for (const Claim& claim : claims_) {
    const HttpResult found = caller.Get("/v1/claims/" + claim.claim.id);
    if (found.status != 200 || ClaimOf(found).fence != claim.claim.fence)
      broken.push_back("claim " + claim.key + " is not there: " + found.body);
    const HttpResult again = caller.Begin(claim.key);
    // A settlement whose acknowledgement was lost may have happened or not.
    const bool replays = again.status == 200 && again.replayed() &&
                         (DigestOf(AnswerOf(again)) == claim.answer_digest || !claim.settled);
    const bool in_flight = again.status == 409 && Member(again, "error") == "idempotency_in_flight";
    if (!replays && (claim.settled || !in_flight))
      broken.push_back("claim " + claim.key + " does not replay: " + again.body);
  }
  for (const Run& run : runs_) {
    const HttpResult again = caller.CreateRun(run.key);
    if (again.status != 201 || !again.replayed() || again.body != run.body)
      broken.push_back("run " + run.key + " does not replay: " + again.body);
    const HttpResult found = caller.Get("/v1/runs/" + Member(again, "runId"));
    if (found.status != 200) broken.push_back("run " + run.key + " is not there: " + found.body);
  }
  return broken;
}

Load::Load(std::uint16_t port, const std::string& bearer_key, const std::string& prefix,
           Promises& promises, std::size_t answer_bytes) {
  for (int i = 0; i < kCallers; ++i)
    threads_.emplace_back([=, &promises] {
      Caller caller(port, bearer_key);
      Call(caller, prefix + std::to_string(i) + "-", promises, answer_bytes);
    });
}

void Load::Join() {
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

void Load::Call(Caller& caller, const std::string& prefix, Promises& promises,
                std::size_t answer_bytes) {
  for (int n = 0;; ++n) {
    const std::string key = prefix + std::to_string(n);
    const HttpResult begun = caller.Begin(key, kLeaseSeconds);
    if (begun.status != 201) return;
    promises.Begun(key, ClaimOf(begun));
    // One in four is left to its lease.
    const std::string answer = MakeAnswer(key, answer_bytes);
    if (n % 4 != 0) {
      if (caller.Settle(ClaimOf(begun), answer).status != 200) return;
      promises.Settled(key, answer);
    }
    const HttpResult created = caller.CreateRun(key + "-run");
    if (created.status != 201) return;
    promises.Created(key + "-run", created.body);
  }
}

}  // namespace once
