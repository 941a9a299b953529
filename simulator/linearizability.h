// Whether the answers about one key can have come from one slot that does one thing at a time, each
// between a call's invocation and its return. That is what strict mode promises.
//
// The slot: nothing, or a run under a fence that is claimed, then closed (settled, or its lease
// lapsed), then gone (expired, released, abandoned; at any moment: how long it must stay is for
// checks over times). A begin that is told to execute makes a claim under a higher fence: of a new
// run, after which the old one never comes back, or of the same run unless that has come to a final
// answer or was released. A settle or a renewal is accepted only while its own fence is claimed.
//
// Fences order all states of a slot, so no search is needed. For every state there is an earliest
// moment, when a call that made it or that still saw an earlier one was invoked, and a latest one,
// when the first call that made it or saw it or a later one returned. The history is linearizable
// iff no earliest moment is after a latest one of the same or a later state, every state has a call
// that can have made it, and nobody missed what was there. Linear in the calls but for sorting.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulator/history.h"

namespace once {

/// Two calls that cannot both be true, or one that cannot be.
struct Contradiction {
  const Operation* operation = nullptr;  // the one that shows it
  std::string what;
};

/// The first contradiction among the operations of one key, in any order; nothing when they are
/// linearizable. A call without an answer, or with kUnavailable, may have happened at any time
/// after its invocation, or never; one that was refused did not happen. An answer that names no
/// fence says nothing.
std::optional<Contradiction> FindContradiction(const std::vector<const Operation*>& operations);

}  // namespace once
