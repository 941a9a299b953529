#include "replica/storage/expiry_index.h"

#include <algorithm>
#include <limits>

#include "replica/storage/tables.h"

namespace once {
namespace {

// Beyond that, ids of the same millisecond get entries of their own: whoever aims at one
// millisecond must not make an entry that is costly to change.
constexpr std::size_t kEntryBytesMax = 8192;

using Ids = std::vector<std::string_view>;

Ids Unpack(std::string_view packed) {
  Ids ids;
  while (!packed.empty()) {
    const auto id = keys::TakePart(packed);
    if (!id) throw KvUnreadable("an entry of the expiry index does not parse");
    ids.push_back(*id);
  }
  return ids;
}

std::string Pack(Ids::const_iterator from, Ids::const_iterator to) {
  std::string packed;
  for (; from != to; ++from) keys::AppendPart(packed, *from);
  return packed;
}

}  // namespace

void ExpiryIndex::Put(keys::Expiring kind, std::int64_t at_ms, std::string_view id) {
  keys::AppendPart(open_[{kind, at_ms}], id);
}

// What is written is no longer open before the next entry is read, which may throw.
void ExpiryIndex::Write() {
  for (auto at = open_.begin(); at != open_.end(); at = open_.erase(at)) {
    const auto& [place, packed] = *at;
    const std::string key = keys::ExpiryTime(place.first, place.second);
    std::string entry = tables_.ReadRaw(key).value_or("");
    for (const std::string_view id : Unpack(packed)) {
      if (entry.size() < kEntryBytesMax)
        keys::AppendPart(entry, id);
      else
        tables_.PutRaw(key + std::string(id), "");
    }
    tables_.PutRaw(key, std::move(entry));
  }
}

void ExpiryIndex::Erase(keys::Expiring kind, std::int64_t at_ms, std::string_view id) {
  Write();
  const std::string key = keys::ExpiryTime(kind, at_ms);
  if (const auto entry = tables_.ReadRaw(key)) {
    Ids ids = Unpack(*entry);
    if (std::erase(ids, id) > 0) {
      if (ids.empty()) return tables_.EraseRaw(key);
      return tables_.PutRaw(key, Pack(ids.begin(), ids.end()));
    }
  }
  if (tables_.ReadRaw(key + std::string(id))) tables_.EraseRaw(key + std::string(id));
}

template <typename Visit>
void ExpiryIndex::Scan(keys::Expiring kind, std::int64_t from_ms, std::int64_t until_ms,
                       const Visit& visit) {
  if (until_ms < from_ms) return;
  Write();
  tables_.ScanRaw(keys::ExpiryTime(kind, from_ms), keys::ExpiryTime(kind, until_ms + 1),
                  [&visit](std::string_view key, std::string_view value) {
                    const std::string_view time = key.substr(keys::kExpiryKindBytes);
                    const std::string_view id = key.substr(keys::kExpiryPrefixBytes);
                    return visit(key, static_cast<std::int64_t>(keys::ReadBig64(time)),
                                 id.empty() ? Unpack(value) : Ids{id});
                  });
}

std::vector<ExpiryIndex::Due> ExpiryIndex::Oldest(keys::Expiring kind, std::int64_t until_ms,
                                                  std::size_t limit) {
  std::vector<Due> due;
  Scan(kind, 0, until_ms, [&](std::string_view, std::int64_t at_ms, const Ids& ids) {
    for (const std::string_view id : ids) {
      if (due.size() == limit) return false;
      due.push_back({at_ms, std::string(id)});
    }
    return true;
  });
  return due;
}

std::vector<ExpiryIndex::Due> ExpiryIndex::From(keys::Expiring kind, std::int64_t from_ms,
                                                std::size_t limit) {
  constexpr std::int64_t kLastMs = std::numeric_limits<std::int64_t>::max() - 1;
  std::vector<Due> due;
  Scan(kind, from_ms, kLastMs, [&](std::string_view, std::int64_t at_ms, const Ids& ids) {
    if (due.size() >= limit && due.back().at_ms != at_ms) return false;
    for (const std::string_view id : ids) due.push_back({at_ms, std::string(id)});
    return true;
  });
  return due;
}

std::vector<ExpiryIndex::Due> ExpiryIndex::Take(keys::Expiring kind, std::int64_t until_ms,
                                                std::size_t limit) {
  std::vector<Due> due;
  std::vector<std::string> taken;
  std::string rest;  // of the last entry
  Scan(kind, 0, until_ms, [&](std::string_view key, std::int64_t at_ms, const Ids& ids) {
    auto id = ids.begin();
    for (; id != ids.end() && due.size() < limit; ++id) due.push_back({at_ms, std::string(*id)});
    if (id == ids.begin()) return false;
    taken.emplace_back(key);
    rest = Pack(id, ids.end());
    return rest.empty();
  });
  if (!rest.empty()) {
    tables_.PutRaw(std::move(taken.back()), std::move(rest));
    taken.pop_back();
  }
  for (std::string& key : taken) tables_.EraseRaw(std::move(key));
  return due;
}

}  // namespace once
