#include "simulator/network.h"

#include <algorithm>

namespace once {

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

}  // namespace once
