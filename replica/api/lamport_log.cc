#include "replica/api/lamport_log.h"

#include <algorithm>

namespace once {

LamportLog::Entry LamportLog::Append(const std::string& name, std::uint64_t hint,
                                     std::string payload) {
  Engine& engine = engines_[name];
  engine.clock = std::max(engine.clock, hint) + 1;
  entries_.push_back({engine.clock, name, engine.sequence++, std::move(payload)});
  return entries_.back();
}

std::vector<LamportLog::Entry> LamportLog::Read() const {
  std::vector<Entry> ordered = entries_;
  std::sort(ordered.begin(), ordered.end(),
            [](const Entry& a, const Entry& b) { return a.Order() < b.Order(); });
  return ordered;
}

void LamportLog::Reset() {
  engines_.clear();
  entries_.clear();
}

}  // namespace once
