// What the thread sanitizer is told in the build that has it; nothing calls it elsewhere.

/// RocksDB comes from Debian without instrumentation: the sanitizer sees the bytes that its memcmp
/// and memcpy touch, but not the atomics that order them, and takes every read beside a write into
/// the memtable for a race. (^ is where a name begins: what our own functions do with RocksDB's
/// types is judged.)
extern "C" const char* __tsan_default_suppressions() {
  return "race:^rocksdb::\n"
         "race:^non-virtual thunk to rocksdb::\n";
}
