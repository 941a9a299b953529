// Typed access to what the ledger stores, over the kv seam.
//
// Changes are visible to the ledger at once and reach the store as one batch per Flush. Until then
// they live here: slots in HotSlots, new expiries in ExpiryIndex, everything else in `pending_`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "conflict/claim.pb.h"
#include "replica/env/kv_store.h"
#include "replica/ledger/records.pb.h"
#include "replica/storage/expiry_index.h"
#include "replica/storage/hot_slots.h"
#include "replica/storage/keys.h"
#include "replica/storage/open_batch.h"
#include "replica/storage/slot_filter.h"

namespace once {

/// The layout of what is stored. Fields that a newer version added are kept as they are, whatever
/// the format; a newer version whose records must not be taken for this one's raises it.
inline constexpr std::uint32_t kRecordFormat = 2;

class Tables {
 public:
  /// Throws KvUnreadable if the store is of a higher format than this program knows.
  /// `hot_bytes_max` bounds the slots kept in memory, as hot_slots.h says.
  Tables(KvStore& store, std::size_t hot_bytes_max);

  /// The numbers that travel with every batch. Mutable: the ledger counts in it.
  Head& head() { return head_; }
  const Head& head() const { return head_; }

  /// The slot, or null. Valid until the next FindSlot, NewSlot, EraseSlot, Flush or Rollback.
  Slot* FindSlot(std::string_view hash);
  /// A new, empty, dirty slot at `hash`, where there is none.
  Slot& NewSlot(std::string_view hash);
  /// Must follow every change of a slot that FindSlot returned.
  void Touch(std::string_view hash);
  void EraseSlot(std::string_view hash);
  /// Called when a slot changes, before anything else sees the change; with an empty hash when all
  /// may have. Not set: nobody listens.
  void SetSlotListener(std::function<void(std::string_view hash)> listener) {
    slot_listener_ = std::move(listener);
  }
  /// The batch that makes the slot's present state durable; 0 when it came from disk, or is not
  /// there.
  std::uint64_t BatchOf(std::string_view hash) const;

  std::optional<Run> FindRun(std::string_view run_id);
  void PutRun(const Run& run);
  void EraseRun(const Run& run);
  std::vector<std::string> ActiveRuns();
  /// Ids of runs behind that one, in order, `limit` at most.
  std::vector<std::string> RunsAfter(std::string_view run_id, std::size_t limit);

  void AppendEvent(std::string_view run_id, const RunEvent& event);
  /// Events with sequence >= from, in order, `limit` at most.
  std::vector<RunEvent> Events(std::string_view run_id, std::uint64_t from, std::size_t limit);

  std::optional<std::string> FindInterrupt(std::string_view token);  // -> run id
  void PutInterrupt(std::string_view token, std::string_view run_id);
  void EraseInterrupt(std::string_view token);

  std::optional<Webhook> FindWebhook(std::string_view tenant, std::string_view id);
  void PutWebhook(const Webhook& webhook);
  void EraseWebhook(std::string_view tenant, std::string_view id);
  std::size_t CountWebhooks(std::string_view tenant, std::size_t limit);
  void VisitWebhooks(const std::function<void(const Webhook& webhook)>& visit);

  std::vector<RoutePolicy> Policies();
  void PutPolicy(const RoutePolicy& policy);
  void ErasePolicy(const RoutePolicy& policy);

  /// Appends to the list, giving the record its sequences. Each run has one record of a kind. May
  /// throw KvUnreadable, with nothing changed.
  void AddConflict(Conflict& conflict);
  std::optional<Conflict> FindConflict(ConflictKind kind, std::string_view run_id);
  /// Conflicts with sequence >= from, in order, `limit` at most.
  std::vector<Conflict> Conflicts(std::uint64_t from, std::size_t limit);
  /// The same of one tenant, by tenant_sequence; others' records cost nothing.
  std::vector<Conflict> ConflictsOf(std::string_view tenant, std::uint64_t from, std::size_t limit);

  /// Every slot whose key starts with that byte, flushed or not, in key order.
  void VisitSlots(std::uint8_t first_byte,
                  const std::function<void(const std::string& hash, const Slot& slot)>& visit);

  /// Puts or deletes a record of the journal; see replica/gossip/journal.h.
  void PutRaw(std::string_view key, std::string_view value) { pending_.Put(key, value); }
  void EraseRaw(std::string_view key) { pending_.Delete(key); }
  std::optional<std::string> ReadRaw(const std::string& key) { return Read(key); }
  void ScanRaw(const std::string& from, const std::string& to, const KvStore::Visitor& visit) {
    Scan(from, to, visit);
  }
  /// What ScanRaw would visit now, whatever changes later: slots as they were last flushed.
  std::unique_ptr<KvView> ViewRaw(const std::string& from, const std::string& to);

  /// One of this region's own claims or runs changed and must reach the others. What is said is its
  /// state when the batch is flushed.
  void ShipClaim(const std::string& hash, const std::string& run_id);
  void ShipRun(const std::string& run_id);
  /// Called at the start of every Flush with what was shipped since the last one, in order and each
  /// once; it may put further records. `rolled_back` follows a Flush that found the disk full. Not
  /// set: nobody listens, nothing is gathered.
  using Shipment = std::vector<std::pair<std::string, std::string>>;  // (slot hash or "", run id)
  void SetShipper(std::function<void(const Shipment&)> shipper, std::function<void()> rolled_back) {
    shipper_ = std::move(shipper);
    rolled_back_ = std::move(rolled_back);
  }
  std::size_t unshipped() const { return shipment_.size(); }

  /// Called when a Flush found the disk full, after `rolled_back` of the shipper.
  void SetRollbackListener(std::function<void()> listener) {
    rollback_listener_ = std::move(listener);
  }
  /// Every change since the last Flush is gone, and so is all that was kept in memory.
  void Rollback();

  ExpiryIndex& expiry() { return expiry_; }

  /// Number of the batch that the present changes will belong to; the first is 1.
  std::uint64_t open_batch() const { return open_batch_; }
  bool dirty() const {
    return head_dirty_ || !dirty_.empty() || !pending_.empty() || expiry_.dirty();
  }
  /// Records that the open batch would hold so far, beside the head and the expiry index.
  std::size_t changes() const { return dirty_.size() + pending_.size(); }
  /// Makes the head alone worth a batch.
  void TouchHead() { head_dirty_ = true; }
  /// Writes all changes since the last Flush as one batch. kFull: nothing of it is stored and every
  /// change since the last Flush is gone from memory too (nobody was told of it).
  KvStatus Flush();
  /// Batches up to `batch` are durable. Until then their slots stay in memory: read back from the
  /// store, where they are visible already, they would pass for durable.
  void Synced(std::uint64_t batch) { hot_.Synced(batch); }

  const HotSlots& hot() const { return hot_; }

 private:
  void MarkDirty(HotSlot& hot);
  std::optional<std::string> Read(const std::string& key);
  void Scan(const std::string& from, const std::string& to, const KvStore::Visitor& visit);

  KvStore& store_;
  Head head_;
  HotSlots hot_;
  SlotFilter filter_{0};
  ExpiryIndex expiry_{*this};
  std::vector<HotSlot*> dirty_;
  OpenBatch pending_;
  std::function<void(const Shipment&)> shipper_;
  std::function<void()> rolled_back_;
  std::function<void()> rollback_listener_;
  std::function<void(std::string_view)> slot_listener_;
  Shipment shipment_;
  std::set<std::pair<std::string, std::string>> shipped_;  // what shipment_ holds
  std::uint64_t open_batch_ = 1;
  bool head_dirty_ = false;
};

}  // namespace once
