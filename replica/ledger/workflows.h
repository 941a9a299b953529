// The built-in workflows, so that a newcomer sees runs happen. Every step is one ledger command, so
// a crash between two steps repeats neither.
//
//   noop      ends at once
//   delay     ends after inputs.delayMs; may be cancelled meanwhile
//   append    writes two channel.written events, then ends
//   fail      its admission ends with inputs.status for the first inputs.times tries, then as noop
//   approval  suspends at node "approve" until it is approved or rejected
#pragma once

#include <string>
#include <string_view>

#include "replica/ledger/effects.h"

namespace once {

/// The built-in behind a workflow id the caller may use, or empty. The conformance-* aliases are
/// known only where test seams are on.
std::string_view BuiltInFor(std::string_view workflow_id, bool test_seams);

/// The code of the region that made the token, as in its run ids; empty for what is no token.
std::string_view InterruptHomeCode(std::string_view token);

bool IsTerminal(RunStatus status);
/// Whether somebody may be asked at that node, now or in the past.
bool HasNode(const Run& run, std::string_view node_id);

Run StartRun(const CreateRun& create, const Mutation& mutation, const EffectContext& context);
void CancelRunNow(Run& run, std::string_view reason, const EffectContext& context);
void DecideApproval(Run& run, bool approved, const std::string& payload,
                    const EffectContext& context);

}  // namespace once
