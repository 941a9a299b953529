// A picture over the run's time: names at the left that stay in view, a plot that scrolls.
#pragma once

#include <string>
#include <string_view>

#include "simulator/history.h"
#include "simulator/report_markup.h"
#include "simulator/report_scale.h"

namespace once {

/// Room that AppendMoments needs at its top for the flags of violations.
inline constexpr double kFlagsHeight = 24;

struct Strip {
  Markup names;
  Markup plot;
  double height = 0;
};

/// The time axis below what the strip has so far; adds its height.
void AppendTimeAxis(Strip& strip, const TimeScale& scale);

/// Vertical lines from `top` to the strip's height: where healing began, and each violation under
/// the number it has in the table.
void AppendMoments(Strip& strip, const History& history, const TimeScale& scale, double top);

/// `label` says to those who cannot see it what the picture shows.
void AppendStrip(Markup& page, const Strip& strip, std::string_view label);

}  // namespace once
