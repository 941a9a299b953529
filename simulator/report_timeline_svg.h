// The run as a picture: a lane for each region, marks for what callers heard, bands for faults,
// arrows for runs that lost.
#pragma once

#include <string_view>

#include "simulator/history.h"
#include "simulator/report_figures.h"
#include "simulator/report_markup.h"

namespace once {

/// Marks of one row that would touch are one larger mark that tells how many it stands for, so the
/// picture's size does not grow with the run.
void AppendTimeline(Markup& page, const History& history, const Figures& figures);

/// A mark as the lanes draw it, centred at (x, y). `size` is its radius.
void AppendMark(Markup& svg, Meaning meaning, double x, double y, double size);
/// The mark of the moment in which a region learnt that its run had lost.
void AppendLostMark(Markup& svg, double x, double y);
/// The arrow from a loser to its winner.
void AppendArrow(Markup& svg, double from_x, double from_y, double to_x, double to_y);

}  // namespace once
