#include "simulator/link_watch.h"

#include <algorithm>

#include "conflict/probe.h"

namespace once {

LinkWatch::LinkWatch(Cluster& cluster, const Faults& faults, std::int64_t interval_ms)
    : cluster_(cluster),
      faults_(faults),
      interval_ms_(interval_ms),
      start_us_(cluster.time().MonotonicMicros()) {}

std::int64_t LinkWatch::NowMillis() const {
  return (cluster_.time().MonotonicMicros() - start_us_) / 1000;
}

void LinkWatch::Start() {
  cluster_.time().After(interval_ms_, [this] {
    Look();
    Start();
  });
}

void LinkWatch::Look() {
  std::vector<std::pair<const std::string&, const Journal&>> up;
  for (const std::string& region : cluster_.regions())
    if (cluster_.IsUp(region)) up.emplace_back(region, cluster_.gossip(region).journal());
  for (const auto& [region, journal] : up) NoteSaid(region, journal);
  for (const auto& [from, said] : up)
    for (const auto& [to, journal] : up)
      if (&from != &to) Compare(from, to, journal.applied());
  // What it has caught up with must outlive a crash before it counts.
  std::erase_if(excused_, [this](const auto& pair) {
    return cluster_.IsUp(pair.first) && cluster_.IsUp(pair.second) &&
           MissingFor(pair.first, cluster_.gossip(pair.second).durable()) == 0;
  });
}

void LinkWatch::NoteSaid(const std::string& region, const Journal& journal) {
  auto& streams = said_[region];
  streams[journal.own().second];
  for (auto& [incarnation, said] : streams) {
    // A batch that was undone, or lost in a crash, takes back what nobody was told.
    const std::uint64_t sequence = KnownUpto(journal.applied(), {region, incarnation});
    if (sequence == UINT64_MAX) continue;  // closed: all have it
    while (!said.empty() && said.back().sequence > sequence) said.pop_back();
    if (sequence > 0 && (said.empty() || said.back().sequence < sequence))
      said.push_back({sequence, NowMillis()});
  }
}

void LinkWatch::Excuse(const std::string& region) {
  for (const std::string& from : cluster_.regions()) excused_.insert({from, region});
  said_.erase(region);
}

std::int64_t LinkWatch::MissingFor(const std::string& from, const Vector& has) {
  const std::int64_t now_ms = NowMillis();
  std::int64_t age_ms = 0;
  for (const auto& [incarnation, said] : said_[from]) {
    const std::uint64_t sequence = KnownUpto(has, {from, incarnation});
    if (said.empty() || sequence >= said.back().sequence) continue;
    const auto missing = std::find_if(said.begin(), said.end(), [sequence](const Said& each) {
      return each.sequence > sequence;
    });
    age_ms = std::max(age_ms, now_ms - missing->at_ms);
  }
  return age_ms;
}

bool LinkWatch::IsDropped(const std::string& from, const Vector& has) const {
  const Journal& journal = cluster_.gossip(from).journal();
  const auto own = journal.applied().Of(from);
  return std::any_of(own.begin(), own.end(), [&](const Vector::Entry& entry) {
    const auto& [stream, sequence] = entry;
    const std::uint64_t known = KnownUpto(has, stream);
    // Closed without it.
    if (stream.second == 0)
      return known < sequence && EntriesUpto(journal.applied(), from, sequence).empty();
    return known < sequence && journal.KeptFrom(stream) > known + 1;
  });
}

std::size_t LinkWatch::BytesLacking(const std::string& from, const Vector& has) const {
  const Journal& journal = cluster_.gossip(from).journal();
  std::size_t bytes = 0;
  for (const auto& [stream, sequence] : journal.applied()) {
    const std::uint64_t known = KnownUpto(has, stream);
    if (stream.second == 0 || known >= sequence) continue;
    for (const SealedFrame& sealed : journal.After(stream, known, SIZE_MAX))
      bytes += sealed.ByteSizeLong();
  }
  return bytes;
}

void LinkWatch::Compare(const std::string& from, const std::string& to, const Vector& has) {
  const std::int64_t now_ms = NowMillis();
  const std::int64_t age_ms = MissingFor(from, has);
  std::size_t& piled_bytes = piled_bytes_[{from, to}];
  // What no world piles up goes at once through the usual window, on links that take everything.
  const bool narrow = cluster_.options().gossip.window_bytes < GossipOptions().window_bytes ||
                      cluster_.network().rules().bytes_per_ms > 0;
  if (age_ms == 0) piled_bytes = 0;
  if (age_ms > 0 && narrow) piled_bytes = std::max(piled_bytes, BytesLacking(from, has));
  if (age_ms == 0 || excused_.count({from, to})) return;
  if (IsDropped(from, has)) {
    Reached("a peer lacked what the journal had dropped");
    excused_.insert({from, to});
    return;
  }
  const double gauge = cluster_.gossip(from).StateOf(to).partition_seconds;
  divergences_.push_back({now_ms, from, to, age_ms, static_cast<std::int64_t>(gauge * 1000),
                          now_ms - faults_.CleanSinceMillis(from, to), piled_bytes});
}

}  // namespace once
