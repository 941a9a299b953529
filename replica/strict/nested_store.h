// A store inside another one's Tables: the same kinds of keys behind a prefix.
#pragma once

#include <memory>
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
  NestedStore(Tables& outer, std::string prefix) : outer_(outer), prefix_(std::move(prefix)) {}

  std::optional<std::string> Get(std::string_view key) override {
    return outer_.ReadRaw(Outside(key));
  }
  void Scan(std::string_view from, std::string_view to, const Visitor& visit) override {
    outer_.ScanRaw(Outside(from), Outside(to), [&](std::string_view key, std::string_view value) {
      return visit(key.substr(prefix_.size()), value);
    });
  }
  std::unique_ptr<KvView> View(std::string_view from, std::string_view to) override {
    return std::make_unique<NestedView>(prefix_, outer_.ViewRaw(Outside(from), Outside(to)));
  }
  KvStatus Write(KvBatch batch) override {
    std::string outside = prefix_;
    for (const KvOp op : batch.ops()) {
      outside.resize(prefix_.size());
      outside.append(op.key);
      if (op.value)
        outer_.PutRaw(outside, *op.value);
      else
        outer_.EraseRaw(outside);
    }
    return KvStatus::kOk;
  }
  void Sync(std::function<void(KvStatus)>) override { Check(false, "the outer batch is synced"); }
  /// `outer` was changed by others, and what this one has is behind that prefix from now on. Views
  /// stay where they are.
  void MoveTo(std::string prefix) { prefix_ = std::move(prefix); }

 private:
  class NestedView : public KvView {
   public:
    NestedView(std::string prefix, std::unique_ptr<KvView> outer)
        : prefix_(std::move(prefix)), outer_(std::move(outer)) {}

    void Scan(std::string_view from, std::string_view to, const KvVisitor& visit) override {
      outer_->Scan(prefix_ + std::string(from), prefix_ + std::string(to),
                   [&](std::string_view key, std::string_view value) {
                     return visit(key.substr(prefix_.size()), value);
                   });
    }

   private:
    const std::string prefix_;
    std::unique_ptr<KvView> outer_;
  };

  std::string Outside(std::string_view key) const { return std::string(prefix_).append(key); }

  Tables& outer_;
  std::string prefix_;
};

}  // namespace once
