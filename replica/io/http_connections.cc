#include "replica/io/http_connections.h"

#include <utility>

#include "replica/io/http_answer.h"

namespace once {

HttpConnections::Admission HttpConnections::Admit(const std::string& address) {
  ++counters.accepted;
  const auto found = per_address_.find(address);
  const std::size_t from_there = found == per_address_.end() ? 0 : found->second;
  if (served_ < limits.connections_max && from_there < limits.connections_per_address_max)
    return Admission::kServe;
  ++counters.refused;
  return refusing_ < limits.refusals_max ? Admission::kRefuse : Admission::kDrop;
}

void HttpConnections::Add(std::shared_ptr<HttpSession> session, std::string address,
                          Admission admission) {
  HttpSession& added = *session;
  added.refused_ = admission == Admission::kRefuse;
  if (added.refused_) {
    ++refusing_;
  } else {
    ++served_;
    ++per_address_[address];
  }
  added.address_ = std::move(address);
  added.place_ = sessions_.insert(sessions_.end(), std::move(session));
  counters.open = sessions_.size();
}

void HttpConnections::Remove(HttpSession& session) {
  if (session.refused_) {
    --refusing_;
  } else {
    --served_;
    const auto found = per_address_.find(session.address_);
    if (--found->second == 0) per_address_.erase(found);
  }
  sessions_.erase(session.place_);
  counters.open = sessions_.size();
  if (sessions_.empty() && on_empty_) std::exchange(on_empty_, nullptr)();
}

bool HttpConnections::HoldBody(std::size_t& held, std::size_t wanted) {
  const std::size_t others = counters.bodies_bytes - held;
  if (others + wanted > limits.bodies_bytes_max) return false;
  counters.bodies_bytes = others + wanted;
  held = wanted;
  return true;
}

void HttpConnections::LetBodyGo(std::size_t& held) {
  counters.bodies_bytes -= std::exchange(held, 0);
}

bool HttpConnections::Gather(std::shared_ptr<HttpSession> session) {
  gathered_.push_back(std::move(session));
  return gathered_.size() == 1;
}

void HttpConnections::FlushGathered() {
  const auto gathered = std::exchange(gathered_, {});
  std::vector<HttpSession*> sessions;
  std::vector<SendRing::Send> sends;
  sessions.reserve(gathered.size());
  sends.reserve(gathered.size());
  for (const auto& session : gathered) {  // each once: what it took up stays until it was sent
    const std::string_view answers = session->TakeUp();
    if (answers.empty()) continue;
    sessions.push_back(session.get());
    sends.push_back({session->socket_handle(), answers});
  }
  send_ring_.All(sends);
  for (std::size_t i = 0; i < sends.size(); ++i) sessions[i]->Sent(sends[i].result);
  for (const auto& session : gathered) session->Resume();
}

template <class Action>
void HttpConnections::ForEach(Action action) {
  for (auto next = sessions_.begin(); next != sessions_.end();) {
    const auto session = *next++;  // the action may remove this one, and no other
    action(*session);
  }
}

void HttpConnections::Sweep(std::int64_t monotonic_ms, std::int64_t unix_seconds) {
  now_ms_ = monotonic_ms;
  if (unix_seconds != unix_seconds_) {
    unix_seconds_ = unix_seconds;
    date_ = HttpDate(unix_seconds);
  }
  ForEach([](HttpSession& session) { session.Sweep(); });
}

void HttpConnections::Finish() {
  finishing_ = true;
  ForEach([](HttpSession& session) { session.Finish(); });
}

void HttpConnections::WhenEmpty(std::function<void()> empty) {
  if (sessions_.empty()) return empty();
  on_empty_ = std::move(empty);
}

void HttpConnections::Abort() {
  ForEach([](HttpSession& session) { session.Abort(); });
}

}  // namespace once
