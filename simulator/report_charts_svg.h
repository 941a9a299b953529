// How long things took: convergence against the advertised bound, lag of each link over time.
#pragma once

#include "simulator/history.h"
#include "simulator/report_figures.h"
#include "simulator/report_markup.h"

namespace once {

/// A histogram over a logarithmic scale with the bound as a line. There is at least one
/// convergence.
void AppendConvergence(Markup& page, const History& history, const Figures& figures);

/// A row for each direction of each link on the timeline's axis; a bar is the longest lag of its
/// moment. All rows share one logarithmic height, so that they can be compared.
void AppendLags(Markup& page, const History& history, const Figures& figures);

}  // namespace once
