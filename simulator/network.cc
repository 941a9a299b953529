#include "simulator/network.h"

#include <algorithm>

#include "conflict/probe.h"

namespace once {
namespace {

constexpr std::int64_t kRedialMs = 50;

}  // namespace

void Network::Send(const std::string& from, const std::string& to, std::string message) {
  bytes_ += message.size();
  Link link{from, to};
  if (const auto clog = clogs_.find(link); clog != clogs_.end())
    return clog->second.push_back(std::move(message));
  if (random_.Below(100) < rules_.loss_percent) return;
  const auto delay = [this] {
    if (random_.Below(1000) < rules_.very_late_permille)
      return static_cast<std::int64_t>(
          random_.Below(static_cast<std::uint64_t>(rules_.very_late_ms)));
    return rules_.delay_ms + static_cast<std::int64_t>(
                                 random_.Below(static_cast<std::uint64_t>(rules_.jitter_ms) + 1));
  };
  if (random_.Below(100) < rules_.repeat_percent) Deliver(link, message, delay());
  Deliver(std::move(link), std::move(message), delay());
}

// A cut drops what would arrive while it is there, and what is sent.
void Network::Deliver(Link link, std::string message, std::int64_t delay_ms) {
  if (!cuts_.empty() && cuts_.count(link)) return;
  scheduler_.After(delay_ms,
                   [this, link = std::move(link), message = std::move(message)]() mutable {
                     if (!cuts_.empty() && cuts_.count(link)) return;
                     const auto at = receivers_.find(link.second);
                     if (at == receivers_.end()) return;
                     ++delivered_;
                     if (on_deliver) on_deliver(link.first, link.second, message);
                     at->second(link.first, std::move(message));
                   });
}

void Network::Unclog(const std::string& from, const std::string& to) {
  const auto at = clogs_.find({from, to});
  if (at == clogs_.end()) return;
  std::vector<std::string> messages = std::move(at->second);
  const Link link = at->first;
  clogs_.erase(at);
  for (std::size_t i = messages.size(); i > 1; --i)
    std::swap(messages[i - 1], messages[random_.Below(i)]);
  for (std::string& message : messages) Deliver(link, std::move(message), rules_.delay_ms);
}

void Network::UnclogAll() {
  while (!clogs_.empty()) Unclog(clogs_.begin()->first.first, clogs_.begin()->first.second);
}

void SimulatedTransport::Send(const std::string& to, std::string message) {
  const LinkRules& rules = network_.rules();
  const auto held = queues_.find(to);
  const bool waits = held != queues_.end() && !held->second.messages.empty();
  if (rules.bytes_per_ms == 0 && !waits) return network_.Send(region_, to, std::move(message));
  Queue& queue = queues_[to];
  if (waits && queue.bytes + message.size() > rules.queue_bytes_max)
    return Reached("a message found the queue to a peer full");
  queue.bytes += message.size();
  queue.messages.push_back(std::move(message));
  if (!waits) SendFirst(to);
}

// A link that is cut takes nothing; what waits for it goes when it is mended.
void SimulatedTransport::SendFirst(const std::string& to) {
  const std::int64_t rate = network_.rules().bytes_per_ms;
  const bool cut = network_.IsCut(region_, to);
  const auto size = static_cast<std::int64_t>(queues_[to].messages.front().size());
  const std::int64_t takes_ms = cut ? kRedialMs : rate == 0 ? 0 : size / rate;
  scheduler_.After(takes_ms, [this, to, cut] {
    if (cut) return SendFirst(to);
    Queue& queue = queues_[to];
    std::string message = std::move(queue.messages.front());
    queue.messages.pop_front();
    queue.bytes -= message.size();
    network_.Send(region_, to, std::move(message));
    if (!queue.messages.empty()) SendFirst(to);
  });
}

std::size_t SimulatedTransport::Unsent(const std::string& to) const {
  const auto held = queues_.find(to);
  return held == queues_.end() ? 0 : held->second.bytes;
}

void SimulatedTransport::SetReceiver(Receive receive) {
  network_.receivers_[region_] = [this, hear = std::make_shared<Receive>(std::move(receive))](
                                     const std::string& from, std::string message) {
    scheduler_.Post([hear, from, message = std::move(message)]() mutable {
      (*hear)(from, std::move(message));
    });
  };
}

}  // namespace once
