#include "simulator/report_strip_svg.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "simulator/report_words.h"

namespace once {
namespace {

constexpr double kAxisHeight = 28;
constexpr double kFlagDistance = 30;

void AppendLine(Markup& svg, std::string_view name, double x, double top, double bottom) {
  svg.Leaf("line", {{"class", name}, {"x1", x}, {"x2", x}, {"y1", top}, {"y2", bottom}});
}

void AppendSvg(Markup& page, std::string_view name, const Markup& content, double width,
               double height, std::string_view label) {
  page.Open("svg", {{"class", name},
                    {"width", width},
                    {"height", height},
                    {"viewBox", "0 0 " + Coordinate(width) + " " + Coordinate(height)},
                    {"role", "img"},
                    {"aria-label", label}});
  page.Raw(content.str()).Close("svg");
}

}  // namespace

void AppendTimeAxis(Strip& strip, const TimeScale& scale) {
  const double y = strip.height + 4;
  strip.plot.Leaf("line", {{"class", "axis"}, {"x1", 0}, {"x2", kPlotWidth}, {"y1", y}, {"y2", y}});
  for (const std::int64_t tick : scale.Ticks()) {
    const double x = scale.X(tick);
    AppendLine(strip.plot, "axis", x, y, y + 5);
    const char* anchor = x < 20 ? "start" : x > kPlotWidth - 24 ? "end" : "middle";
    strip.plot.Leaf("text",
                    {{"class", "tick"},
                     {"x", x < 20                ? x - 4
                           : x > kPlotWidth - 24 ? x + 6
                                                 : x},
                     {"y", y + 18},
                     {"text-anchor", anchor}},
                    scale.Label(tick));
  }
  strip.names.Leaf("text", {{"class", "row-name"}, {"x", kNamesWidth - 12}, {"y", y + 18}}, "time");
  strip.height += kAxisHeight;
}

void AppendMoments(Strip& strip, const History& history, const TimeScale& scale, double top) {
  if (history.safety_ms > 0) {
    const double x = scale.X(history.safety_ms);
    strip.plot.Open("g",
                    {{"data-tip", "Faults end, healing begins\n" + MomentText(history.safety_ms)}});
    AppendLine(strip.plot, "moment-wide", x, top, strip.height);
    AppendLine(strip.plot, "heal", x, top, strip.height);
    strip.plot.Close("g");
  }
  std::vector<std::pair<std::int64_t, std::size_t>> violations;  // by time, with their numbers
  for (const Violation& violation : history.violations)
    violations.push_back({violation.at_ms, violations.size() + 1});
  std::sort(violations.begin(), violations.end());
  double last_flag = -kFlagDistance;
  for (const auto& [at_ms, number] : violations) {
    const Violation& violation = history.violations[number - 1];
    const double x = scale.X(at_ms);
    // A flag for each would be a red wall; the table has them all.
    if (x - last_flag < kFlagDistance) continue;
    last_flag = x;
    const std::string name = "V" + std::to_string(number);
    strip.plot.Open("g", {{"data-tip", name + " " + violation.checker + "\n" + violation.what +
                                           "\n" + MomentText(violation.at_ms)}});
    AppendLine(strip.plot, "moment-wide", x, top, strip.height);
    AppendLine(strip.plot, "violation", x, top, strip.height);
    const double flag = x > kPlotWidth - 30 ? x - 24 : x;
    strip.plot.Leaf("rect",
                    {{"class", "flag"}, {"x", flag}, {"y", top}, {"width", 24}, {"height", 15}});
    strip.plot.Leaf("text", {{"class", "flag-text"}, {"x", flag + 12}, {"y", top + 11.5}}, name);
    strip.plot.Close("g");
  }
}

void AppendStrip(Markup& page, const Strip& strip, std::string_view label) {
  page.Open("div", {{"class", "strip"}, {"tabindex", "0"}});
  AppendSvg(page, "names", strip.names, kNamesWidth, strip.height, "names of the rows");
  AppendSvg(page, "plot", strip.plot, kPlotWidth, strip.height, label);
  page.Close("div");
  page.Leaf("p", {{"class", "note narrow"}}, "Scroll sideways to see the rest.");
}

}  // namespace once
