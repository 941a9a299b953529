#include "replica/strict/outgoing_snapshot.h"

#include <utility>

namespace once {

OutgoingSnapshot::OutgoingSnapshot(std::uint64_t index, std::unique_ptr<FrozenState> state,
                                   std::size_t piece_bytes)
    : index_(index), state_(std::move(state)), piece_bytes_(piece_bytes), places_{{0, ""}} {}

OutgoingSnapshot::Piece OutgoingSnapshot::Read(std::uint64_t offset) {
  auto place = places_.find(offset);
  if (place == places_.end()) place = places_.begin();
  FrozenState::Piece piece = state_->Read(place->second, piece_bytes_);
  const std::uint64_t end = place->first + piece.bytes.size();
  if (!piece.last && places_.try_emplace(end, piece.end).second)
    places_bytes_ += sizeof end + piece.end.size();
  return {place->first, std::move(piece.bytes), piece.last};
}

}  // namespace once
