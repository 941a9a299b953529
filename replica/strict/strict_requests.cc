#include "replica/strict/strict_requests.h"

#include <utility>
#include <vector>

#include "conflict/mutation.h"

namespace once {
namespace {

constexpr std::size_t kDispatchBytesMax = 512 << 10;
constexpr std::int64_t kWatchMs = 50;

}  // namespace

StrictRequests::StrictRequests(Scheduler& scheduler, std::int64_t answer_ms, std::int64_t resend_ms,
                               std::uint64_t first_number, Send send)
    : scheduler_(scheduler),
      answer_us_(answer_ms * 1000),
      resend_us_(resend_ms * 1000),
      last_number_(first_number),
      send_(std::move(send)) {}

StrictRequests::~StrictRequests() {
  *alive_ = false;
}

void StrictRequests::Ask(Command command, std::int64_t until_ms, Done done) {
  if (waiting_.size() >= kRequestsWaitingMax || command.ByteSizeLong() > kCommandBytesMax)
    return Disappoint(done, false);
  const std::uint64_t number = ++last_number_;
  Waiting& waiting = waiting_[number];
  waiting.request.set_request(number);
  *waiting.request.mutable_command() = std::move(command);
  waiting.request.set_until_ms(until_ms);
  waiting.done = std::move(done);
  waiting.deadline_us = scheduler_.MonotonicMicros() + answer_us_;
  waiting.sent_us = 0;
  waiting.sent = false;
  unsent_.push_back(number);
  DispatchSoon();
  WatchSoon();
}

void StrictRequests::Applied(std::uint64_t number, const Answer& answer) {
  auto found = waiting_.extract(number);
  if (!found.empty()) found.mapped().done(answer);
}

void StrictRequests::SendAgain() {
  unsent_.clear();
  const std::int64_t anew_us = scheduler_.MonotonicMicros() + answer_us_;
  for (auto& [number, waiting] : waiting_) {
    if (MutationOn("deadline-begins-anew")) waiting.deadline_us = anew_us;
    unsent_.push_back(number);
  }
  DispatchSoon();
}

void StrictRequests::GiveUp() {
  GiveUp([](const Command&) { return true; });
}

void StrictRequests::GiveUp(const std::function<bool(const Command&)>& which) {
  std::vector<Waiting> late;
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const auto next = std::next(at);
    if (which(at->second.request.command())) late.push_back(waiting_.extract(at).mapped());
    at = next;
  }
  for (const Waiting& waiting : late) Disappoint(waiting.done, waiting.sent);
}

void StrictRequests::Disappoint(const Done& done, bool sent) {
  ++unavailable_;
  done(Unavailable(!sent || MutationOn("sent-called-refused")));
}

// Posted: what the event loop already holds goes in one message.
void StrictRequests::DispatchSoon() {
  if (dispatching_ || unsent_.empty()) return;
  dispatching_ = true;
  scheduler_.Post([this, alive = alive_] {
    if (!*alive) return;
    dispatching_ = false;
    Dispatch();
  });
}

void StrictRequests::Dispatch() {
  while (!unsent_.empty()) {
    std::vector<const StrictRequest*> requests;
    std::vector<Waiting*> sent;
    std::size_t bytes = 0;
    std::size_t taken = 0;
    for (; taken < unsent_.size() && bytes < kDispatchBytesMax; ++taken) {
      const auto at = waiting_.find(unsent_[taken]);
      if (at == waiting_.end()) continue;
      requests.push_back(&at->second.request);
      bytes += at->second.request.ByteSizeLong();
      sent.push_back(&at->second);
    }
    // When there is a leader everything that waits then is sent again.
    if (!requests.empty() && !send_(requests)) return unsent_.clear();
    const std::int64_t now_us = scheduler_.MonotonicMicros();
    for (Waiting* waiting : sent) {
      waiting->sent_us = now_us;
      waiting->sent = true;
    }
    unsent_.erase(unsent_.begin(), unsent_.begin() + static_cast<std::ptrdiff_t>(taken));
  }
}

void StrictRequests::WatchSoon() {
  if (watching_ || waiting_.empty()) return;
  watching_ = true;
  scheduler_.After(kWatchMs, [this, alive = alive_] {
    if (!*alive) return;
    watching_ = false;
    Watch();
    WatchSoon();
  });
}

void StrictRequests::Watch() {
  const std::int64_t now_us = scheduler_.MonotonicMicros();
  while (!waiting_.empty() && waiting_.begin()->second.deadline_us <= now_us) {
    const auto late = waiting_.extract(waiting_.begin());
    const Waiting& waiting = late.mapped();
    const bool forgotten = waiting.sent && waiting.sent_us == 0 && MutationOn("sent-forgotten");
    Disappoint(waiting.done, waiting.sent && !forgotten);
  }
  for (auto& [number, waiting] : waiting_) {
    if (waiting.sent_us == 0 || now_us - waiting.sent_us < resend_us_) continue;
    waiting.sent_us = 0;
    unsent_.push_back(number);
  }
  DispatchSoon();
}

}  // namespace once
