// What the mutating routes do: pure steps on runs and webhooks, each ending in the answer to store.
#pragma once

#include <cstdint>
#include <string>

#include "conflict/claim.pb.h"
#include "replica/ledger/answer.h"
#include "replica/ledger/command.pb.h"
#include "replica/ledger/records.pb.h"
#include "replica/storage/tables.h"

namespace once {

struct EffectContext {
  Tables& tables;
  const Stamp& stamp;
  std::string region;
  std::string run_id;       // id for what is created
  std::uint32_t tries = 1;  // of the key, for workflows that fail a few times first
  std::uint64_t run_retention_ms = 0;
};

struct Effect {
  Outcome outcome;
  std::string run_id;  // run that changed, empty for none
};

/// Executes the effect of `mutation`.
Effect Execute(const Mutation& mutation, const EffectContext& context);

/// Takes the run one step further if it is still at `step` and due. True when it changed.
bool AdvanceOneStep(const AdvanceRun& advance, const EffectContext& context);

/// How an outcome of that status settles a claim: 2xx and 3xx complete it, 408, 425, 429 and 5xx
/// leave it retryable, 400, 401 and 403 release it (they say nothing about the request itself), the
/// other 4xx end it.
ClaimState StateFor(std::uint32_t status);

/// The wire spelling of a run's status.
const char* RunStatusName(RunStatus status);

}  // namespace once
