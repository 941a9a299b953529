// results.json and history.jsonl.
#pragma once

#include <ostream>

#include "simulator/history.h"
#include "simulator/report_figures.h"

namespace once {

/// The summary for programs: one JSON object, one member per line at the top level.
void WriteResults(const History& history, const Figures& figures, std::ostream& out);

/// Everything callers saw and everything that was done to the regions, one JSON object a line: the
/// run, then its operations, faults and lost runs in the order of the history.
void WriteHistoryLines(const History& history, std::ostream& out);

}  // namespace once
