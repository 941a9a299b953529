// Reads that see everything that was acknowledged before them, on any node.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "replica/env/scheduler.h"

namespace once {

/// Beyond it they fail at once.
inline constexpr std::size_t kReadsWaitingMax = 100'000;

/// The leader says which index a read must wait for; the node's own state answers when it has
/// applied that. It is asked again when it says nothing, or another one leads.
class StrictReads {
 public:
  /// Asks the leader about the read `number`; false when none is known.
  using AskLeader = std::function<bool(std::uint64_t number)>;

  /// `scheduler` outlives it.
  StrictReads(Scheduler& scheduler, std::int64_t answer_ms, std::int64_t resend_ms,
              std::uint64_t first_number, AskLeader ask);
  ~StrictReads();

  /// Calls one of the two; `failed` when there was no answer in time.
  void Read(std::function<void()> ready, std::function<void()> failed);
  /// The leader's answer. A number that is not waited for is no error.
  void Known(std::uint64_t number, std::uint64_t index, std::uint64_t applied);
  void Applied(std::uint64_t index);
  /// There is another leader: those that have no index yet ask it.
  void AskAgain();

 private:
  struct Waiting {
    std::function<void()> ready;
    std::function<void()> failed;
    std::optional<std::uint64_t> index;
  };
  void Watch(std::uint64_t number, std::int64_t left_ms);

  Scheduler& scheduler_;
  const std::int64_t answer_ms_;
  const std::int64_t resend_ms_;
  std::uint64_t last_number_;
  AskLeader ask_;
  std::map<std::uint64_t, Waiting> waiting_;
  std::multimap<std::uint64_t, std::uint64_t> by_index_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace once
