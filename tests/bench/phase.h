// What a system under load must provide so that one loop can drive them all: how its requests are
// written, how its answers are read, and what it needs before the measurement starts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace once::load {

/// The answer at the front of a connection's input. The views point into that input.
struct Reply {
  std::size_t bytes = 0;  ///< length on the wire; 0 while the answer is not complete
  bool error = false;     ///< the system refused the request
  std::string_view head;  ///< HTTP head, RESP first line, PostgreSQL command tag or error
  std::string_view body;  ///< HTTP body, RESP bulk string, PostgreSQL's first row, gRPC message
};

/// Throws std::runtime_error when the input cannot be an answer of this protocol.
using ParseReply = Reply (*)(std::string_view input);

/// One kind of request, sent over and over.
struct Phase {
  /// Sent one by one on every new connection, each answered before the next; not measured.
  std::vector<std::string> opening;
  /// Replaces `out` by request number `index`.
  std::function<void(std::uint64_t index, std::string* out)> write;
  /// May be empty. Puts in what differs between the requests of one connection: `ordinal` is 0 for
  /// the first one after the opening.
  std::function<void(std::uint64_t ordinal, std::string* out)> number;
  /// Whether the answer to request `index` is the one a correct system gives.
  std::function<bool(std::uint64_t index, const Reply&)> accept;
};

/// What a job stands for on one system.
struct Workload {
  struct SetUp {
    Phase phase;
    std::uint64_t requests;  ///< indexes 0 to requests - 1
  };

  ParseReply parse;
  std::vector<SetUp> set_ups;  ///< run in order, before the measurement
  Phase measured;
  /// Measured indexes are drawn from [0, population); 0: every request has a new index.
  std::uint64_t population = 0;
};

enum class Job { kClaim, kReplay };

struct WorkloadOptions {
  Job job = Job::kClaim;
  std::uint64_t seed = 0;          ///< keys differ between seeds
  std::uint64_t population = 0;    ///< replay: how many settled keys
  std::uint64_t answer_bytes = 0;  ///< replay: size of the stored answer
  bool serializable = false;       ///< etcd: reads that ask no other member
  std::string address;             ///< once and etcd: the Host header
  std::string api_key;             ///< once: the bearer credential
  std::string user;                ///< postgres: user, and database of the same name
};

Workload OnceWorkload(const WorkloadOptions& options);
Workload RedisWorkload(const WorkloadOptions& options);
Workload PostgresWorkload(const WorkloadOptions& options);
Workload EtcdWorkload(const WorkloadOptions& options);

}  // namespace once::load
