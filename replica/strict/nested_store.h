// A store inside another one's Tables: the same kinds of keys behind one byte.
#pragma once

#include <string>
#include <utility>

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
    return outer_.ReadRaw(keys::Strict(key));
  }
  void Scan(std::string_view from, std::string_view to, const Visitor& visit) override {
    outer_.ScanRaw(keys::Strict(from), keys::Strict(to),
                   [&visit](std::string_view key, std::string_view value) {
                     return visit(key.substr(1), value);
                   });
  }
  KvStatus Write(KvBatch batch) override {
    for (KvBatch::Op& op : batch.Take()) {
      if (op.value)
        outer_.PutRaw(keys::Strict(op.key), std::move(*op.value));
      else
        outer_.EraseRaw(keys::Strict(op.key));
    }
    return KvStatus::kOk;
  }
  void Sync(std::function<void(KvStatus)>) override { Check(false, "the outer batch is synced"); }

 private:
  Tables& outer_;
};

}  // namespace once
