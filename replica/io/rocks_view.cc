#include "replica/io/rocks_view.h"

#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include "replica/env/check.h"

namespace once {

FrozenTables::FrozenTables(rocksdb::DB& db, std::shared_ptr<SpareTime> spare_time)
    : db_(&db), spare_time_(std::move(spare_time)) {
  const SpareTime::Visit visit(*spare_time_);
  snapshot_ = db_->GetSnapshot();
}

void FrozenTables::Release() {
  if (snapshot_) db_->ReleaseSnapshot(std::exchange(snapshot_, nullptr));
}

void FrozenTables::Scan(std::string_view from, std::string_view to, const KvVisitor& visit) const {
  Check(snapshot_, "a view is not used after its store was closed");
  const SpareTime::Visit visiting(*spare_time_);
  const rocksdb::Slice end(to.data(), to.size());
  rocksdb::ReadOptions options;
  options.snapshot = snapshot_;
  options.iterate_upper_bound = &end;
  options.fill_cache = false;  // each record is read once: what callers ask for stays in memory
  const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator(options));
  for (at->Seek({from.data(), from.size()}); at->Valid(); at->Next())
    if (!visit(at->key().ToStringView(), at->value().ToStringView())) return;
  if (!at->status().ok()) throw KvUnreadable(at->status().ToString());
}

}  // namespace once
