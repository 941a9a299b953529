// etcd's KV service over gRPC.
#include "tests/bench/grpc.h"
#include "tests/bench/phase.h"
#include "tests/bench/request_template.h"

namespace once::load {
namespace {

constexpr std::size_t kRecordBytes = 200;  // about what a claim's record takes in Once

// Field numbers of etcd's rpc.proto.
namespace field {
constexpr int kTxnCompare = 1, kTxnSuccess = 2, kTxnSucceeded = 2;
constexpr int kCompareTarget = 2, kCompareKey = 3, kCompareCreateRevision = 5;
constexpr int kRequestPut = 2, kKey = 1, kValue = 2;
constexpr int kRangeSerializable = 7, kRangeCount = 4;
constexpr std::uint64_t kTargetCreate = 1;
}  // namespace field

Phase CallPhase(const GrpcMethod& method, const std::string& opening, const std::string& message,
                std::uint64_t seed) {
  Phase phase;
  phase.opening = {method.Open(opening)};
  phase.write = [call = RequestTemplate(method.Call(message), seed)](
                    std::uint64_t index, std::string* out) { call.Write(index, out); };
  phase.number = GrpcMethod::Number;
  return phase;
}

/// Put, if the key was never made.
Phase InsertPhase(const WorkloadOptions& options, std::size_t value_bytes) {
  const std::string absent = NumberField(field::kCompareTarget, field::kTargetCreate) +
                             BytesField(field::kCompareKey, kKeyHole) +
                             NumberField(field::kCompareCreateRevision, 0);
  const std::string put =
      BytesField(field::kKey, kKeyHole) + BytesField(field::kValue, std::string(value_bytes, 'a'));
  const std::string insert = BytesField(field::kTxnCompare, absent) +
                             BytesField(field::kTxnSuccess, BytesField(field::kRequestPut, put));
  Phase phase =
      CallPhase(GrpcMethod("/etcdserverpb.KV/Txn", options.address), "", insert, options.seed);
  phase.accept = [](std::uint64_t, const Reply& reply) {
    return FindNumber(reply.body, field::kTxnSucceeded) == 1;
  };
  return phase;
}

Phase ReadPhase(const WorkloadOptions& options) {
  std::string range = BytesField(field::kKey, kKeyHole);
  if (options.serializable) range += NumberField(field::kRangeSerializable, 1);
  Phase phase =
      CallPhase(GrpcMethod("/etcdserverpb.KV/Range", options.address), range, range, options.seed);
  phase.accept = [bytes = options.answer_bytes](std::uint64_t, const Reply& reply) {
    return FindNumber(reply.body, field::kRangeCount) == 1 && reply.body.size() > bytes;
  };
  return phase;
}

}  // namespace

Workload EtcdWorkload(const WorkloadOptions& options) {
  if (options.job == Job::kClaim) return {ParseGrpc, {}, InsertPhase(options, kRecordBytes)};
  const Workload::SetUp store{InsertPhase(options, options.answer_bytes), options.population};
  return {ParseGrpc, {store}, ReadPhase(options), options.population};
}

}  // namespace once::load
