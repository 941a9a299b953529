// Which slots, claims and runs belong to the strict group.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "replica/config.h"
#include "replica/ledger/command.pb.h"
#include "replica/storage/tables.h"

namespace once {

/// The group stands for all regions: its claims and runs have this in the place of a home region,
/// and its code in their ids, so that an id tells its domain.
inline constexpr std::string_view kStrictRegion = "*";

/// Decides by tenant and endpoint alone, so that a slot is in one domain for ever. The routes of a
/// run go where POST /v1/runs goes, those of webhooks where POST /v1/webhooks goes: what is made in
/// one domain must be found there.
class StrictRoutes {
 public:
  explicit StrictRoutes(std::vector<StrictRoute> routes) : routes_(std::move(routes)) {}

  bool Contains(std::string_view tenant, std::string_view endpoint) const;
  /// The same for whatever the command is about. False for commands that are no caller's.
  bool Contains(const Command& command) const;
  bool empty() const { return routes_.empty(); }
  /// Everything is strict.
  bool all() const;
  /// Equal for equal sets of rules, whatever their order; never 0.
  std::uint64_t Digest() const;

  /// They were in force at the last start on this store. May throw KvUnreadable.
  bool AreThoseOf(Tables& best_effort) const;
  /// Compares with what was in force at the last start on this store. Empty and noted down for the
  /// next, or a sentence for the operator: a claim or a webhook that is still kept, or that one of
  /// the `unapplied` commands of the group's log may make, would change its domain. May throw
  /// KvUnreadable.
  std::string TakeEffect(Tables& best_effort, Tables& strict,
                         const std::vector<Command>& unapplied) const;

 private:
  bool Contains(const Mutation& mutation) const;
  /// What of `tables` would change its domain; empty: nothing.
  std::string Moved(Tables& tables, bool is_strict) const;
  std::string Text() const;

  std::vector<StrictRoute> routes_;
};

/// Is the claim, run or token of the strict group?
bool IsStrictRunId(std::string_view run_id);
bool IsStrictToken(std::string_view interrupt_token);

}  // namespace once
