// The strict group's ledger: what the log does to it, and how it goes to another member as a whole.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "replica/ledger/ledger.h"
#include "replica/storage/tables.h"
#include "replica/strict/applied_requests.h"
#include "replica/strict/engine.h"
#include "replica/strict/nested_store.h"
#include "replica/strict/strict.pb.h"
#include "replica/strict/strict_generations.h"

namespace once {

inline constexpr std::uint32_t kBatchFormat = 1;  // of StrictBatch

/// A pure function of the log: equal entries give equal bytes on every member. Changes gather in
/// memory over some entries, because the log has them, and go into the open batch of the outer
/// Tables together, with the index of the last entry: what several entries changed is written once.
class StrictState {
 public:
  using Answered = std::function<void(const StrictAsker& asker, const StrictCommand& command,
                                      const Answer& answer)>;

  /// `outer` outlives it. May throw KvUnreadable.
  StrictState(Tables& outer, std::size_t hot_bytes_max);

  /// Applies every command of the batch with the leader's stamp, then says what came of each. What
  /// is not a batch, or not a command that a caller may give, or was carried out before
  /// (kUnavailable: what came of it was said then), changes nothing but the index: on every member
  /// alike. False: it is of a later format, or holds a command that this version does not know, and
  /// nothing changed. May throw KvUnreadable, and must then be followed by Forget.
  bool Apply(std::uint64_t index, const std::string& batch, const Answered& answered);
  /// What was applied goes into the outer batch now.
  void Store();
  /// It is time to, when nobody waits.
  bool ShouldStore() const;
  std::uint64_t applied() const { return tables_.head().applied(); }

  /// The stored final answer to that begin, as any member may give it: until its expiry minus the
  /// skew bound. kUnavailable: there is none. May throw KvUnreadable.
  Answer Recall(const Begin& begin, std::int64_t now_ms, std::int64_t skew_ms);

  // As StateMachine says.
  std::unique_ptr<FrozenState> Freeze();
  bool Stage(const std::string& piece, bool first);
  bool Install(std::uint64_t index);
  void Unstage() { generations_.Abandon(); }
  /// Reads anew what the outer Tables has.
  void Forget();

  Tables& tables() { return tables_; }
  StrictGenerations& generations() { return generations_; }

 private:
  StrictGenerations generations_;
  NestedStore store_;
  Tables tables_;
  AppliedRequests requests_;
  std::size_t unstored_bytes_ = 0;  // of the batches applied since the last Store
  std::string last_staged_;         // the key of the last record
  bool staged_whole_ = false;       // its last piece is there
};

/// True if a node may ask for that in a caller's name.
bool IsCallersCommand(const Command& command);

}  // namespace once
