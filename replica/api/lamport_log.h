// Events of several engines in one order: Lamport's clock, then engine, then sequence.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace once {

class LamportLog {
 public:
  struct Entry {
    std::uint64_t lamport = 0;
    std::string engine;
    std::uint64_t sequence = 0;  // rises by one per engine
    std::string payload;         // JSON text
    auto Order() const { return std::tie(lamport, engine, sequence); }
  };

  /// The engine's clock becomes max(its clock, `hint`) + 1 and stamps the event. `hint` is the
  /// highest clock the engine has heard of.
  Entry Append(const std::string& engine, std::uint64_t hint, std::string payload);
  /// All events in order of (lamport, engine, sequence).
  std::vector<Entry> Read() const;
  void Reset();
  std::size_t size() const { return entries_.size(); }

 private:
  struct Engine {
    std::uint64_t clock = 0;
    std::uint64_t sequence = 0;
  };
  std::map<std::string, Engine> engines_;
  std::vector<Entry> entries_;
};

}  // namespace once
