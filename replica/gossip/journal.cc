#include "replica/gossip/journal.h"

#include <algorithm>

#include "conflict/mutation.h"
#include "replica/env/check.h"
#include "replica/storage/keys.h"

namespace once {
namespace {

constexpr std::uint32_t kFrameFormat = 1;

std::uint64_t LastSequence(const Frame& frame) {
  return frame.first_sequence() + static_cast<std::uint64_t>(frame.changes_size()) - 1;
}

// What became of the claim in a conflict, for whoever lists conflicts in another region.
std::optional<Conflict> ConflictOf(Tables& tables, const Slot& slot, const Claim& claim) {
  if (claim.state() == SUPERSEDED) return tables.FindConflict(LATE_COMPLETION, claim.run_id());
  for (const Loss& loss : slot.losses())
    if (loss.run_id() == claim.run_id()) return tables.FindConflict(LOST, claim.run_id());
  return std::nullopt;
}

}  // namespace

Journal::Journal(Tables& tables, std::string region, std::uint64_t incarnation, Sign sign)
    : tables_(tables),
      region_(std::move(region)),
      incarnation_(incarnation),
      sign_(std::move(sign)) {
  Reload();
  Check(applied_.count(own()) == 0, "an incarnation is minted once");
}

void Journal::Reload() {
  applied_.clear();
  dropped_.clear();
  tables_.ScanRaw("v", keys::After("v"), [this](std::string_view, std::string_view value) {
    Seen seen;
    if (!seen.ParseFromArray(value.data(), static_cast<int>(value.size())))
      throw KvUnreadable("a version vector does not parse");
    applied_[{seen.origin(), seen.incarnation()}] = seen.sequence();
    return true;
  });
}

void Journal::Ship(const Tables::Shipment& shipment) {
  Frame frame;
  std::size_t bytes = 0;
  for (const auto& [hash, run_id] : shipment) {
    Change change;
    if (hash.empty()) {
      const auto run = tables_.FindRun(run_id);
      if (!run) continue;
      *change.mutable_run() = *run;
    } else {
      const Slot* slot = tables_.FindSlot(hash);
      if (!slot) continue;  // begun and forgotten within one batch
      change.set_surface(slot->surface());
      change.set_tenant(slot->tenant());
      change.set_endpoint(slot->endpoint());
      change.set_key(slot->key());
      for (const Claim& claim : slot->claims())
        if (claim.run_id() == run_id) *change.mutable_claim() = claim;
      if (!change.has_claim()) continue;
      if (auto conflict = ConflictOf(tables_, *slot, change.claim()))
        *change.mutable_conflict() = std::move(*conflict);
    }
    bytes += change.ByteSizeLong();
    *frame.add_changes() = std::move(change);
    if (frame.changes_size() == static_cast<int>(kFrameChangesMax) || bytes >= kFrameBytesMax) {
      Seal(std::move(frame));
      frame = Frame();
      bytes = 0;
    }
  }
  if (frame.changes_size() > 0) Seal(std::move(frame));
}

void Journal::Seal(Frame frame) {
  frame.set_format(kFrameFormat);
  frame.set_origin(region_);
  frame.set_incarnation(incarnation_);
  frame.set_first_sequence(applied_[own()] + 1);
  frame.set_stamp_ms(tables_.head().stamp_ms());
  SealedFrame sealed;
  sealed.set_frame(frame.SerializeAsString());
  sealed.set_signature(sign_(sealed.frame()));
  Append(frame, sealed);
  if (on_frame) on_frame(LastSequence(frame), frame.stamp_ms());
}

bool Journal::IsNext(const Frame& frame) const {
  const auto at = applied_.find({frame.origin(), frame.incarnation()});
  const std::uint64_t applied = at == applied_.end() ? 0 : at->second;
  if (MutationOn("frame-over-gap")) return LastSequence(frame) > applied;
  return frame.first_sequence() <= applied + 1 && LastSequence(frame) > applied;
}

void Journal::Keep(const Frame& frame, const SealedFrame& sealed) {
  Append(frame, sealed);
}

void Journal::Append(const Frame& frame, const SealedFrame& sealed) {
  const Stream stream{frame.origin(), frame.incarnation()};
  tables_.PutRaw(keys::Frame(frame.origin(), frame.incarnation(), frame.first_sequence()),
                 sealed.SerializeAsString());
  SkipTo(stream, LastSequence(frame));
}

void Journal::SkipTo(const Stream& stream, std::uint64_t sequence) {
  applied_[stream] = sequence;
  Seen seen;
  seen.set_origin(stream.first);
  seen.set_incarnation(stream.second);
  seen.set_sequence(sequence);
  tables_.PutRaw(keys::Seen(stream.first, stream.second), seen.SerializeAsString());
}

std::vector<SealedFrame> Journal::After(const Stream& stream, std::uint64_t after,
                                        std::size_t bytes_max) const {
  std::vector<SealedFrame> frames;
  std::size_t bytes = 0;
  const auto& [origin, incarnation] = stream;
  tables_.ScanRaw(keys::Frame(origin, incarnation, after + 1),
                  keys::After(keys::Frames(origin, incarnation)),
                  [&](std::string_view key, std::string_view value) {
                    // A gap: what should come next was dropped.
                    if (frames.empty() && keys::ReadBig64(key.substr(key.size() - 8)) != after + 1)
                      return false;
                    bytes += value.size();
                    if (!frames.empty() && bytes > bytes_max) return false;
                    SealedFrame sealed;
                    if (!sealed.ParseFromArray(value.data(), static_cast<int>(value.size())))
                      throw KvUnreadable("a frame of the journal does not parse");
                    frames.push_back(std::move(sealed));
                    return true;
                  });
  return frames;
}

std::uint64_t Journal::KeptFrom(const Stream& stream) const {
  const auto applied = applied_.find(stream);
  std::uint64_t first = applied == applied_.end() ? 1 : applied->second + 1;
  const std::string prefix = keys::Frames(stream.first, stream.second);
  tables_.ScanRaw(prefix, keys::After(prefix), [&](std::string_view key, std::string_view) {
    first = keys::ReadBig64(key.substr(key.size() - 8));
    return false;
  });
  return first;
}

void Journal::DropUpto(const Stream& stream, std::uint64_t upto) {
  std::uint64_t& dropped = dropped_[stream];
  if (dropped >= upto) return;
  const auto& [origin, incarnation] = stream;
  std::vector<std::string> gone;
  tables_.ScanRaw(keys::Frame(origin, incarnation, dropped + 1),
                  keys::Frame(origin, incarnation, upto + 1),
                  [&](std::string_view key, std::string_view) {
                    gone.emplace_back(key);
                    return true;
                  });
  for (std::string& key : gone) tables_.EraseRaw(std::move(key));
  dropped = upto;
}

void Journal::VisitOwn(
    const std::function<void(const Stream&, std::uint64_t, std::int64_t)>& visit) const {
  struct Said {
    std::int64_t stamp_ms;
    Stream stream;
    std::uint64_t last_sequence;
    auto operator<=>(const Said&) const = default;
  };
  if (MutationOn("gauge-forgets")) return;
  std::vector<Said> all;
  const std::string prefix = "j" + keys::Part(region_);
  tables_.ScanRaw(prefix, keys::After(prefix), [&all](std::string_view, std::string_view value) {
    SealedFrame sealed;
    Frame frame;
    if (!sealed.ParseFromArray(value.data(), static_cast<int>(value.size())) ||
        !frame.ParseFromString(sealed.frame()))
      throw KvUnreadable("a frame of the journal does not parse");
    all.push_back({frame.stamp_ms(), {frame.origin(), frame.incarnation()}, LastSequence(frame)});
    return true;
  });
  std::sort(all.begin(), all.end());
  for (const Said& said : all) visit(said.stream, said.last_sequence, said.stamp_ms);
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
