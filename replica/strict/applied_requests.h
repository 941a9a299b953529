// Which requests the strict group has carried out: each is carried out once, however often it comes
// through the log.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "replica/storage/tables.h"
#include "replica/strict/strict.pb.h"

namespace once {

/// A node sends a request again when it hears nothing, and a network may deliver it late, so that
/// the log can hold it twice, under two leaders. What was answered must not happen again, nor what
/// was given up behind a later request. Of every asker a record is kept of the numbers that were
/// carried out, from the lowest that it still waits for; a part of the replicated state, so that
/// all members agree.
class AppliedRequests {
 public:
  /// `tables`, the strict ledger's, outlives it.
  explicit AppliedRequests(Tables& tables) : tables_(tables) {}

  /// Notes it down, in the open batch. False: it was carried out before, or its asker waits for it
  /// no more. May throw KvUnreadable.
  bool Add(const StrictAsker& asker, std::uint64_t number);
  /// What was noted since the last Put goes into the open batch.
  void Put();
  /// Reads anew what the tables have.
  void Forget();

 private:
  struct Kept {
    AskerRecord record;
    bool changed = false;
  };
  Kept& Find(const std::string& member);

  Tables& tables_;
  std::map<std::string, Kept> records_;  // by member
};

}  // namespace once
