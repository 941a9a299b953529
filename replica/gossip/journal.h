// The journal: what was said, by whom, in order. Frames of every origin are kept as their origin
// signed them, so that any region can pass them on; they go when every peer has them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "replica/gossip/message.pb.h"
#include "replica/gossip/vector.h"
#include "replica/storage/keys.h"
#include "replica/storage/tables.h"

namespace once {

/// An incarnation is the wall clock's milliseconds at the start, shifted by this, with chance
/// below.
inline constexpr int kIncarnationShift = 20;

inline constexpr std::size_t kFrameChangesMax = 256;
/// A frame ends once it holds so much: with the largest answer that may be stored on top it still
/// fits a message.
inline constexpr std::size_t kFrameBytesMax = 256 * 1024;

/// What is signed to say that a stream has come to `sequence`, with that frame.
std::string SaidBytes(const Stream& stream, std::uint64_t sequence, const std::string& frame_hash);
std::string HashOf(const SealedFrame& sealed);
std::uint64_t LastSequence(const Frame& frame);

/// Signs with this region's key.
using Sign = std::function<std::string(const std::string& bytes)>;

class Journal {
 public:
  /// Reads what the store has. `incarnation` must be new for this region: a restored backup must
  /// not say other things under old numbers. It is raised above all that the store knows of.
  Journal(Tables& tables, std::string region, std::uint64_t incarnation, Sign sign);

  /// Forgets what it knows and reads the store again, after a batch was undone.
  void Reload();

  /// What is merged or said here, durable or about to be.
  const Vector& applied() const { return applied_; }
  const Stream& own() const { return own_; }
  /// From now on this region speaks under `incarnation`, which must be above all of its others.
  void Reincarnate(std::uint64_t incarnation) { own_.second = incarnation; }

  /// Turns what changed since the last flush into signed frames, in the same batch.
  void Ship(const Tables::Shipment& shipment);
  /// Called for every own frame made, before it is durable.
  std::function<void(std::uint64_t last_sequence, std::int64_t stamp_ms)> on_frame;

  /// True when `frame` is the next of its stream, or overlaps it; false for a gap, a repetition and
  /// whatever comes late of a closed stream.
  bool IsNext(const Frame& frame) const;
  /// Goes on with a stream after the baseline, leaving out what it has not heard of it.
  void SkipTo(const Seen& baseline);
  /// Remembers a foreign frame that is being merged, in the batch that merges it. `hash` is its
  /// HashOf.
  void Keep(const Frame& frame, SealedFrame sealed, const std::string& hash);

  /// Every incarnation of the origin up to the sequence is known in full: their entries and frames
  /// go.
  void Close(const Seen& upto);
  /// The same for this region's own, but the entries stay until DropClosed, so that the others can
  /// see what they need to have.
  void BeginClosing(std::uint64_t upto);
  void DropClosed() { Close(EntryOf({region_, 0})); }
  /// How far this region has spoken in one of its streams, closed or not.
  std::uint64_t SpokenUpto(const Stream& own) const;
  /// A peer has more of it than was spoken: it is lacking after all, until that is back.
  void Reopen(const Stream& own);
  /// Nothing of it is known here, and nobody has it any more: it is closed again.
  void CloseAgain(const Stream& own);
  /// Up to where this region's own were closed before the last BeginClosing.
  std::uint64_t closes_after() const { return closes_after_; }

  /// The stream's entry with its origin's word.
  Seen EntryOf(const Stream& stream) const {
    return ReadSeen(keys::Seen(stream.first, stream.second));
  }
  /// An entry of an own stream, up to `sequence`.
  Seen SignedEntry(const Stream& stream, std::uint64_t sequence) const;

  /// Frames of `stream` after the one that ends with `after`, in order, of about `bytes_max` in all
  /// but at least one; empty when there are none, or when they have been dropped. Frames travel
  /// whole, so whoever has `after` has all of its frame.
  std::vector<SealedFrame> After(const Stream& stream, std::uint64_t after,
                                 std::size_t bytes_max) const;
  /// The first sequence that After can still give; one past the last when nothing is kept.
  std::uint64_t KeptFrom(const Stream& stream) const;
  /// Drops frames that every peer has: all of `stream` up to `upto`, or many of them. False: call
  /// it again.
  bool DropUpto(const Stream& stream, std::uint64_t upto);

  /// Own frames that are still kept, of every incarnation, oldest first within each.
  void VisitOwn(const std::function<void(const Stream& stream, std::uint64_t last_sequence,
                                         std::int64_t stamp_ms)>& visit) const;

  /// Frames kept, for tests.
  std::size_t CountFrames() const;

 private:
  void Seal(Frame frame);
  Seen ReadSeen(const std::string& key) const;
  void AddHeld(const std::string& home, Frame& frame) const;
  std::vector<Change> ChangesOf(const std::string& hash, const std::string& run_id);

  Tables& tables_;
  const std::string region_;
  Stream own_;
  std::uint64_t closes_after_ = 0;
  Sign sign_;
  Vector applied_;
  Vector dropped_;  // frames up to here are gone from disk
};

}  // namespace once
