#include "replica/strict/strict_generations.h"

#include <utility>
#include <vector>

#include "conflict/mutation.h"
#include "replica/strict/strict.pb.h"

namespace once {
namespace {

constexpr std::uint32_t kGenerationsFormat = 1;

}  // namespace

void StrictGenerations::Load() {
  GenerationsRecord record;
  if (const auto bytes = outer_.ReadRaw(keys::StrictGeneration()))
    if (!record.ParseFromString(*bytes) || record.format() > kGenerationsFormat)
      throw KvUnreadable("the record of the strict ledger's generations does not parse");
  present_ = record.present();
  last_ = record.last();
  Abandon();
}

void StrictGenerations::PutRecord() {
  GenerationsRecord record;
  record.set_format(kGenerationsFormat);
  record.set_present(present_);
  record.set_last(last_);
  outer_.PutRaw(keys::StrictGeneration(), record.SerializeAsString());
}

void StrictGenerations::Begin() {
  if (MutationOn("pieces-of-two-snapshots") && arriving()) return;
  Abandon();
  arriving_ = ++last_;
  PutRecord();  // in one batch with the first records of that number
}

void StrictGenerations::Put(const std::string& key, std::string value) {
  outer_.PutRaw(keys::Strict(arriving_) + key, std::move(value));
}

std::optional<std::string> StrictGenerations::Get(const std::string& key) {
  return outer_.ReadRaw(keys::Strict(arriving_) + key);
}

void StrictGenerations::Abandon() {
  arriving_ = 0;
  swept_ = keys::Strict(0);
}

void StrictGenerations::Flip() {
  present_ = arriving_;
  Abandon();
  PutRecord();
}

bool StrictGenerations::EraseLeftovers(std::size_t records_max) {
  static const std::string kEnd = keys::After(keys::Strict(0));
  std::vector<std::string> leftovers;
  while (leftovers.size() < records_max && swept_ != kEnd) {
    std::string reached = kEnd;
    outer_.ScanRaw(swept_, kEnd, [&](std::string_view key, std::string_view) {
      const std::uint64_t generation = keys::GenerationOf(key);
      const bool in_use = generation == present_ || (arriving() && generation == arriving_);
      if (in_use || leftovers.size() == records_max) {
        reached = in_use ? keys::AfterStrict(generation) : std::string(key);
        return false;
      }
      leftovers.emplace_back(key);
      return true;
    });
    swept_ = std::move(reached);
  }
  const bool any = !leftovers.empty();
  for (std::string& key : leftovers) outer_.EraseRaw(std::move(key));
  return any;
}

}  // namespace once
