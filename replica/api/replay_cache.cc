#include "replica/api/replay_cache.h"

#include <cstring>
#include <utility>

namespace once {
namespace {

// Nodes, strings and headers, beside the texts themselves.
constexpr std::size_t kEntryOverheadBytes = 400;

}  // namespace

std::size_t ReplayCache::FirstBytes::operator()(std::string_view hash) const {
  std::size_t first = 0;
  std::memcpy(&first, hash.data(), std::min(sizeof first, hash.size()));
  return first;
}

const HttpReply* ReplayCache::Find(std::string_view slot_hash, std::string_view fingerprint,
                                   std::int64_t now_ms) {
  auto at = young_.find(slot_hash);
  if (at == young_.end()) {
    const auto aged = old_.find(slot_hash);
    if (aged == old_.end()) return nullptr;
    auto node = old_.extract(aged);
    MakeRoom(node.mapped().bytes);
    at = young_.insert(std::move(node)).position;
  }
  const Entry& entry = at->second;
  if (entry.fingerprint != fingerprint || now_ms >= entry.expires_ms) return nullptr;
  return &entry.reply;
}

void ReplayCache::Put(std::string_view slot_hash, std::string_view fingerprint,
                      std::int64_t expires_ms, const HttpReply& reply) {
  Remove(slot_hash);
  const std::size_t bytes = kEntryOverheadBytes + reply.body.size();
  if (bytes > generation_bytes_max_ / 8) return;  // one answer must not push out all others
  MakeRoom(bytes);
  young_.emplace(slot_hash, Entry{std::string(fingerprint), expires_ms, reply, bytes});
}

void ReplayCache::MakeRoom(std::size_t bytes) {
  if (young_bytes_ + bytes > generation_bytes_max_) {
    old_ = std::exchange(young_, {});
    young_bytes_ = 0;
  }
  young_bytes_ += bytes;
}

void ReplayCache::Erase(std::string_view slot_hash) {
  ++changes_;
  Remove(slot_hash);
}

void ReplayCache::Remove(std::string_view slot_hash) {
  if (const auto at = young_.find(slot_hash); at != young_.end()) {
    young_bytes_ -= at->second.bytes;
    young_.erase(at);
  }
  if (const auto at = old_.find(slot_hash); at != old_.end()) old_.erase(at);
}

void ReplayCache::Clear() {
  ++changes_;
  young_.clear();
  old_.clear();
  young_bytes_ = 0;
}

}  // namespace once
