// What callers of this node asked of the strict group and have no answer to yet.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "replica/env/scheduler.h"
#include "replica/ledger/answer.h"
#include "replica/strict/strict.pb.h"

namespace once {

/// Of one command. With as much as may go before it, it fits an entry of the log and a message.
inline constexpr std::size_t kCommandBytesMax = 4u << 20;
/// Beyond it callers are refused at once.
inline constexpr std::size_t kRequestsWaitingMax = 100'000;

/// A request goes to the leader, and again when there is another leader or no answer came: it keeps
/// its number, by which the group carries it out once (applied_requests.h). After `answer_ms` the
/// caller is told kUnavailable: if it was sent, the outcome is unknown.
class StrictRequests {
 public:
  using Done = std::function<void(const Answer&)>;
  /// Takes requests to the leader; false when none is known, and nothing was sent: SendAgain is
  /// called when there is one.
  using Send = std::function<bool(const std::vector<const StrictRequest*>&)>;

  /// `first_number` differs from every other start of every node. `scheduler` outlives it.
  StrictRequests(Scheduler& scheduler, std::int64_t answer_ms, std::int64_t resend_ms,
                 std::uint64_t first_number, Send send);
  ~StrictRequests();

  /// `until_ms`: when that will be, by the node's clock. A command beyond kCommandBytesMax is
  /// refused.
  void Ask(Command command, std::int64_t until_ms, Done done);
  /// The request with that number was applied here. A number that is not waited for is no error.
  void Applied(std::uint64_t number, const Answer& answer);
  /// There is another leader.
  void SendAgain();
  /// Everyone is told kUnavailable; or everyone who waits for such a command.
  void GiveUp();
  void GiveUp(const std::function<bool(const Command&)>& which);

  std::size_t size() const { return waiting_.size(); }
  /// Of them, and of those that were answered lately, the ones that are about to be sent.
  std::size_t unsent() const { return unsent_.size(); }
  /// How many were told kUnavailable.
  std::uint64_t unavailable() const { return unavailable_; }
  /// No lower number is waited for.
  std::uint64_t oldest() const {
    return waiting_.empty() ? last_number_ + 1 : waiting_.begin()->first;
  }

 private:
  struct Waiting {
    StrictRequest request;
    Done done;
    std::int64_t deadline_us;
    std::int64_t sent_us;  // 0: not since there is another leader, or for too long
    bool sent;             // ever: a leader may have proposed it
  };
  void Disappoint(const Done& done, bool sent);
  void DispatchSoon();
  void Dispatch();
  void WatchSoon();
  void Watch();

  Scheduler& scheduler_;
  const std::int64_t answer_us_;
  const std::int64_t resend_us_;
  std::uint64_t last_number_;
  Send send_;
  std::map<std::uint64_t, Waiting> waiting_;  // in order of arrival, so of deadlines
  std::deque<std::uint64_t> unsent_;
  bool dispatching_ = false;
  bool watching_ = false;
  std::uint64_t unavailable_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace once
