// What a node acknowledged, and whether it still holds.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/system/caller.h"

namespace once {

/// Everything that callers were told. Thread-safe.
class Promises {
 public:
  void Begun(std::string key, BegunClaim claim);
  /// The claim begun last under `key` was settled with `answer`.
  void Settled(const std::string& key, const std::string& answer);
  void Created(std::string key, std::string body);

  /// Takes over what `other` holds.
  void Add(const Promises& other);

  std::size_t size() const { return size_; }
  /// One sentence for each promise that the node at `port` does not keep: claims are there with
  /// their fence, settled ones replay their answer, runs replay the same bytes and can be read.
  std::vector<std::string> Broken(std::uint16_t port, const std::string& bearer_key);

 private:
  struct Claim {
    std::string key;
    BegunClaim claim;
    std::string answer_digest;  // answers may be large
    bool settled = false;
  };
  struct Run {
    std::string key;
    std::string body;
  };

  mutable std::mutex mutex_;
  std::vector<Claim> claims_;
  std::vector<Run> runs_;
  std::atomic<std::size_t> size_ = 0;
};

/// Callers that begin and settle claims and create runs, every one under a key of its own, and note
/// what they were told. Each ends when its connection breaks.
class Load {
 public:
  /// Keys start with `prefix`, which must not have been used before on this node.
  /// Answers have `answer_bytes`, which do not compress.
  Load(std::uint16_t port, const std::string& bearer_key, const std::string& prefix,
       Promises& promises, std::size_t answer_bytes = 32);
  ~Load() { Join(); }

  /// Waits for the callers, whose connections must have been broken or be about to.
  void Join();

 private:
  static void Call(Caller& caller, const std::string& prefix, Promises& promises,
                   std::size_t answer_bytes);

  std::vector<std::thread> threads_;
};

}  // namespace once
