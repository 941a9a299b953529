// Calls of strict mode, written down by hand: when, what, and what was answered.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/history.h"

namespace once {

/// A history of one key. Every call returns the operation, so that details can be changed.
class Calls {
 public:
  using Kind = Operation::Kind;
  using Answer = Operation::Answer;

  Operation& Begin(std::int64_t invoked_ms, std::int64_t returned_ms, Answer answer,
                   const std::string& run_id = "", std::uint64_t fence = 0) {
    return Add(Kind::kBegin, invoked_ms, returned_ms, answer, run_id, fence);
  }
  Operation& Replay(std::int64_t invoked_ms, std::int64_t returned_ms, const std::string& run_id,
                    std::uint64_t fence, const std::string& body) {
    return With(200, body, Begin(invoked_ms, returned_ms, Answer::kReplay, run_id, fence));
  }
  Operation& Settle(std::int64_t invoked_ms, std::int64_t returned_ms, Answer answer,
                    const std::string& run_id, std::uint64_t fence, const std::string& body,
                    std::uint32_t status = 200) {
    return With(status, body, Add(Kind::kSettle, invoked_ms, returned_ms, answer, run_id, fence));
  }
  Operation& Renew(std::int64_t invoked_ms, std::int64_t returned_ms, Answer answer,
                   const std::string& run_id, std::uint64_t fence) {
    return Add(Kind::kRenew, invoked_ms, returned_ms, answer, run_id, fence);
  }
  Operation& SetPolicy(std::int64_t invoked_ms, std::int64_t returned_ms, Answer answer,
                       Operation::Mismatch mismatch) {
    Operation& policy = Add(Kind::kPolicy, invoked_ms, returned_ms, answer, "", 0);
    policy.key.clear();
    policy.strict = false;
    policy.mismatch = mismatch;
    return policy;
  }
  Operation& LookUp(std::int64_t invoked_ms, std::int64_t returned_ms, Answer answer,
                    const std::string& run_id = "", std::uint64_t fence = 0) {
    return Add(Kind::kLookUp, invoked_ms, returned_ms, answer, run_id, fence);
  }

  History history;

 private:
  Operation& Add(Kind kind, std::int64_t invoked_ms, std::int64_t returned_ms, Answer answer,
                 const std::string& run_id, std::uint64_t fence) {
    Operation operation;
    operation.id = history.operations.size() + 1;
    operation.kind = kind;
    operation.region = "eu";
    operation.tenant = "acme";
    operation.key = "k";
    operation.invoked_ms = invoked_ms;
    operation.returned_ms = answer == Answer::kNone ? -1 : returned_ms;
    operation.answer = answer;
    operation.run_id = run_id;
    operation.fence = fence;
    operation.retention_ms = 1000;
    operation.lease_ms = 100;
    operation.strict = true;
    return history.operations.emplace_back(std::move(operation));
  }
  static Operation& With(std::uint32_t status, const std::string& body, Operation& operation) {
    operation.status = status;
    operation.answer_body = body;
    return operation;
  }
};

}  // namespace once
