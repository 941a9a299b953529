// The flat vector against a map of the same entries.
#include "replica/gossip/vector.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

namespace once {
namespace {

using VectorModel = std::map<Stream, std::uint64_t>;

std::vector<Vector::Entry> AnyEntries() {
  const auto size = *rc::gen::inRange(0, 60);  // on both sides of where it searches otherwise
  std::vector<Vector::Entry> entries;
  for (int i = 0; i < size; ++i) {
    const std::string origin = *rc::gen::element<std::string>("ap", "eu", "eu-west-1", "us");
    entries.emplace_back(Stream(origin, *rc::gen::inRange<std::uint64_t>(0, 12)),
                         *rc::gen::inRange<std::uint64_t>(0, 12));
  }
  return entries;
}

Stream AnyStream() {
  return {*rc::gen::element<std::string>("ap", "eu", "us", "za"),
          *rc::gen::inRange<std::uint64_t>(0, 13)};
}

// As PROTOCOL.md says it.
std::uint64_t KnownUptoByModel(const VectorModel& model, const Stream& stream) {
  if (const auto at = model.find(stream); at != model.end()) return at->second;
  const auto closed = model.find({stream.first, 0});
  const bool is_closed =
      stream.second != 0 && closed != model.end() && closed->second >= stream.second;
  return is_closed ? UINT64_MAX : 0;
}

TEST(Vector, HoldsWhatAMapHoldsWhateverTheOrderAndTheLastOfAStreamCounts) {
  EXPECT_TRUE(rc::check([] {
    const auto entries = AnyEntries();
    VectorModel model;
    for (const auto& [stream, sequence] : entries) model[stream] = sequence;
    Vector vector(entries);
    const auto same = [&] {
      return std::equal(
          vector.begin(), vector.end(), model.begin(), model.end(),
          [](const auto& a, const auto& b) { return a.first == b.first && a.second == b.second; });
    };
    RC_ASSERT(same());
    const Stream changed = AnyStream(), erased = AnyStream();
    vector[changed] = 7, model[changed] = 7;
    RC_ASSERT(same());
    vector.Erase(erased), model.erase(erased);
    RC_ASSERT(same());
    Vector grown;
    for (const auto& [stream, sequence] : entries) grown[stream] = sequence;
    RC_ASSERT(grown == Vector(entries));
  }));
}

TEST(Vector, KnowsAStreamByItsEntryOrByWhatClosesIt) {
  EXPECT_TRUE(rc::check([] {
    const auto entries = AnyEntries();
    VectorModel model;
    for (const auto& [stream, sequence] : entries) model[stream] = sequence;
    const Stream stream = AnyStream();
    RC_ASSERT(KnownUpto(Vector(entries), stream) == KnownUptoByModel(model, stream));
  }));
}

TEST(Vector, EntriesOfAnOriginLeaveOutWhatClosesThem) {
  EXPECT_TRUE(rc::check([] {
    const Vector vector(AnyEntries());
    const auto [origin, upto] = AnyStream();
    std::vector<Vector::Entry> expected;
    for (const Vector::Entry& entry : vector)
      if (entry.first.first == origin && entry.first.second > 0 && entry.first.second <= upto)
        expected.push_back(entry);
    RC_ASSERT(Same(EntriesUpto(vector, origin, upto), expected));
  }));
}

}  // namespace
}  // namespace once
