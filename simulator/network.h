// The network between simulated regions: every message is delivered, late, twice or never, as the
// rules of the moment and the seed say.
//
// The promise it respects is Transport's: a message that arrives is whole and its sender is true.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "replica/env/random.h"
#include "replica/env/transport.h"
#include "simulator/virtual_scheduler.h"

namespace once {

struct LinkRules {
  std::int64_t delay_ms = 5;
  std::int64_t jitter_ms = 5;  // reorders, when it exceeds the gap between messages
  std::uint32_t loss_percent = 0;
  std::uint32_t repeat_percent = 0;
  std::uint32_t very_late_permille = 0;  // delivered much later, by up to `very_late_ms`
  std::int64_t very_late_ms = 20'000;
  /// What a sender's link takes; 0: everything at once. Beyond that messages queue at the sender,
  /// up to the bound, and those that find it full are dropped, as in replica/io/tls_transport.cc.
  std::int64_t bytes_per_ms = 0;
  std::size_t queue_bytes_max = 1u << 20;
};

class Network {
 public:
  Network(VirtualScheduler& scheduler, Random& random) : scheduler_(scheduler), random_(random) {}

  void SetRules(LinkRules rules) { rules_ = rules; }
  /// One direction at a time; a symmetric cut is two of them.
  void Cut(const std::string& from, const std::string& to) { cuts_.insert({from, to}); }
  void Mend(const std::string& from, const std::string& to) { cuts_.erase({from, to}); }
  void MendAll() { cuts_.clear(); }
  bool IsCut(const std::string& from, const std::string& to) const {
    return cuts_.count({from, to}) > 0;
  }
  /// Messages on this direction pile up, and come out in another order when released.
  void Clog(const std::string& from, const std::string& to) { clogs_[{from, to}]; }
  void Unclog(const std::string& from, const std::string& to);
  void UnclogAll();

  /// Called for every message that arrives, before its receiver sees it.
  std::function<void(const std::string& from, const std::string& to, const std::string& message)>
      on_deliver;

  const LinkRules& rules() const { return rules_; }
  std::uint64_t delivered() const { return delivered_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  friend class SimulatedTransport;
  using Link = std::pair<std::string, std::string>;

  void Send(const std::string& from, const std::string& to, std::string message);
  void Deliver(Link link, std::string message, std::int64_t delay_ms);

  VirtualScheduler& scheduler_;
  Random& random_;
  LinkRules rules_;
  std::set<Link> cuts_;
  std::map<Link, std::vector<std::string>> clogs_;
  std::map<std::string, Transport::Receive> receivers_;  // the regions that are up
  std::uint64_t delivered_ = 0;
  std::uint64_t bytes_ = 0;
};

/// One region's end of the network, for as long as its process lives.
class SimulatedTransport : public Transport {
 public:
  /// Messages come and go through `scheduler`: a process that stands still hears them when it goes
  /// on.
  SimulatedTransport(Network& network, std::string region, Scheduler& scheduler)
      : network_(network), region_(std::move(region)), scheduler_(scheduler) {}
  ~SimulatedTransport() override { network_.receivers_.erase(region_); }

  void Send(const std::string& to, std::string message) override;
  std::size_t Unsent(const std::string& to) const override;
  void SetReceiver(Receive receive) override;

 private:
  /// What waits for a link that takes only so much; the first of it is under way.
  struct Queue {
    std::deque<std::string> messages;
    std::size_t bytes = 0;
  };
  void SendFirst(const std::string& to);

  Network& network_;
  const std::string region_;
  Scheduler& scheduler_;
  std::map<std::string, Queue> queues_;
};

}  // namespace once
