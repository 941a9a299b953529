#include "replica/storage/tables.h"

#include "conflict/mutation.h"
#include "replica/env/check.h"
#include "replica/env/overlaid_view.h"

namespace once {
namespace {

template <typename Record>
Record Parse(std::string_view bytes) {
  Record record;
  if (!record.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    throw KvUnreadable("a record does not parse");
  return record;
}

}  // namespace

Tables::Tables(KvStore& store, std::size_t hot_bytes_max) : store_(store), hot_(hot_bytes_max) {
  if (const auto bytes = store_.Get(keys::Head())) head_ = Parse<Head>(*bytes);
  if (head_.format() > kRecordFormat)
    throw KvUnreadable("its records have format " + std::to_string(head_.format()) +
                       ", and this program knows only " + std::to_string(kRecordFormat) +
                       ": a newer version wrote them");
  filter_.Restart(head_.slots());
}

Slot* Tables::FindSlot(std::string_view hash) {
  if (HotSlot* const hot = hot_.Find(hash)) return hot->erased ? nullptr : &hot_.SlotOf(*hot);
  if (!filter_.MayHave(hash)) return nullptr;
  const auto bytes = store_.Get(keys::Slot(hash));
  if (!bytes) return nullptr;
  Parse<Slot>(*bytes);
  HotSlot& hot = hot_.Insert(hash);
  hot_.Pack(hot, *bytes);
  hot_.SetBytes(hot, bytes->size());
  return &hot_.SlotOf(hot);
}

Slot& Tables::NewSlot(std::string_view hash) {
  HotSlot* hot = hot_.Find(hash);
  Check(!hot || hot->erased, "a slot is made once");
  if (!hot) hot = &hot_.Insert(hash);
  if (!MutationOn("slot-not-in-filter")) filter_.Add(hash);
  hot->erased = false;
  head_.set_slots(head_.slots() + 1);
  MarkDirty(*hot);
  return hot_.SlotOf(*hot);
}

void Tables::Touch(std::string_view hash) {
  HotSlot* const hot = hot_.Find(hash);
  Check(hot && !hot->erased, "only a slot that is there changes");
  Check(hot_.IsUnpacked(*hot), "a slot that changed is still the one that was found");
  MarkDirty(*hot);
}

void Tables::EraseSlot(std::string_view hash) {
  if (!FindSlot(hash)) return;
  HotSlot& hot = *hot_.Find(hash);
  MarkDirty(hot);
  hot.erased = true;
  head_.set_slots(head_.slots() - 1);
  if (!MutationOn("erased-bytes-stay")) head_.set_slot_bytes(head_.slot_bytes() - hot.bytes);
  hot_.Pack(hot, {});
  hot_.SetBytes(hot, 0);
}

std::uint64_t Tables::BatchOf(std::string_view hash) const {
  const HotSlot* const hot = hot_.Peek(hash);
  return hot ? hot->batch : 0;
}

void Tables::MarkDirty(HotSlot& hot) {
  if (slot_listener_) slot_listener_(hot.hash);
  if (!hot.dirty) {
    hot.dirty = true;
    dirty_.push_back(&hot);
  }
  hot_.Stay(hot, open_batch_);
  const std::size_t bytes = hot_.SlotOf(hot).ByteSizeLong();
  head_.set_slot_bytes(head_.slot_bytes() + bytes - hot.bytes);
  hot_.SetBytes(hot, bytes);
}

void Tables::ShipClaim(const std::string& hash, const std::string& run_id) {
  if (shipper_ && shipped_.emplace(hash, run_id).second) shipment_.emplace_back(hash, run_id);
}

void Tables::ShipRun(const std::string& run_id) {
  ShipClaim("", run_id);
}

KvStatus Tables::Flush() {
  if (shipper_) {
    shipper_(shipment_);
    shipment_.clear();
    shipped_.clear();
  }
  expiry_.Write();
  KvBatch batch = pending_.Take();
  std::string bytes;
  for (HotSlot* hot : dirty_) {
    if (hot->erased) {
      batch.Delete(keys::Slot(hot->hash));
      continue;
    }
    hot_.SlotOf(*hot).SerializeToString(&bytes);
    hot_.Pack(*hot, bytes);
    batch.Put(keys::Slot(hot->hash), bytes);
  }
  batch.Put(keys::Head(), head_.SerializeAsString());
  const KvStatus status = store_.Write(std::move(batch));
  if (status == KvStatus::kFull) {
    Rollback();
    return status;
  }
  for (HotSlot* hot : dirty_) {
    hot->dirty = false;
    if (hot->erased) hot_.Erase(*hot);
  }
  dirty_.clear();
  head_dirty_ = false;
  ++open_batch_;
  filter_.Learn(store_, head_.slots());
  return status;
}

void Tables::Rollback() {
  hot_.Clear();
  dirty_.clear();
  expiry_.Clear();
  pending_.Clear();
  shipment_.clear();
  shipped_.clear();
  head_dirty_ = false;
  const bool filter_stays = MutationOn("filter-outlives-store");
  if (!filter_stays) filter_.Restart(0);  // before what may throw: it may be another store by now
  head_.Clear();
  if (const auto bytes = store_.Get(keys::Head())) head_ = Parse<Head>(*bytes);
  if (!filter_stays) filter_.Restart(head_.slots());
  ++open_batch_;
  if (slot_listener_) slot_listener_({});
  if (rolled_back_) rolled_back_();
  if (rollback_listener_) rollback_listener_();
}

std::optional<std::string> Tables::Read(const std::string& key) {
  if (const auto op = pending_.Find(key)) return std::optional<std::string>(op->value);
  return store_.Get(key);
}

void Tables::Scan(const std::string& from, const std::string& to, const KvStore::Visitor& visit) {
  const auto pending = pending_.Range(from, to);
  auto mine = pending.begin();
  const auto mine_end = pending.end();
  bool going = true;
  const auto give = [&](auto at) {
    if (at->value) going = visit(at->key, *at->value);
  };
  store_.Scan(from, to, [&](std::string_view key, std::string_view value) {
    for (; going && mine != mine_end && mine->key < key; ++mine) give(mine);
    if (!going) return false;
    if (mine != mine_end && mine->key == key)
      give(mine++);
    else
      going = visit(key, value);
    return going;
  });
  for (; going && mine != mine_end; ++mine) give(mine);
}

std::unique_ptr<KvView> Tables::ViewRaw(const std::string& from, const std::string& to) {
  return std::make_unique<OverlaidView>(store_.View(from, to), pending_.Range(from, to));
}

std::optional<Run> Tables::FindRun(std::string_view run_id) {
  const auto bytes = Read(keys::Run(run_id));
  if (!bytes) return std::nullopt;
  return Parse<Run>(*bytes);
}

void Tables::PutRun(const Run& run) {
  pending_.Put(keys::Run(run.run_id()), run.SerializeAsString());
  const bool active = run.status() == RUNNING || run.status() == WAITING_APPROVAL;
  if (active)
    pending_.Put(keys::ActiveRun(run.run_id()), "");
  else
    pending_.Delete(keys::ActiveRun(run.run_id()));
}

void Tables::EraseRun(const Run& run) {
  pending_.Delete(keys::Run(run.run_id()));
  pending_.Delete(keys::ActiveRun(run.run_id()));
  if (!run.interrupt_token().empty()) EraseInterrupt(run.interrupt_token());
  const std::string events = "e" + run.run_id();
  std::vector<std::string> gone;
  Scan(events, keys::After(events), [&gone](std::string_view key, std::string_view) {
    gone.emplace_back(key);
    return true;
  });
  for (const std::string& key : gone) pending_.Delete(key);
}

std::vector<std::string> Tables::ActiveRuns() {
  std::vector<std::string> runs;
  const std::string prefix = keys::ActiveRun("");
  Scan(prefix, keys::After(prefix), [&](std::string_view key, std::string_view) {
    runs.emplace_back(key.substr(1));
    return true;
  });
  return runs;
}

std::vector<std::string> Tables::RunsAfter(std::string_view run_id, std::size_t limit) {
  std::vector<std::string> runs;
  const std::string prefix = keys::Run("");
  Scan(keys::Run(run_id), keys::After(prefix), [&](std::string_view key, std::string_view) {
    if (key.substr(prefix.size()) != run_id) runs.emplace_back(key.substr(prefix.size()));
    return runs.size() < limit;
  });
  return runs;
}

void Tables::AppendEvent(std::string_view run_id, const RunEvent& event) {
  pending_.Put(keys::Event(run_id, event.sequence()), event.SerializeAsString());
}

std::vector<RunEvent> Tables::Events(std::string_view run_id, std::uint64_t from,
                                     std::size_t limit) {
  std::vector<RunEvent> events;
  const std::string end = keys::After("e" + std::string(run_id));
  Scan(keys::Event(run_id, from), end, [&](std::string_view, std::string_view value) {
    if (events.size() == limit) return false;
    events.push_back(Parse<RunEvent>(value));
    return true;
  });
  return events;
}

std::optional<std::string> Tables::FindInterrupt(std::string_view token) {
  return Read(keys::Interrupt(token));
}
void Tables::PutInterrupt(std::string_view token, std::string_view run_id) {
  pending_.Put(keys::Interrupt(token), run_id);
}
void Tables::EraseInterrupt(std::string_view token) {
  pending_.Delete(keys::Interrupt(token));
}

std::optional<Webhook> Tables::FindWebhook(std::string_view tenant, std::string_view id) {
  const auto bytes = Read(keys::Webhook(tenant, id));
  if (!bytes) return std::nullopt;
  return Parse<Webhook>(*bytes);
}
void Tables::PutWebhook(const Webhook& webhook) {
  pending_.Put(keys::Webhook(webhook.tenant(), webhook.id()), webhook.SerializeAsString());
}
void Tables::EraseWebhook(std::string_view tenant, std::string_view id) {
  pending_.Delete(keys::Webhook(tenant, id));
}
std::size_t Tables::CountWebhooks(std::string_view tenant, std::size_t limit) {
  std::size_t count = 0;
  const std::string prefix = keys::Webhook(tenant, "");
  Scan(prefix, keys::After(prefix),
       [&](std::string_view, std::string_view) { return ++count < limit; });
  return count;
}

void Tables::VisitWebhooks(const std::function<void(const Webhook& webhook)>& visit) {
  Scan(keys::kWebhooks, keys::After(keys::kWebhooks),
       [&](std::string_view, std::string_view value) {
         visit(Parse<Webhook>(value));
         return true;
       });
}

std::vector<RoutePolicy> Tables::Policies() {
  std::vector<RoutePolicy> policies;
  Scan("p", keys::After("p"), [&](std::string_view, std::string_view value) {
    policies.push_back(Parse<RoutePolicy>(value));
    return true;
  });
  return policies;
}
void Tables::PutPolicy(const RoutePolicy& policy) {
  pending_.Put(keys::Policy(policy.tenant(), policy.route()), policy.SerializeAsString());
}
void Tables::ErasePolicy(const RoutePolicy& policy) {
  pending_.Delete(keys::Policy(policy.tenant(), policy.route()));
}

void Tables::AddConflict(Conflict& conflict) {
  const std::string count = keys::TenantConflicts(conflict.tenant());
  const auto before = Read(count);
  conflict.set_sequence(head_.listed() + 1);
  conflict.set_tenant_sequence((before ? keys::ReadBig64(*before) : 0) + 1);
  pending_.Put(count, keys::Big64(conflict.tenant_sequence()));
  pending_.Put(keys::TenantConflict(conflict.tenant(), conflict.tenant_sequence()),
               keys::Big64(conflict.sequence()));
  pending_.Put(keys::Conflict(conflict.sequence()), conflict.SerializeAsString());
  pending_.Put(keys::ConflictOf(conflict.kind(), conflict.loser()),
               keys::Big64(conflict.sequence()));
  head_.set_listed(conflict.sequence());
}

std::optional<Conflict> Tables::FindConflict(ConflictKind kind, std::string_view run_id) {
  const auto place = Read(keys::ConflictOf(kind, run_id));
  const auto bytes = place ? Read(keys::Conflict(keys::ReadBig64(*place))) : std::nullopt;
  if (!bytes) return std::nullopt;
  return Parse<Conflict>(*bytes);
}

std::vector<Conflict> Tables::Conflicts(std::uint64_t from, std::size_t limit) {
  std::vector<Conflict> conflicts;
  Scan(keys::Conflict(from), keys::After("c"), [&](std::string_view, std::string_view value) {
    if (conflicts.size() == limit) return false;
    conflicts.push_back(Parse<Conflict>(value));
    return true;
  });
  return conflicts;
}

std::vector<Conflict> Tables::ConflictsOf(std::string_view tenant, std::uint64_t from,
                                          std::size_t limit) {
  std::vector<std::uint64_t> places;
  Scan(keys::TenantConflict(tenant, from), keys::After("t" + keys::Part(tenant)),
       [&](std::string_view, std::string_view value) {
         if (places.size() == limit) return false;
         places.push_back(keys::ReadBig64(value));
         return true;
       });
  std::vector<Conflict> conflicts;
  for (const std::uint64_t place : places)
    if (const auto bytes = Read(keys::Conflict(place)))
      conflicts.push_back(Parse<Conflict>(*bytes));
  return conflicts;
}

void Tables::VisitSlots(
    std::uint8_t first_byte,
    const std::function<void(const std::string& hash, const Slot& slot)>& visit) {
  const std::string prefix = keys::Slot(std::string(1, static_cast<char>(first_byte)));
  std::map<std::string, const Slot*> changed;  // what the store does not have yet
  for (HotSlot* hot : dirty_)
    if (hot->hash[0] == prefix[1]) changed[hot->hash] = hot->erased ? nullptr : &hot_.SlotOf(*hot);
  store_.Scan(prefix, keys::After(prefix), [&](std::string_view key, std::string_view value) {
    const std::string hash(key.substr(1));
    if (!changed.count(hash)) changed[hash] = nullptr, visit(hash, Parse<Slot>(value));
    return true;
  });
  for (const auto& [hash, slot] : changed)
    if (slot) visit(hash, *slot);
}

}  // namespace once
