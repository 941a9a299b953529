// A snapshot that a leader sends, in pieces that are read when they are wanted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "replica/strict/engine.h"

namespace once {

/// Serves any number of receivers, each at its own offset. In memory are the places of the pieces
/// that were sent, not their bytes.
class OutgoingSnapshot {
 public:
  OutgoingSnapshot(std::uint64_t index, std::unique_ptr<FrozenState> state,
                   std::size_t piece_bytes);

  struct Piece {
    std::uint64_t offset = 0;
    std::string bytes;
    bool last = false;
  };
  /// The piece at `offset`, which is 0 or where one that was read ended. Of anything else the first
  /// piece: the receiver begins anew. May throw KvUnreadable.
  Piece Read(std::uint64_t offset);

  std::uint64_t index() const { return index_; }
  /// What it takes in memory, beside what the store keeps for it.
  std::size_t bytes() const { return places_bytes_; }

 private:
  const std::uint64_t index_;
  const std::unique_ptr<FrozenState> state_;
  const std::size_t piece_bytes_;
  std::map<std::uint64_t, std::string> places_;  // where a piece begins, by offset
  std::size_t places_bytes_ = 0;
};

}  // namespace once
