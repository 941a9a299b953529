// A view of a store with changes that the store does not have yet.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "replica/env/kv_store.h"

namespace once {

class OverlaidView : public KvView {
 public:
  struct Change {
    std::string key;
    std::optional<std::string> value;  // empty: it is gone
  };

  /// `over` has each key once, in rising order, and counts instead of what `below` has there.
  OverlaidView(std::unique_ptr<KvView> below, std::vector<Change> over)
      : below_(std::move(below)), over_(std::move(over)) {}

  void Scan(std::string_view from, std::string_view to, const KvVisitor& visit) override {
    auto next = LowerBound(from);
    const auto end = LowerBound(to);
    bool going = true;
    // True: it has that key itself.
    const auto visit_upto = [&](const std::string_view* key) {
      for (; going && next < end && (!key || next->key < *key); ++next)
        if (next->value) going = visit(next->key, *next->value);
      return key && next < end && next->key == *key;
    };
    below_->Scan(from, to, [&](std::string_view key, std::string_view value) {
      const bool overwritten = visit_upto(&key);
      if (going && !overwritten) going = visit(key, value);
      return going;
    });
    visit_upto(nullptr);
  }

 private:
  std::vector<Change>::const_iterator LowerBound(std::string_view key) const {
    return std::lower_bound(
        over_.begin(), over_.end(), key,
        [](const Change& op, std::string_view wanted) { return op.key < wanted; });
  }

  std::unique_ptr<KvView> below_;
  const std::vector<Change> over_;
};

}  // namespace once
