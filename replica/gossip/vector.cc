#include "replica/gossip/vector.h"

#include <algorithm>

namespace once {
namespace {

constexpr std::size_t kFew = 32;

}  // namespace

Vector::Vector(std::vector<Entry> entries) : entries_(std::move(entries)) {
  const auto order = [](const Entry& a, const Entry& b) { return a.first < b.first; };
  // As our own are sent: in ascending order, each once.
  const auto not_above = [&](const Entry& a, const Entry& b) { return !order(a, b); };
  if (std::adjacent_find(entries_.begin(), entries_.end(), not_above) == entries_.end()) return;
  std::stable_sort(entries_.begin(), entries_.end(), order);
  std::vector<Entry> once;
  for (Entry& entry : entries_) {
    if (!once.empty() && once.back().first == entry.first) once.pop_back();
    once.push_back(std::move(entry));
  }
  entries_ = std::move(once);
}

const Vector::Entry* Vector::Find(const std::string& origin, std::uint64_t incarnation) const {
  const auto is = [&](const Entry& entry) {
    return entry.first.second == incarnation && entry.first.first == origin;
  };
  // Incarnations are hardly ever equal: looking at those of a few entries beats any search.
  auto at = entries_.begin();
  if (entries_.size() <= kFew)
    at = std::find_if(at, entries_.end(), is);
  else
    at = std::lower_bound(at, entries_.end(), Stream(origin, incarnation),
                          [](const Entry& a, const Stream& b) { return a.first < b; });
  return at != entries_.end() && is(*at) ? &*at : nullptr;
}

std::uint64_t& Vector::operator[](const Stream& stream) {
  if (const Entry* entry = Find(stream.first, stream.second))
    return entries_[static_cast<std::size_t>(entry - entries_.data())].second;
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), stream,
                                   [](const Entry& a, const Stream& b) { return a.first < b; });
  return entries_.emplace(at, stream, 0)->second;
}

void Vector::Erase(const Stream& stream) {
  std::erase_if(entries_, [&stream](const Entry& entry) { return entry.first == stream; });
}

Vector::Entries Vector::Of(const std::string& origin) const {
  const auto is = [&origin](const Entry& entry) { return entry.first.first == origin; };
  const auto from = std::find_if(entries_.begin(), entries_.end(), is);
  return {from, std::find_if_not(from, entries_.end(), is)};
}

std::uint64_t KnownUpto(const Vector& vector, const Stream& stream) {
  if (const Vector::Entry* entry = vector.Find(stream.first, stream.second)) return entry->second;
  const Vector::Entry* closed = vector.Find(stream.first, 0);
  return closed && stream.second != 0 && closed->second >= stream.second ? UINT64_MAX : 0;
}

Vector::Entries EntriesUpto(const Vector& vector, const std::string& origin, std::uint64_t upto) {
  Vector::Entries entries = vector.Of(origin);
  while (!entries.empty() && entries.front().first.second == 0) entries = entries.subspan(1);
  while (!entries.empty() && entries.back().first.second > upto)
    entries = entries.first(entries.size() - 1);
  return entries;
}

bool Same(Vector::Entries one, Vector::Entries other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end());
}

}  // namespace once
