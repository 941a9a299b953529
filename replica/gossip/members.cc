// What every member has, and so nobody needs to keep for the others.
#include <algorithm>

#include "conflict/mutation.h"
#include "replica/gossip/gossip.h"

namespace once {

// It comes back by a baseline: everything is said again, both ways.
bool Gossip::IsWaitedFor(const Peer& peer) const {
  return NowMicros() - peer.last_heard_us <= options_.silence_ms_max * 1000;
}

bool Gossip::HasAll(const Vector& vector) const {
  return std::all_of(peers_.begin(), peers_.end(), [&](const auto& entry) {
    const Peer& peer = entry.second;
    if (!IsWaitedFor(peer) || peer.acknowledged == vector) return true;
    return std::all_of(vector.begin(), vector.end(), [&peer](const auto& known) {
      return KnownUpto(peer.acknowledged, known.first) >= known.second;
    });
  });
}

// A peer that closed more of our streams than we did heard that from a copy of our directory, or
// from what we were before we lost something: what we have of them it may never have had. We close
// them as well and say all again; until that is said, nobody has it.
bool Gossip::MayLackWhatCameBack(const Peer& peer) const {
  const Stream closed{options_.region, 0};
  return KnownUpto(peer.acknowledged, closed) > KnownUpto(journal_.applied(), closed);
}

// The peer has some of a stream that is over, and that we lost or never had. An early state of what
// we have may be in it; whoever had forgotten that would take it for something new.
bool Gossip::MayHearOfThePast(const Peer& peer) const {
  for (auto at = peer.acknowledged.begin(); at != peer.acknowledged.end(); ++at) {
    const auto& [stream, sequence] = *at;
    const bool own = stream.first == options_.region;
    if (stream.second == 0 || stream == journal_.own()) continue;
    if (!own && !peers_.count(stream.first)) continue;
    const auto next = std::next(at);
    const bool over = own || (next != peer.acknowledged.end() && next->first.first == stream.first);
    if (over && KnownUpto(journal_.applied(), stream) < sequence) return true;
  }
  return false;
}

bool Gossip::IsAllSaidAndHeard() const {
  if (again_ && !again_->last_said) return false;
  return std::none_of(peers_.begin(), peers_.end(), [this](const auto& entry) {
    const Peer& peer = entry.second;
    return IsWaitedFor(peer) && (MayLackWhatCameBack(peer) || MayHearOfThePast(peer));
  });
}

void Gossip::UpdateCover() {
  if (!moment_ || !HasAll(moment_->vector) || !IsAllSaidAndHeard()) return;
  covered_ms_ = moment_->stamp_ms;
  moment_.reset();
}

void Gossip::DropWhatAllHave() {
  // Only what somebody has now and had not, or that one is not waited for, makes a difference.
  std::uint64_t changes = durable_changes_;
  bool silent = false;
  for (const auto& [name, peer] : peers_) {
    changes += peer.changes;
    silent |= IsSilent(peer);
  }
  if (dropped_at_ == changes && !silent) return;
  bool all = true;
  for (const auto& [stream, have] : durable_) {
    if (stream.second == 0) continue;
    std::uint64_t everywhere = have;
    for (const auto& [name, peer] : peers_)
      if (name != stream.first && IsWaitedFor(peer))
        everywhere = std::min(everywhere, KnownUpto(peer.acknowledged, stream));
    // Beyond the bound a peer that comes back hears everything again instead.
    if (have > options_.journal_changes_max)
      everywhere = std::max(everywhere, have - options_.journal_changes_max);
    if (everywhere > 0 && !journal_.DropUpto(stream, everywhere)) all = false;
  }
  if (all) dropped_at_ = changes;
}

// A peer had more of a stream of ours that we do not know, so it is listed with 0, until the peer
// has given it back. If the peer loses it too, that never comes, and as nobody else can list the
// stream it would never be closed again. When somebody does come with it, it is reopened.
void Gossip::CloseWhatIsLost() {
  const auto may_come_back = [this](const Stream& stream) {
    return std::any_of(peers_.begin(), peers_.end(), [&](const auto& entry) {
      const Peer& peer = entry.second;
      const auto has = [&stream](const Vector& vector) {
        const Vector::Entry* const known = vector.Find(stream.first, stream.second);
        return known && known->second > 0;
      };
      return IsWaitedFor(peer) && (!peer.heard || has(peer.acknowledged) || has(peer.last));
    });
  };
  const auto& [region, incarnation] = journal_.own();
  const Vector own(EntriesUpto(journal_.applied(), region, incarnation - 1));
  for (const auto& [stream, sequence] : own) {
    if (sequence > 0 || may_come_back(stream)) continue;
    journal_.CloseAgain(stream);
    replica_.MakeDurable();
  }
}

// Entries of what was said before this start go in two steps. First we say that those streams are
// closed, once every member has exactly what we have of them: so nobody has words of ours that we
// lost. Whoever hears that and still has them all closes them too; when all have, the entries go.
void Gossip::CloseOwn() {
  if (MutationOn("streams-never-closed")) return;
  const auto& [region, incarnation] = journal_.own();
  const Vector::Entries old = EntriesUpto(durable_, region, incarnation - 1);
  if (old.empty() || !Same(old, EntriesUpto(journal_.applied(), region, incarnation - 1))) return;
  const std::uint64_t closed = KnownUpto(journal_.applied(), {region, 0});
  const bool closing = old.front().first.second <= closed;
  for (const auto& [name, peer] : peers_) {
    if (!IsWaitedFor(peer)) continue;
    const std::uint64_t theirs = KnownUpto(peer.acknowledged, {region, 0});
    if (!peer.heard || theirs != closed) return;
    if (!closing && !Same(EntriesUpto(peer.acknowledged, region, incarnation - 1), old)) return;
  }
  const bool reopened = old.front().first.second <= journal_.closes_after();
  closing ? journal_.DropClosed() : journal_.BeginClosing(old.back().first.second);
  // The others had closed them as well, and have not heard what came back.
  if (reopened) RetellOwn(incarnation + 1);
  replica_.MakeDurable();
}

void Gossip::CloseTheirs(const std::string& from, const Vector& heard, const Seen& closed) {
  const std::uint64_t upto = closed.sequence();
  const std::uint64_t ours = KnownUpto(journal_.applied(), {from, 0});
  // One who lacks more than the last step is given a baseline instead.
  if (ours >= upto || ours != closed.closes_after()) return;
  // Up to `ours` there may be some that were closed and are listed again: what comes back of them
  // is said anew when they are closed again, so they are none of this step.
  const auto step = [ours](Vector::Entries entries) {
    while (!entries.empty() && entries.front().first.second <= ours) entries = entries.subspan(1);
    return entries;
  };
  if (!Same(step(EntriesUpto(journal_.applied(), from, upto)),
            step(EntriesUpto(heard, from, upto))))
    return;
  journal_.Close(closed);
  replica_.MakeDurable();
}

}  // namespace once
