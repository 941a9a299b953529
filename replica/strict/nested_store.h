// A store inside another one's Tables: the same kinds of keys behind one byte.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "replica/env/check.h"
#include "replica/env/kv_store.h"
#include "replica/storage/tables.h"

namespace once {

/// What is written goes into the open batch of `outer`, which outlives it, so that two ledgers and
/// a log share batches and syncs. Visible at once, durable when that batch is.
class NestedStore : public KvStore {
 public:
  explicit NestedStore(Tables& outer) : outer_(outer) {}

  std::optional<std::string> Get(std::string_view key) override {
    std::string& absent = absent_[Place(key)];
    if (absent == key) return std::nullopt;
    auto value = outer_.ReadRaw(keys::Strict(key));
    if (!value) absent = key;
    return value;
  }
  void Scan(std::string_view from, std::string_view to, const Visitor& visit) override {
    outer_.ScanRaw(keys::Strict(from), keys::Strict(to),
                   [&visit](std::string_view key, std::string_view value) {
                     return visit(key.substr(1), value);
                   });
  }
  KvStatus Write(KvBatch batch) override {
    for (KvBatch::Op& op : batch.Take()) {
      if (std::string& absent = absent_[Place(op.key)]; absent == op.key) absent.clear();
      if (op.value)
        outer_.PutRaw(keys::Strict(op.key), std::move(*op.value));
      else
        outer_.EraseRaw(keys::Strict(op.key));
    }
    return KvStatus::kOk;
  }
  void Sync(std::function<void(KvStatus)>) override { Check(false, "the outer batch is synced"); }
  /// `outer` was changed by others.
  void Forget() { absent_.assign(kAbsentMax, ""); }

 private:
  static constexpr std::size_t kAbsentMax = 4096;
  // By the end of the key: a slot's is a digest.
  static std::size_t Place(std::string_view key) {
    std::uint16_t end = 0;
    if (key.size() > sizeof end) std::memcpy(&end, &key[key.size() - sizeof end], sizeof end);
    return end % kAbsentMax;
  }

  Tables& outer_;
  // What was last looked for in vain, by place; no key is empty. A new slot is looked for when its
  // request comes and again when that is applied.
  std::vector<std::string> absent_ = std::vector<std::string>(kAbsentMax);
};

}  // namespace once
