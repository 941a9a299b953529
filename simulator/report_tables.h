// The report's tables: what the pictures show, in words and numbers.
#pragma once

#include "simulator/history.h"
#include "simulator/report_figures.h"
#include "simulator/report_markup.h"

namespace once {

/// Long lists end after a few hundred rows with a line that says where the rest is.
void AppendViolationTable(Markup& page, const History& history);
void AppendConflictTable(Markup& page, const History& history);
void AppendFaultTable(Markup& page, const History& history);
/// Answers as rows, regions as columns; answers that nobody got are left out.
void AppendAnswerTable(Markup& page, const History& history, const Figures& figures);
void AppendOptionTable(Markup& page, const History& history);

}  // namespace once
