#include "simulator/report_faults_svg.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "simulator/report_words.h"

namespace once {
namespace {

constexpr double kBarHeight = 16;
constexpr double kBarPitch = 21;
constexpr double kCharacterWidth = 6.3;
constexpr double kWidthMin = 3;
constexpr std::size_t kRowsMax = 10;

struct Bar {
  Fault::Kind kind;
  std::int64_t from_ms;
  std::int64_t to_ms;
  std::string text;
};

std::string AmountText(const Fault& fault) {
  if (fault.amount == 0) return "";
  if (fault.kind == Fault::Kind::kLossyLinks) return " " + std::to_string(fault.amount) + " %";
  const std::string sign = fault.kind == Fault::Kind::kClockJump && fault.amount > 0 ? " +" : " ";
  return sign + Duration(fault.amount);
}

/// Kind and amount, without the place.
std::string KindText(const Fault& fault) {
  std::string text(Word(fault.kind));
  std::replace(text.begin(), text.end(), '-', ' ');
  return text + AmountText(fault);
}

/// "eu ⇄ us, eu → ap": both directions of a link as one.
std::string PlacesText(const std::set<std::pair<std::string, std::string>>& places) {
  std::string text;
  for (const auto& [region, other] : places) {
    const bool both = !other.empty() && places.contains({other, region});
    if (both && other < region) continue;
    text += (text.empty() ? "" : ", ") + (region.empty() ? "everywhere" : region);
    if (!other.empty()) text += (both ? " ⇄ " : " → ") + other;
  }
  return text;
}

std::vector<Bar> BarsOf(const History& history) {
  std::map<std::tuple<std::int64_t, std::int64_t, Fault::Kind, std::string>,
           std::set<std::pair<std::string, std::string>>>
      groups;
  for (const Fault& fault : history.faults)
    groups[{fault.from_ms, fault.to_ms, fault.kind, KindText(fault)}].insert(
        {fault.region, fault.other});
  std::vector<Bar> bars;
  for (const auto& [group, places] : groups) {
    const auto& [from_ms, to_ms, kind, text] = group;
    bars.push_back({kind, from_ms, to_ms, text + " " + PlacesText(places)});
  }
  return bars;
}

/// Characters, not bytes.
double WidthOf(const std::string& text) {
  const auto starts = std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  });
  return static_cast<double>(starts) * kCharacterWidth;
}

/// A bar and its words: inside when they fit and no pattern is under them, else beside it on the
/// side that has room.
struct Placed {
  double x, width, text_x, left, right;
  std::string text;
  bool anchored_at_end;
};

Placed PlaceOf(const Bar& bar, const TimeScale& scale) {
  Placed placed;
  placed.text = Shortened(bar.text, 90);
  placed.x = scale.X(bar.from_ms);
  placed.width = std::max(kWidthMin, scale.X(bar.to_ms) - placed.x);
  const double text_width = WidthOf(placed.text);
  const double end = placed.x + placed.width;
  const bool inside = bar.kind == Fault::Kind::kCut && text_width + 16 <= placed.width;
  placed.anchored_at_end = !inside && end + 6 + text_width > kPlotWidth;
  placed.text_x = inside ? placed.x + 8 : placed.anchored_at_end ? placed.x - 6 : end + 6;
  placed.left = placed.anchored_at_end ? placed.text_x - text_width : placed.x;
  placed.right = inside || placed.anchored_at_end ? end : placed.text_x + text_width;
  return placed;
}

void AppendBar(Markup& svg, const Bar& bar, const Placed& placed, double y) {
  const std::string kind(Word(bar.kind));
  const std::string tip =
      bar.text + "\n" + MomentText(bar.from_ms) + " to " + MomentText(bar.to_ms);
  svg.Open("g", {{"data-tip", tip}});
  for (const char* layer : {"bar-ground", "bar"})
    svg.Leaf("rect", {{"class", layer},
                      {"x", placed.x},
                      {"y", y},
                      {"width", placed.width},
                      {"height", kBarHeight},
                      {"rx", 3},
                      {"fill", layer == std::string_view("bar") ? PatternOf(bar.kind) : "none"}});
  svg.Leaf("text",
           {{"class", "bar-text"},
            {"x", placed.text_x},
            {"y", y + 12},
            {"text-anchor", placed.anchored_at_end ? "end" : "start"}},
           placed.text);
  svg.Close("g");
}

bool Concerns(const Fault& fault, const std::string& region) {
  return fault.region == region || fault.other == region || fault.region.empty();
}

}  // namespace

void AppendDefinitions(Markup& page) {
  struct Pattern {
    Fault::Kind kind;
    const char* strokes;
  };
  // Each is drawn in a square of 8 by 8.
  constexpr Pattern kPatterns[] = {
      {Fault::Kind::kCut, "<rect width='8' height='8' class='tint'/>"},
      {Fault::Kind::kClog, "<path d='M2 0V8M6 0V8' class='thin'/>"},
      {Fault::Kind::kCrash, "<path d='M-2 2L2 -2M0 8L8 0M6 10L10 6' class='thick'/>"},
      {Fault::Kind::kPause, "<path d='M0 2H8M0 6H8' class='thin'/>"},
      {Fault::Kind::kSlowDisk, "<circle cx='2' cy='2' r='1'/><circle cx='6' cy='6' r='1'/>"},
      {Fault::Kind::kSyncFailure, "<path d='M0 0L8 8M8 0L0 8' class='thin'/>"},
      {Fault::Kind::kDiskFull, "<path d='M0 4H8M4 0V8' class='thin'/>"},
      {Fault::Kind::kClockJump, "<path d='M0 6L4 2L8 6' class='thin'/>"},
      {Fault::Kind::kLossyLinks, "<path d='M1 4H4M5 0H8' class='thin'/>"},
      {Fault::Kind::kEmptied, "<path d='M2 2H6V6H2Z' class='thin'/>"},
      {Fault::Kind::kRestored, "<path d='M6 0L2 4L6 8' class='thin'/>"},
      {Fault::Kind::kTransfer, "<path d='M2 0L6 4L2 8' class='thin'/>"},
      {Fault::Kind::kDismissed, "<path d='M2 4H6' class='thick'/>"},
      {Fault::Kind::kCloned, "<path d='M1 1H5V5H1ZM5 3H7V7H3V5' class='thin'/>"},
      {Fault::Kind::kSteppedStarts, "<path d='M0 6H4V2H8' class='thin'/>"},
      {Fault::Kind::kStopped, "<path d='M1 4H7M4 1V7' class='thin'/>"},
  };
  page.Raw("<svg width='0' height='0' class='defs' aria-hidden='true'><defs>\n");
  for (const Pattern& pattern : kPatterns) {
    const std::string id = "fault-" + std::string(Word(pattern.kind));
    page.Open("pattern", {{"id", id},
                          {"class", id},
                          {"width", 8},
                          {"height", 8},
                          {"patternUnits", "userSpaceOnUse"}});
    page.Raw(pattern.strokes).Close("pattern");
  }
  page.Raw(
      "<pattern id='over-bound' width='5' height='5' patternUnits='userSpaceOnUse' "
      "class='over-bound'><rect width='5' height='5'/><path d='M-1 1L1 -1M0 5L5 0M4 6L6 4'/>"
      "</pattern>"
      "<marker id='arrow' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='7' markerHeight='7' "
      "orient='auto-start-reverse'><path d='M0 0L8 4L0 8Z' class='arrow-head'/></marker>"
      "</defs></svg>\n");
}

std::string PatternOf(Fault::Kind kind) {
  return "url(#fault-" + std::string(Word(kind)) + ")";
}

std::string FaultText(const Fault& fault) {
  return KindText(fault) + " " + PlacesText({{fault.region, fault.other}});
}

void AppendBands(Markup& svg, const History& history, const std::string& region,
                 const TimeScale& scale, double top, double height) {
  for (const Fault::Kind kind : kFaultKinds) {
    std::vector<std::pair<std::int64_t, std::int64_t>> stretches;
    for (const Fault& fault : history.faults)
      if (fault.kind == kind && Concerns(fault, region))
        stretches.push_back({fault.from_ms, std::max(fault.from_ms, fault.to_ms)});
    std::sort(stretches.begin(), stretches.end());
    for (std::size_t i = 0; i < stretches.size();) {
      auto [from, to] = stretches[i];
      for (++i; i < stretches.size() && stretches[i].first <= to; ++i)
        to = std::max(to, stretches[i].second);
      svg.Leaf("rect", {{"class", "band"},
                        {"x", scale.X(from)},
                        {"y", top},
                        {"width", std::max(kWidthMin, scale.X(to) - scale.X(from))},
                        {"height", height},
                        {"fill", PatternOf(kind)}});
    }
  }
}

double AppendFaultBars(Markup& svg, const History& history, const TimeScale& scale, double top) {
  std::vector<double> ends;  // of each row
  std::size_t left_out = 0;
  for (const Bar& bar : BarsOf(history)) {
    const Placed placed = PlaceOf(bar, scale);
    std::size_t row = 0;
    while (row < ends.size() && placed.left < ends[row] + 10) ++row;
    if (row == kRowsMax) {
      ++left_out;
      continue;
    }
    if (row == ends.size()) ends.push_back(0);
    ends[row] = placed.right;
    AppendBar(svg, bar, placed, top + static_cast<double>(row) * kBarPitch);
  }
  double height = static_cast<double>(ends.size()) * kBarPitch;
  if (left_out != 0) {
    svg.Leaf(
        "text", {{"class", "note"}, {"x", 8}, {"y", top + height + 12}},
        Thousands(static_cast<std::int64_t>(left_out)) + " more faults are in the table below");
    height += kBarPitch;
  }
  return height;
}

}  // namespace once
