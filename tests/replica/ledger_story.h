// Words for telling ledger stories: commands by key and body, and a ledger over a memory disk.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "replica/api/digest.h"
#include "replica/ledger/ledger.h"
#include "simulator/memory_store.h"
#include "simulator/virtual_scheduler.h"
#include "tests/replica/spans.h"

namespace once {

using Kind = Answer::Kind;

inline constexpr std::int64_t kStartMs = 1'700'000'000'000;
inline constexpr std::int64_t kSkewMs = 1000;  // as LedgerOptions has it

inline SlotRef SlotOfKey(const std::string& key, const std::string& endpoint = "pay") {
  SlotRef slot;
  slot.set_surface(CLAIM);
  slot.set_tenant("acme");
  slot.set_endpoint(endpoint);
  slot.set_key(key);
  slot.set_hash(SlotKey(CLAIM, slot.tenant(), endpoint, key));
  return slot;
}

inline std::string HashOfKey(const std::string& key) {
  return SlotOfKey(key).hash();
}

struct BeginWith {
  std::string body = "body";
  std::int64_t lease_ms = 30 * kSecondMs;
  std::int64_t retention_ms = kDayMs;
  MismatchPolicy mismatch = REJECT;
};

inline Command BeginKey(const std::string& key, const BeginWith& with = {}) {
  Command command;
  Begin& begin = *command.mutable_begin();
  *begin.mutable_slot() = SlotOfKey(key);
  begin.set_fingerprint(with.body);
  begin.set_fingerprint_version(1);
  begin.set_lease_ms(static_cast<std::uint64_t>(with.lease_ms));
  begin.set_retention_ms(static_cast<std::uint64_t>(with.retention_ms));
  begin.set_mismatch(with.mismatch);
  return command;
}

/// Settles the claim that `owned` answered kExecute for.
inline Command SettleAs(const Answer& owned, ClaimState state, const std::string& body = "done") {
  Command command;
  Settle& settle = *command.mutable_settle();
  settle.set_tenant("acme");
  settle.set_hash(owned.hash);
  settle.set_run_id(owned.claim.run_id());
  settle.set_fence(owned.claim.fence());
  settle.set_state(state);
  if (state == RELEASED) return command;
  settle.mutable_outcome()->set_status(state == COMPLETED ? 201 : state == RETRYABLE ? 503 : 404);
  settle.mutable_outcome()->set_body(body);
  return command;
}

inline Command RenewFor(const Answer& owned, std::int64_t lease_ms) {
  Command command;
  Renew& renew = *command.mutable_renew();
  renew.set_tenant("acme");
  renew.set_hash(owned.hash);
  renew.set_run_id(owned.claim.run_id());
  renew.set_fence(owned.claim.fence());
  renew.set_lease_ms(static_cast<std::uint64_t>(lease_ms));
  return command;
}

inline Command ExpireUpTo(std::uint32_t limit) {
  Command command;
  command.mutable_expire_due()->set_limit(limit);
  return command;
}

/// A mutation without an effect yet. An empty key: the caller sent none.
inline Command MutationUnder(const std::string& key, const BeginWith& with = {}) {
  Command command;
  Mutation& mutation = *command.mutable_mutation();
  mutation.set_tenant("acme");
  mutation.set_actor("alice");
  if (!key.empty()) *mutation.mutable_begin() = BeginKey(key, with).begin();
  return command;
}

inline Command CreateRunUnder(const std::string& key, const std::string& workflow,
                              std::int64_t delay_ms = 0) {
  Command command = MutationUnder(key);
  CreateRun& create = *command.mutable_mutation()->mutable_create_run();
  create.set_workflow_id(workflow);
  create.set_name_shown(workflow);
  create.set_delay_ms(delay_ms);
  return command;
}

/// A run whose admission ends with `status` for the first `times` tries.
inline Command RefusedRunUnder(const std::string& key, std::uint32_t status, std::uint32_t times) {
  Command command = CreateRunUnder(key, "fail");
  command.mutable_mutation()->mutable_create_run()->set_fail_status(status);
  command.mutable_mutation()->mutable_create_run()->set_fail_times(times);
  return command;
}

inline Command CancelRunUnder(const std::string& key, const std::string& run_id) {
  Command command = MutationUnder(key);
  command.mutable_mutation()->mutable_cancel_run()->set_run_id(run_id);
  return command;
}

/// A ledger alone: no clock but the one the test holds, no commit but Flush.
class LedgerStory {
 public:
  explicit LedgerStory(LedgerOptions options = {}, std::size_t hot_bytes_max = 1 << 20)
      : options_(std::move(options)), hot_bytes_max_(hot_bytes_max) {
    if (options_.region.empty()) options_.region = "eu";
    Boot();
  }

  Answer Apply(const Command& command) {
    return ledger_->Apply(command, {now_ms, {random_.Next(), random_.Next(), random_.Next()}});
  }
  Answer ApplyAt(const Command& command, const Stamp& stamp) {
    return ledger_->Apply(command, stamp);
  }

  void Flush() {
    (void)tables_->Flush();
    tables_->Synced(tables_->open_batch() - 1);
  }
  /// A clean stop and start at the present time.
  void Restart() {
    Flush();
    ledger_.reset();
    tables_.reset();
    store_.reset();
    Boot();
  }

  /// The same with another configuration.
  void RestartWith(LedgerOptions options) {
    options_ = std::move(options);
    if (options_.region.empty()) options_.region = "eu";
    Restart();
  }

  Tables& tables() { return *tables_; }
  MemoryDisk& disk() { return disk_; }
  const LedgerOptions& options() const { return options_; }
  std::optional<Claim> ClaimOf(const std::string& key) {
    const Slot* slot = tables_->FindSlot(HashOfKey(key));
    if (!slot || slot->claims_size() != 1) return std::nullopt;
    return slot->claims(0);
  }

  std::int64_t now_ms = kStartMs;

 private:
  void Boot() {
    store_ = std::make_unique<MemoryStore>(disk_, scheduler_);
    tables_ = std::make_unique<Tables>(*store_, hot_bytes_max_);
    ledger_ = std::make_unique<Ledger>(*tables_, options_, now_ms);
  }

  LedgerOptions options_;
  const std::size_t hot_bytes_max_;
  Random random_{7};
  VirtualScheduler scheduler_;
  MemoryDisk disk_;
  std::unique_ptr<MemoryStore> store_;
  std::unique_ptr<Tables> tables_;
  std::unique_ptr<Ledger> ledger_;
};

}  // namespace once
