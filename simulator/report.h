// What a person gets from a run: four files in one directory. docs/SIMULATION.md has their schema.
#pragma once

#include <string>

#include "simulator/history.h"

namespace once {

/// Makes the directory and opens the four files for writing, so that a place that cannot be written
/// shows before the run. Leaves the contents of older files as they are. Throws like WriteReport.
void TryReport(const std::string& directory);

/// Writes results.json, history.jsonl, metrics.prom and report.html, creating the directory and
/// replacing older files of these names. The same history gives the same bytes: nothing in them
/// depends on the wall clock or the machine. Throws std::runtime_error, naming the path and the
/// reason, when something cannot be written; files written before that stay.
void WriteReport(const History& history, const std::string& directory);

}  // namespace once
