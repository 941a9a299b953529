// RocksDB's tables as they were at one moment.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "replica/env/kv_store.h"
#include "replica/io/spare_time.h"

namespace rocksdb {
class DB;
class Snapshot;
}  // namespace rocksdb

namespace once {

/// Keeps RocksDB from dropping what the tables hold now.
class FrozenTables {
 public:
  FrozenTables(rocksdb::DB& db, std::shared_ptr<SpareTime> spare_time);
  ~FrozenTables() { Release(); }
  FrozenTables(const FrozenTables&) = delete;
  FrozenTables& operator=(const FrozenTables&) = delete;

  void Scan(std::string_view from, std::string_view to, const KvVisitor& visit) const;
  /// Must precede the end of the database; no Scan may follow.
  void Release();

 private:
  rocksdb::DB* db_;
  const std::shared_ptr<SpareTime> spare_time_;
  const rocksdb::Snapshot* snapshot_;
};

class RocksView : public KvView {
 public:
  explicit RocksView(std::shared_ptr<const FrozenTables> tables) : tables_(std::move(tables)) {}

  void Scan(std::string_view from, std::string_view to, const KvVisitor& visit) override {
    tables_->Scan(from, to, visit);
  }

 private:
  std::shared_ptr<const FrozenTables> tables_;
};

}  // namespace once
