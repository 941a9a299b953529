// Who comes back with less than it had: a peer that was away for longer than the journal reaches,
// or whose directory was emptied or restored from a backup.
#include <algorithm>

#include "conflict/mutation.h"
#include "conflict/probe.h"
#include "replica/gossip/gossip.h"
#include "replica/ledger/command.pb.h"
#include "replica/ledger/run_id.h"

namespace once {
namespace {

constexpr std::uint64_t kChangesPerTick =
    2000;  // about: bounds what one interval adds to the journal
constexpr std::size_t kRunsPerPart = 500;
constexpr int kPartsPerTick = 20;  // of runs, most of which may be of other homes

}  // namespace

std::uint64_t Gossip::DroppedFor(const Peer& peer, const Stream& stream) const {
  const std::uint64_t acknowledged = KnownUpto(peer.acknowledged, stream);
  // It only has to hear that these are closed, and then closes them too.
  const bool closing = !EntriesUpto(durable_, stream.first, KnownUpto(durable_, stream)).empty();
  if (stream.second == 0 && closing && acknowledged == journal_.closes_after()) return 0;
  // First we get back what it has of us, also of what we closed without it: with the baseline it
  // would close that too, and what only it had would be with nobody.
  for (const auto& [own, sequence] :
       EntriesUpto(peer.acknowledged, stream.first, KnownUpto(durable_, stream)))
    if (stream.second == 0 && journal_.SpokenUpto(own) < sequence) return 0;
  // What the journal still has is sent as it is; a peer that is further than it last said is not
  // moved by this.
  const std::uint64_t sequence = journal_.KeptFrom(stream) - 1;
  return sequence > acknowledged ? sequence : 0;
}

bool Gossip::AddBaseline(const Retelling& retelling, const Stream& stream, const Peer& peer,
                         GossipMessage& message) const {
  const std::uint64_t sequence =
      std::min(KnownUpto(retelling.held, stream), journal_.KeptFrom(stream) - 1);
  if (!retelling.last_said || sequence <= KnownUpto(peer.acknowledged, stream) ||
      (KnownUpto(peer.acknowledged, *retelling.last_said) < retelling.last_sequence &&
       !MutationOn("baseline-too-early")))
    return false;
  Seen& baseline = *message.add_baselines();
  const bool own = stream.first == options_.region;
  baseline = own ? journal_.SignedEntry(stream, sequence) : journal_.EntryOf(stream);
  baseline.set_sequence(sequence);
  baseline.set_needs_incarnation(retelling.last_said->second);
  baseline.set_needs_sequence(retelling.last_sequence);
  return true;
}

void Gossip::OfferBaseline(const Stream& stream, Peer& peer, GossipMessage& message) {
  if (DroppedFor(peer, stream) == 0) return;
  const bool covers =
      again_ && KnownUpto(again_->held, stream) > KnownUpto(peer.acknowledged, stream);
  // Once for all that lack something: a round that is under way would miss what it has passed.
  if (!covers && (!again_ || again_->last_said)) RetellOwn(journal_.own().second + 1);
  // What was given back in a stream that the peer leaves out must be given back in another.
  if (covers && AddBaseline(*again_, stream, peer, message)) peer.give_back.reset();
}

void Gossip::Return(const Stream& stream, Peer& peer, GossipMessage& message) {
  const bool lacks_ours = std::any_of(durable_.begin(), durable_.end(), [&](const auto& known) {
    return known.first.first == options_.region && DroppedFor(peer, known.first) != 0;
  });
  if (lacks_ours) return;
  if (!peer.give_back) peer.give_back = Retell(stream.first);
  AddBaseline(*peer.give_back, stream, peer, message);
}

// Only the origin may say so of its own streams, as the transport knows; of ours, whoever gave them
// back to us, if we did say so much.
void Gossip::TakeBaseline(const std::string& from, const Seen& baseline) {
  const Stream stream{baseline.origin(), baseline.incarnation()};
  const bool ours = stream.first == options_.region;
  if (!ours && stream.first != from) return Refuse(from);
  if (KnownUpto(journal_.applied(), stream) >= baseline.sequence()) return;
  if (KnownUpto(journal_.applied(), {from, baseline.needs_incarnation()}) <
          baseline.needs_sequence() &&
      !MutationOn("baseline-too-early"))
    return;  // it is late, or for what we were
  const std::uint64_t upto = stream.second == 0 ? baseline.sequence() : stream.second;
  if (ours && (upto >= journal_.own().second || !HaveLost(baseline))) return;
  Reached("a baseline stood for dropped frames");
  // The others closed streams of ours that are open here: a copy of this directory, or what it was
  // before a backup, spoke for us meanwhile. What of them was not heard by then is taken in another
  // stream only.
  const bool open =
      ours && stream.second == 0 && !EntriesUpto(journal_.applied(), stream.first, upto).empty();
  stream.second == 0 ? journal_.Close(baseline) : journal_.SkipTo(baseline);
  if (open) RetellOwn(journal_.own().second + 1);
  replica_.MakeDurable();
}

// Only our own word proves that we lost something.
bool Gossip::HaveLost(const Seen& ours) const {
  const Stream stream{ours.origin(), ours.incarnation()};
  const Said& said = ours.said();
  return stream.first == options_.region && ours.sequence() <= said.sequence() &&
         journal_.SpokenUpto(stream) < ours.sequence() &&
         verify_(stream.first, SaidBytes(stream, said.sequence(), said.frame_hash()),
                 said.signature());
}

void Gossip::Reopen(const Seen& ours) {
  const Stream stream{ours.origin(), ours.incarnation()};
  if (stream.second == 0 || KnownUpto(journal_.applied(), stream) != UINT64_MAX || !HaveLost(ours))
    return;
  journal_.Reopen(stream);
  replica_.MakeDurable();
}

void Gossip::HearOfOurselves(const std::string& from, const Vector& heard) {
  const std::uint64_t present = journal_.own().second;
  std::uint64_t highest = KnownUpto(heard, {options_.region, 0});
  for (const auto& [stream, sequence] : EntriesUpto(heard, options_.region, UINT64_MAX))
    if (stream.second != present) highest = std::max(highest, stream.second);
  if (highest < present) return;
  // Our clock was behind when we started, on a directory that did not know better. What we said
  // since may pass for something old, so it is said again under a number that is above all.
  const auto latest_ms =
      static_cast<std::uint64_t>(replica_.NowMillis() + options_.skew_bound_ms + 1);
  if (highest >> kIncarnationShift > latest_ms) return Refuse(from);
  Reached("a region heard that it had spoken under a higher number");
  RetellOwn(highest + 1);
}

std::shared_ptr<Gossip::Retelling> Gossip::Retell(const std::string& home) const {
  auto retelling = std::make_shared<Retelling>();
  retelling->home = home;
  retelling->held = Vector(EntriesUpto(durable_, home, UINT64_MAX));
  retelling->held[{home, 0}] = KnownUpto(durable_, {home, 0});
  return retelling;
}

void Gossip::RetellOwn(std::uint64_t incarnation) {
  again_ = Retell(options_.region);
  moment_.reset();  // that was before
  journal_.Reincarnate(incarnation);
  digest_.reset();
}

void Gossip::SayRuns(const std::shared_ptr<Retelling>& retelling) {
  std::vector<std::string> page;
  try {
    page = replica_.tables().RunsAfter(retelling->last_run, kRunsPerPart);
  } catch (const KvUnreadable&) {
    retelling->failed = true;
    return;
  }
  retelling->runs_said = page.empty() || MutationOn("keyless-runs-forgotten");
  if (retelling->runs_said) return;
  retelling->last_run = page.back();
  std::erase_if(page, [code = RegionCode(retelling->home)](const std::string& run_id) {
    const std::string_view home = RunIdCode(run_id);
    return !home.empty() && home != code;
  });
  if (page.empty()) return;
  Command command;
  command.mutable_reassert()->set_region(retelling->home);
  *command.mutable_reassert()->mutable_run_ids() = {page.begin(), page.end()};
  replica_.Submit(std::move(command), [retelling](const Answer& answer) {
    retelling->failed |= answer.kind != Answer::Kind::kDone;
  });
}

void Gossip::GoOn(const std::shared_ptr<Retelling>& retelling) {
  if (!retelling || retelling->under_way || retelling->last_said) return;
  retelling->under_way = true;
  retelling->failed = false;
  const auto said = [this] {
    return KnownUpto(journal_.applied(), journal_.own()) + replica_.tables().unshipped();
  };
  const std::uint64_t enough = said() + kChangesPerTick;
  for (int parts = 0;
       parts < kPartsPerTick && !retelling->runs_said && !retelling->failed && said() < enough;
       ++parts)
    SayRuns(retelling);
  while (retelling->runs_said && retelling->next_bucket < kBuckets && !retelling->failed &&
         said() < enough) {
    Command command;
    command.mutable_reassert()->set_bucket(retelling->next_bucket);
    retelling->next_bucket += MutationOn("retold-by-halves") ? 2 : 1;
    command.mutable_reassert()->set_region(retelling->home);
    replica_.Submit(command, [retelling](const Answer& answer) {
      retelling->failed |= answer.kind != Answer::Kind::kDone;
    });
  }
  const auto durable = [this, retelling, alive = alive_](Tables&) {
    if (!*alive) return;
    retelling->under_way = false;
    if (retelling->failed) {  // from the start, when there is room
      retelling->last_run.clear();
      retelling->runs_said = false;
      retelling->next_bucket = 0;
    }
    if (retelling->next_bucket < kBuckets) return;
    if (retelling == again_) moment_.reset();  // part of it may be from before the last word
    retelling->last_said = journal_.own();
    retelling->last_sequence = KnownUpto(durable_, journal_.own());
  };
  replica_.Read(durable, [retelling] { retelling->under_way = false; });
}

void Gossip::GoOnWithAll() {
  // Nobody can get any more what it said.
  if (again_ && again_->last_said && KnownUpto(durable_, *again_->last_said) == UINT64_MAX)
    again_.reset();
  GoOn(again_);
  for (auto& [name, peer] : peers_) {
    const auto has = [&acknowledged = peer.acknowledged](const auto& known) {
      return KnownUpto(acknowledged, known.first) >= known.second;
    };
    if (peer.give_back &&
        std::all_of(peer.give_back->held.begin(), peer.give_back->held.end(), has))
      peer.give_back.reset();
    GoOn(peer.give_back);
  }
}

}  // namespace once
