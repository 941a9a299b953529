// Looks at every pair of regions now and then, and notes what one of them still lacks of the other:
// the truth that replication lag and the partition gauge are held against.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simulator/cluster.h"
#include "simulator/faults.h"

namespace once {

/// At `at_ms`, `to` lacked something that `from` had said `age_ms` ago or earlier.
struct Divergence {
  std::int64_t at_ms = 0;
  std::string from;
  std::string to;
  std::int64_t age_ms = 0;
  std::int64_t gauge_ms = 0;      // what `from` reports about `to`
  std::int64_t clean_for_ms = 0;  // how long both and the links between them have been well
  std::size_t piled_bytes = 0;    // so much at most `to` has lacked since it lacked nothing
};

class LinkWatch {
 public:
  /// All must outlive the watch, and the watch every task of the cluster's scheduler.
  LinkWatch(Cluster& cluster, const Faults& faults, std::int64_t interval_ms);

  void Start();
  /// Its directory was replaced: what it lacks is no fault of a link until it has caught up once,
  /// and what it gets back of its own past is no news.
  void Excuse(const std::string& region);
  const std::vector<Divergence>& divergences() const { return divergences_; }

 private:
  struct Said {
    std::uint64_t sequence;
    std::int64_t at_ms;
  };
  void Look();
  void NoteSaid(const std::string& region, const Journal& journal);
  /// For how long that vector has lacked something that `from` had said.
  std::int64_t MissingFor(const std::string& from, const Vector& has);
  /// That vector lacks what the journal does not have any more: all is said again.
  bool IsDropped(const std::string& from, const Vector& has) const;
  /// Of all that `from` keeps, also of others.
  std::size_t BytesLacking(const std::string& from, const Vector& has) const;
  void Compare(const std::string& from, const std::string& to, const Vector& has);
  std::int64_t NowMillis() const;

  Cluster& cluster_;
  const Faults& faults_;
  const std::int64_t interval_ms_;
  const std::int64_t start_us_;
  /// By region and incarnation, oldest first.
  std::map<std::string, std::map<std::uint64_t, std::deque<Said>>> said_;
  std::set<std::pair<std::string, std::string>> excused_;  // (from, to), until it has caught up
  std::map<std::pair<std::string, std::string>, std::size_t> piled_bytes_;  // (from, to), the same
  std::vector<Divergence> divergences_;
};

}  // namespace once
