// A running hash of everything that can be seen of a run, in order: equal seeds must give equal
// hashes.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace once {

class Trace {
  static_assert(std::endian::native == std::endian::little, "words are read as they lie");

 public:
  Trace& Add(std::string_view bytes) {
    Add(static_cast<std::int64_t>(bytes.size()));
    for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data(), sizeof word);
      Mix(word);
    }
    for (const char c : bytes) Mix(static_cast<std::uint8_t>(c));
    return *this;
  }
  Trace& Add(std::int64_t number) {
    Mix(static_cast<std::uint64_t>(number));
    return *this;
  }
  std::uint64_t hash() const { return hash_; }

 private:
  void Mix(std::uint64_t word) {
    hash_ = (hash_ ^ word) * 0x9e3779b97f4a7c15u;
    hash_ ^= hash_ >> 32;
  }

  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

}  // namespace once
