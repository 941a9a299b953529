// Faults as pictures: a pattern for each kind, so that they can be told apart without colour.
#pragma once

#include <string>
#include <vector>

#include "simulator/history.h"
#include "simulator/report_markup.h"
#include "simulator/report_scale.h"

namespace once {

/// The patterns and marks that the other pictures refer to. Once on a page, before them.
void AppendDefinitions(Markup& page);

/// "url(#fault-crash)".
std::string PatternOf(Fault::Kind kind);

/// "crash eu", "cut eu → us".
std::string FaultText(const Fault& fault);

/// The shaded stretches of a region's lane. Stretches of one kind that touch are one, so that a cut
/// of four links is not four times as dark. A fault without a region concerns all of them.
void AppendBands(Markup& svg, const History& history, const std::string& region,
                 const TimeScale& scale, double top, double height);

/// One bar for each fault, those of one kind and time together (a partition is one bar, not one for
/// each link), with its words. Returns the height used, 0 without faults.
double AppendFaultBars(Markup& svg, const History& history, const TimeScale& scale, double top);

}  // namespace once
