// A version vector: how far each stream is known.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace once {

/// (origin region, incarnation): one unbroken run of sequences.
using Stream = std::pair<std::string, std::uint64_t>;

/// A sorted map from streams to sequences in one piece of memory: it is small, copied with every
/// batch and compared with every message.
///
/// An entry of incarnation 0 says that every incarnation of that origin up to its value is known in
/// full and closed: entries of their own are then not needed, so that a vector does not grow with
/// every start of a node.
class Vector {
 public:
  using Entry = std::pair<Stream, std::uint64_t>;
  /// Valid until the vector changes.
  using Entries = std::span<const Entry>;

  Vector() = default;
  /// In any order; of two entries of one stream the later one counts.
  explicit Vector(std::vector<Entry> entries);
  explicit Vector(Entries entries) : entries_(entries.begin(), entries.end()) {}

  /// The entry, or null.
  const Entry* Find(const std::string& origin, std::uint64_t incarnation) const;
  /// The sequence of the stream, made with 0 if there is none.
  std::uint64_t& operator[](const Stream& stream);
  void Erase(const Stream& stream);
  void Clear() { entries_.clear(); }

  /// Of one origin, ascending.
  Entries Of(const std::string& origin) const;

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  std::size_t size() const { return entries_.size(); }
  bool operator==(const Vector&) const = default;

 private:
  std::vector<Entry> entries_;
};

/// How far the vector's owner knows the stream: UINT64_MAX when it is closed.
std::uint64_t KnownUpto(const Vector& vector, const Stream& stream);
/// What the vector says of the origin's incarnations up to `upto`, without what closes them.
Vector::Entries EntriesUpto(const Vector& vector, const std::string& origin, std::uint64_t upto);
bool Same(Vector::Entries one, Vector::Entries other);

}  // namespace once
