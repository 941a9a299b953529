#include "replica/strict/applied_requests.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "conflict/mutation.h"
#include "conflict/probe.h"

namespace once {
namespace {

constexpr std::uint32_t kAppliedFormat = 1;

using Numbers = google::protobuf::RepeatedField<std::uint64_t>;

// `runs` are borders of stretches, first and last number in turn, rising and apart.
bool Has(const Numbers& runs, std::uint64_t number) {
  for (int i = 0; i + 1 < runs.size(); i += 2)
    if (runs[i] <= number && number <= runs[i + 1]) return true;
  return false;
}

// The next of a row, as nearly all are: then only the last border moves.
bool Extend(Numbers& runs, std::uint64_t number, std::uint64_t oldest) {
  const bool next = runs.size() >= 2 && runs[runs.size() - 1] + 1 == number && runs[1] >= oldest;
  if (next) runs[runs.size() - 1] = number;
  return next;
}

Numbers With(const Numbers& runs, std::uint64_t number, std::uint64_t oldest) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> stretches;
  bool placed = false;
  const auto add = [&stretches](std::uint64_t first, std::uint64_t last) {
    if (!stretches.empty() && stretches.back().second + 1 >= first)
      stretches.back().second = last;
    else
      stretches.emplace_back(first, last);
  };
  for (int i = 0; i + 1 < runs.size(); i += 2) {
    if (!placed && number < runs[i]) placed = true, add(number, number);
    add(runs[i], runs[i + 1]);
  }
  if (!placed) add(number, number);
  Numbers next;
  for (const auto& [first, last] : stretches) {
    if (last < oldest) continue;  // those below are known to be over
    next.Add(first);
    next.Add(last);
  }
  return next;
}

}  // namespace

void AppliedRequests::Forget() {
  if (!MutationOn("requests-kept-over-snapshot")) records_.clear();
}

AppliedRequests::Kept& AppliedRequests::Find(const std::string& member) {
  const auto [at, fresh] = records_.try_emplace(member);
  if (!fresh) return at->second;
  const auto bytes = tables_.ReadRaw(keys::Asker(member));
  if (bytes && !at->second.record.ParseFromString(*bytes)) {
    records_.erase(at);
    throw KvUnreadable("the record of an asker does not parse");
  }
  return at->second;
}

bool AppliedRequests::Add(const StrictAsker& asker, std::uint64_t number) {
  Kept& kept = Find(asker.member());
  AskerRecord& record = kept.record;
  if (asker.boot() < record.boot()) {
    Reached("a request of an earlier start came through the log");
    return false;  // of a process that is no more
  }
  if (asker.boot() > record.boot()) record.Clear();
  record.set_format(kAppliedFormat);
  record.set_boot(asker.boot());
  record.set_oldest(std::max(record.oldest(), asker.oldest()));
  kept.changed = true;
  if (number < record.oldest() || Has(record.applied(), number)) return false;
  if (!Extend(*record.mutable_applied(), number, record.oldest()))
    *record.mutable_applied() = With(record.applied(), number, record.oldest());
  return true;
}

void AppliedRequests::Put() {
  for (auto& [member, kept] : records_)
    if (std::exchange(kept.changed, false))
      tables_.PutRaw(keys::Asker(member), kept.record.SerializeAsString());
}

}  // namespace once
