#include "replica/gossip/journal.h"

#include <algorithm>

#include "conflict/mutation.h"
#include "conflict/probe.h"
#include "replica/api/digest.h"
#include "replica/env/check.h"
#include "replica/storage/keys.h"

namespace once {
namespace {

constexpr std::uint32_t kFrameFormat = 1;
constexpr std::size_t kDroppedAtOnce = 10'000;  // frames: they are one batch

// What became of the claim in conflicts, for whoever lists them in another region; and for its
// home, which may have lost the records with its directory. Only a home marks its own losses. A
// claim that gave way, and completed in another life of its home all the same, may have records of
// both kinds.
std::vector<Conflict> ConflictsOf(Tables& tables, const Slot& slot, const Claim& claim,
                                  const std::string& region) {
  const auto is = [&claim](const Loss& loss) { return loss.run_id() == claim.run_id(); };
  const bool may_have_lost = claim.region() == region
                                 ? std::any_of(slot.losses().begin(), slot.losses().end(), is)
                                 : claim.state() == COMPLETED;
  std::vector<Conflict> conflicts;
  const auto add = [&](ConflictKind kind) {
    if (auto conflict = tables.FindConflict(kind, claim.run_id()))
      conflicts.push_back(std::move(*conflict));
  };
  if (may_have_lost && claim.state() != SUPERSEDED) add(LOST);
  // Its home may have gone on since from a state before it gave way: what it did first is still so.
  // Most slots have one claim, which never gave way to another.
  if (slot.claims_size() > 1 || claim.state() == SUPERSEDED) add(LATE_COMPLETION);
  return conflicts;
}

}  // namespace

std::string SaidBytes(const Stream& stream, std::uint64_t sequence, const std::string& frame_hash) {
  return "once said " + keys::Seen(stream.first, stream.second) + keys::Big64(sequence) +
         frame_hash;
}

std::string HashOf(const SealedFrame& sealed) {
  return std::string(Bytes(Sha256(sealed.frame())));
}

std::uint64_t LastSequence(const Frame& frame) {
  return frame.first_sequence() + static_cast<std::uint64_t>(frame.changes_size()) - 1;
}

Journal::Journal(Tables& tables, std::string region, std::uint64_t incarnation, Sign sign)
    : tables_(tables),
      region_(std::move(region)),
      own_(region_, incarnation),
      sign_(std::move(sign)) {
  Reload();
  const bool reused = MutationOn("incarnation-reused");
  for (const auto& [stream, sequence] : applied_) {
    if (stream.first != region_ || reused) continue;
    own_.second = std::max(own_.second, (stream.second ? stream.second : sequence) + 1);
  }
  Check(!applied_.Find(own_.first, own_.second), "an incarnation is minted once");
}

void Journal::Reload() {
  applied_.Clear();
  dropped_.Clear();
  tables_.ScanRaw("v", keys::After("v"), [this](std::string_view, std::string_view value) {
    Seen seen;
    if (!seen.ParseFromArray(value.data(), static_cast<int>(value.size())))
      throw KvUnreadable("a version vector does not parse");
    applied_[{seen.origin(), seen.incarnation()}] = seen.sequence();
    if (seen.origin() == region_ && seen.incarnation() == 0) closes_after_ = seen.closes_after();
    return true;
  });
}

std::vector<Change> Journal::ChangesOf(const std::string& hash, const std::string& run_id) {
  std::vector<Change> changes;
  if (hash.empty()) {
    if (auto run = tables_.FindRun(run_id)) *changes.emplace_back().mutable_run() = std::move(*run);
    return changes;
  }
  const Slot* slot = tables_.FindSlot(hash);
  if (!slot) return changes;  // begun and forgotten within one batch
  for (const Claim& claim : slot->claims()) {
    if (claim.run_id() != run_id) continue;
    Change& change = changes.emplace_back();
    change.set_surface(slot->surface());
    change.set_tenant(slot->tenant());
    change.set_endpoint(slot->endpoint());
    change.set_key(slot->key());
    *change.mutable_claim() = claim;
    std::vector<Conflict> conflicts = ConflictsOf(tables_, *slot, claim, region_);
    if (conflicts.size() > 1) changes.push_back(changes.front());
    for (std::size_t i = 0; i < conflicts.size(); ++i)
      *changes[i].mutable_conflict() = std::move(conflicts[i]);
    break;
  }
  return changes;
}

void Journal::Ship(const Tables::Shipment& shipment) {
  Frame frame;
  std::size_t bytes = 0;
  const auto seal = [&] {
    if (frame.changes_size() > 0) Seal(std::move(frame));
    frame = Frame();
    bytes = 0;
  };
  const auto add = [&](Change change) {
    const std::string& region = change.has_run() ? change.run().region() : change.claim().region();
    const std::string home = region == region_ ? "" : region;
    if (frame.home() != home) seal();
    if (!home.empty() && frame.home().empty()) AddHeld(home, frame);
    bytes += change.ByteSizeLong();
    *frame.add_changes() = std::move(change);
    if (frame.changes_size() == static_cast<int>(kFrameChangesMax) || bytes >= kFrameBytesMax)
      seal();
  };
  const auto ship = [&](const std::string& hash, const std::string& run_id) {
    for (Change& change : ChangesOf(hash, run_id)) add(std::move(change));
  };
  // The runs first: a claim that comes back and has lost cancels its run.
  const bool runs_first = !MutationOn("claim-before-run");
  for (const auto& [hash, run_id] : shipment)
    if (!runs_first || hash.empty()) ship(hash, run_id);
  for (const auto& [hash, run_id] : shipment)
    if (runs_first && !hash.empty()) ship(hash, run_id);
  seal();
}

void Journal::AddHeld(const std::string& home, Frame& frame) const {
  frame.set_home(home);
  for (const auto& [stream, sequence] : applied_.Of(home)) *frame.add_held() = EntryOf(stream);
}

void Journal::Seal(Frame frame) {
  frame.set_format(kFrameFormat);
  frame.set_origin(region_);
  frame.set_incarnation(own_.second);
  frame.set_first_sequence(applied_[own()] + 1);
  frame.set_stamp_ms(tables_.head().stamp_ms());
  SealedFrame sealed;
  sealed.set_frame(frame.SerializeAsString());
  const std::string hash = HashOf(sealed);
  sealed.set_signature(sign_(SaidBytes(own(), LastSequence(frame), hash)));
  Keep(frame, std::move(sealed), hash);
  if (on_frame) on_frame(LastSequence(frame), frame.stamp_ms());
}

bool Journal::IsNext(const Frame& frame) const {
  const std::uint64_t applied = KnownUpto(applied_, {frame.origin(), frame.incarnation()});
  if (applied == UINT64_MAX || frame.incarnation() == 0) return false;
  if (MutationOn("frame-over-gap")) return LastSequence(frame) > applied;
  return frame.first_sequence() <= applied + 1 && LastSequence(frame) > applied;
}

void Journal::Keep(const Frame& frame, SealedFrame sealed, const std::string& hash) {
  Seen seen;
  seen.set_origin(frame.origin());
  seen.set_incarnation(frame.incarnation());
  seen.set_sequence(LastSequence(frame));
  seen.mutable_said()->set_sequence(LastSequence(frame));
  seen.mutable_said()->set_frame_hash(hash);
  seen.mutable_said()->set_signature(sealed.signature());
  sealed.set_last_sequence(LastSequence(frame));
  tables_.PutRaw(keys::Frame(frame.origin(), frame.incarnation(), frame.first_sequence()),
                 sealed.SerializeAsString());
  SkipTo(seen);
}

void Journal::SkipTo(const Seen& baseline) {
  applied_[{baseline.origin(), baseline.incarnation()}] = baseline.sequence();
  tables_.PutRaw(keys::Seen(baseline.origin(), baseline.incarnation()),
                 baseline.SerializeAsString());
}

Seen Journal::ReadSeen(const std::string& key) const {
  Seen seen;
  tables_.ScanRaw(key, keys::After(key), [&seen](std::string_view, std::string_view value) {
    if (!seen.ParseFromArray(value.data(), static_cast<int>(value.size())))
      throw KvUnreadable("a version vector does not parse");
    return false;
  });
  return seen;
}

Seen Journal::SignedEntry(const Stream& stream, std::uint64_t sequence) const {
  Seen seen;
  seen.set_origin(stream.first);
  seen.set_incarnation(stream.second);
  seen.set_sequence(sequence);
  seen.mutable_said()->set_sequence(sequence);
  seen.mutable_said()->set_signature(sign_(SaidBytes(stream, sequence, "")));
  return seen;
}

void Journal::BeginClosing(std::uint64_t upto) {
  closes_after_ = KnownUpto(applied_, {region_, 0});
  Seen closed = SignedEntry({region_, 0}, upto);
  closed.set_closes_after(closes_after_);
  SkipTo(closed);
}

void Journal::Close(const Seen& upto) {
  const Vector closing(EntriesUpto(applied_, upto.origin(), upto.sequence()));
  for (const auto& [stream, sequence] : closing) {
    while (!DropUpto(stream, sequence)) {
    }
    dropped_.Erase(stream);
    applied_.Erase(stream);
    if (upto.origin() == region_)
      tables_.PutRaw(keys::Closed(stream.first, stream.second),
                     EntryOf(stream).SerializeAsString());
    tables_.EraseRaw(keys::Seen(stream.first, stream.second));
  }
  Seen closed = upto;
  closed.set_closes_after(upto.sequence());
  if (upto.origin() == region_) closes_after_ = upto.sequence();
  SkipTo(closed);
}

std::uint64_t Journal::SpokenUpto(const Stream& own) const {
  if (const auto* entry = applied_.Find(own.first, own.second)) return entry->second;
  return ReadSeen(keys::Closed(own.first, own.second)).sequence();
}

void Journal::Reopen(const Stream& own) {
  Seen seen;
  seen.set_origin(own.first);
  seen.set_incarnation(own.second);
  seen.set_sequence(SpokenUpto(own));
  SkipTo(seen);
}

void Journal::CloseAgain(const Stream& own) {
  applied_.Erase(own);
  tables_.EraseRaw(keys::Seen(own.first, own.second));
}

std::vector<SealedFrame> Journal::After(const Stream& stream, std::uint64_t after,
                                        std::size_t bytes_max) const {
  std::vector<SealedFrame> frames;
  std::size_t bytes = 0;
  const auto& [origin, incarnation] = stream;
  tables_.ScanRaw(
      keys::Frame(origin, incarnation, after + 1), keys::After(keys::Frames(origin, incarnation)),
      [&](std::string_view key, std::string_view value) {
        // A gap: what should come next was dropped.
        if (frames.empty() && keys::ReadBig64(key.substr(key.size() - 8)) != after + 1)
          return false;
        bytes += value.size();
        if (frames.empty() && bytes > bytes_max) Reached("a frame was larger than the window");
        if (bytes > bytes_max && (!frames.empty() || MutationOn("frame-over-window-stays")))
          return false;
        SealedFrame sealed;
        if (!sealed.ParseFromArray(value.data(), static_cast<int>(value.size())))
          throw KvUnreadable("a frame of the journal does not parse");
        frames.push_back(std::move(sealed));
        return true;
      });
  return frames;
}

std::uint64_t Journal::KeptFrom(const Stream& stream) const {
  std::uint64_t first = KnownUpto(applied_, stream) + 1;
  const std::string prefix = keys::Frames(stream.first, stream.second);
  tables_.ScanRaw(prefix, keys::After(prefix), [&](std::string_view key, std::string_view) {
    first = keys::ReadBig64(key.substr(key.size() - 8));
    return false;
  });
  return first;
}

bool Journal::DropUpto(const Stream& stream, std::uint64_t upto) {
  std::uint64_t& dropped = dropped_[stream];
  if (dropped >= upto) return true;
  const auto& [origin, incarnation] = stream;
  std::vector<std::string> gone;
  tables_.ScanRaw(keys::Frame(origin, incarnation, dropped + 1),
                  keys::Frame(origin, incarnation, upto + 1),
                  [&](std::string_view key, std::string_view) {
                    if (gone.size() == kDroppedAtOnce) {
                      upto = keys::ReadBig64(key.substr(key.size() - 8)) - 1;
                      return false;
                    }
                    gone.emplace_back(key);
                    return true;
                  });
  const bool all = gone.size() < kDroppedAtOnce;
  for (std::string& key : gone) tables_.EraseRaw(std::move(key));
  dropped = upto;
  return all;
}

void Journal::VisitOwn(
    const std::function<void(const Stream&, std::uint64_t, std::int64_t)>& visit) const {
  if (MutationOn("gauge-forgets")) return;
  const std::string prefix = "j" + keys::Part(region_);
  tables_.ScanRaw(prefix, keys::After(prefix), [&visit](std::string_view, std::string_view value) {
    SealedFrame sealed;
    Frame frame;
    if (!sealed.ParseFromArray(value.data(), static_cast<int>(value.size())) ||
        !frame.ParseFromString(sealed.frame()))
      throw KvUnreadable("a frame of the journal does not parse");
    visit({frame.origin(), frame.incarnation()}, LastSequence(frame), frame.stamp_ms());
    return true;
  });
}

std::size_t Journal::CountFrames() const {
  std::size_t count = 0;
  tables_.ScanRaw("j", keys::After("j"), [&count](std::string_view, std::string_view) {
    ++count;
    return true;
  });
  return count;
}

}  // namespace once
