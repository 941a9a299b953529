#include "simulator/report_timeline_svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "simulator/report_faults_svg.h"
#include "simulator/report_strip_svg.h"
#include "simulator/report_words.h"

namespace once {
namespace {

constexpr double kRowHeight = 18;
constexpr double kHeadHeight = 22;
constexpr double kLaneHeight = kHeadHeight + 4 * kRowHeight + 4;
constexpr double kLaneGap = 10;
constexpr double kMarkSizeMin = 1.9;
constexpr double kMarkGrowth = 2.3;
constexpr double kBinWidth = 8;
constexpr std::size_t kArrowsMax = 60;
constexpr std::size_t kTipOperationsMax = 4;

struct Row {
  Meaning meaning;
  const char* name;
};
constexpr std::array<Row, 4> kRows = {{{Meaning::kClaim, "claims"},
                                       {Meaning::kReplay, "replays"},
                                       {Meaning::kRefusal, "refusals"},
                                       {Meaning::kUnheard, "no answer"}}};

double RowY(double lane_top, std::size_t row) {
  return lane_top + kHeadHeight + (static_cast<double>(row) + 0.5) * kRowHeight;
}

/// When the caller heard, or when it asked if it never did.
std::int64_t MomentOf(const Operation& operation) {
  return operation.answer == Operation::Answer::kNone || operation.returned_ms < 0
             ? operation.invoked_ms
             : operation.returned_ms;
}

std::string OperationText(const Operation& operation) {
  std::string text = MomentText(MomentOf(operation)) + "  " + std::string(Word(operation.kind)) +
                     " " + Shortened(operation.key, 40) + " → " +
                     std::string(Word(operation.answer));
  if (!operation.run_id.empty()) text += "  " + Shortened(operation.run_id, 40);
  return text;
}

std::string TipOf(const std::vector<const Operation*>& operations) {
  std::string text = operations.front()->region;
  if (operations.size() > 1)
    text += ", " + Thousands(static_cast<std::int64_t>(operations.size())) + " operations";
  for (std::size_t i = 0; i < operations.size() && i < kTipOperationsMax; ++i)
    text += "\n" + OperationText(*operations[i]);
  if (operations.size() > kTipOperationsMax)
    text += "\n… and " +
            Thousands(static_cast<std::int64_t>(operations.size() - kTipOperationsMax)) + " more";
  return text;
}

void AppendMarks(Markup& svg, const History& history, const std::string& region,
                 const TimeScale& scale, double lane_top) {
  std::map<std::pair<std::size_t, std::int64_t>, std::vector<const Operation*>> bins;
  for (const Operation& operation : history.operations) {
    if (operation.region != region) continue;
    const auto row = std::find_if(kRows.begin(), kRows.end(), [&operation](const Row& candidate) {
      return candidate.meaning == MeaningOf(operation);
    });
    if (row == kRows.end()) continue;  // settlements are counted, not drawn
    bins[{static_cast<std::size_t>(row - kRows.begin()),
          static_cast<std::int64_t>(scale.X(MomentOf(operation)) / kBinWidth)}]
        .push_back(&operation);
  }
  std::size_t count_max = 3;  // so that a single operation in a calm run is not the largest mark
  for (const auto& [bin, operations] : bins) count_max = std::max(count_max, operations.size());
  for (const auto& [bin, operations] : bins) {
    const double count = static_cast<double>(operations.size());
    double x = 0;
    for (const Operation* operation : operations) x += scale.X(MomentOf(*operation)) / count;
    const double size =
        kMarkSizeMin + kMarkGrowth * std::sqrt(count / static_cast<double>(count_max));
    svg.Open("g", {{"data-tip", TipOf(operations)}});
    AppendMark(svg, kRows[bin.first].meaning, x, RowY(lane_top, bin.first), size);
    svg.Close("g");
  }
}

void AppendLane(Strip& strip, const History& history, const std::string& region,
                const TimeScale& scale) {
  const double top = strip.height;
  strip.plot.Leaf("rect", {{"class", "lane"},
                           {"x", 0},
                           {"y", top},
                           {"width", kPlotWidth},
                           {"height", kLaneHeight},
                           {"rx", 4}});
  AppendBands(strip.plot, history, region, scale, top, kLaneHeight);
  strip.names.Leaf("text", {{"class", "lane-name"}, {"x", 0}, {"y", top + 16}},
                   Shortened(region, 16));
  for (std::size_t row = 0; row < kRows.size(); ++row) {
    const double y = RowY(top, row);
    strip.plot.Leaf("line",
                    {{"class", "row"}, {"x1", 0}, {"x2", kPlotWidth}, {"y1", y}, {"y2", y}});
    strip.names.Leaf("text", {{"class", "row-name"}, {"x", kNamesWidth - 12}, {"y", y + 4}},
                     kRows[row].name);
  }
  AppendMarks(strip.plot, history, region, scale, top);
  strip.height += kLaneHeight + kLaneGap;
}

struct Place {
  double x = 0;
  double y = 0;
};

/// Where each run was first admitted.
std::map<std::string, Place> PlacesOfRuns(const History& history, const TimeScale& scale,
                                          const std::map<std::string, double>& lanes) {
  std::map<std::string, std::pair<std::int64_t, Place>> first;
  for (const Operation& operation : history.operations) {
    const auto lane = lanes.find(operation.region);
    if (operation.answer != Operation::Answer::kExecute || lane == lanes.end()) continue;
    const std::int64_t at_ms = MomentOf(operation);
    const auto [entry, fresh] = first.try_emplace(operation.run_id);
    if (!fresh && entry->second.first <= at_ms) continue;
    entry->second = {at_ms, {scale.X(at_ms), RowY(lane->second, 0)}};
  }
  std::map<std::string, Place> places;
  for (const auto& [run, entry] : first) places[run] = entry.second;
  return places;
}

std::string TipOf(const LostRun& lost) {
  std::string text = "key " + Shortened(lost.key, 60) + "\nloser " + Shortened(lost.loser, 60) +
                     "\nwinner " + Shortened(lost.winner, 60) + "\nfound in " + lost.region +
                     " at " + MomentText(lost.detected_ms);
  if (lost.payload_divergent) text += "\npayloads differ";
  if (lost.loser_had_completed) text += "\nthe loser had completed";
  return text;
}

/// Returns how many arrows were drawn.
std::size_t AppendLosses(Markup& svg, const History& history, const TimeScale& scale,
                         const std::map<std::string, double>& lanes) {
  const std::map<std::string, Place> places = PlacesOfRuns(history, scale, lanes);
  std::size_t drawn = 0;
  for (const LostRun& lost : history.lost) {
    svg.Open("g", {{"class", "loss"}, {"data-tip", TipOf(lost)}});
    const auto loser = places.find(lost.loser), winner = places.find(lost.winner);
    // The caller of either may have died before it heard: then there is no mark to start from.
    if (drawn < kArrowsMax && loser != places.end() && winner != places.end()) {
      AppendArrow(svg, loser->second.x, loser->second.y, winner->second.x, winner->second.y);
      ++drawn;
    }
    const auto lane = lanes.find(lost.region);
    if (lane != lanes.end())
      AppendLostMark(svg, scale.X(lost.detected_ms), lane->second + kHeadHeight / 2);
    svg.Close("g");
  }
  return drawn;
}

// Where each leader of the strict group began to lead, with its term.
void AppendLeaders(Markup& svg, const History& history, const TimeScale& scale,
                   const std::map<std::string, double>& lanes) {
  for (const Leadership& led : history.leaders) {
    const auto lane = lanes.find(led.region);
    if (lane == lanes.end()) continue;
    const std::string term = std::to_string(led.term);
    svg.Leaf("text",
             {{"class", "leader"},
              {"x", scale.X(led.at_ms)},
              {"y", lane->second + 10},
              {"data-tip", MomentText(led.at_ms) + ": " + led.region + " leads in term " + term}},
             "▸" + term);
  }
}

}  // namespace

void AppendMark(Markup& svg, Meaning meaning, double x, double y, double size) {
  const auto at = [x, y](double dx, double dy) {
    return Coordinate(x + dx) + " " + Coordinate(y + dy);
  };
  switch (meaning) {
    case Meaning::kClaim:
      svg.Leaf("circle", {{"class", "claim"}, {"cx", x}, {"cy", y}, {"r", size}});
      break;
    case Meaning::kReplay:
      svg.Leaf("path",
               {{"class", "replay"},
                {"d", "M" + at(-size, -size) + "L" + at(size, 0) + "L" + at(-size, size) + "Z"}});
      break;
    case Meaning::kRefusal:
      svg.Leaf("path", {{"class", "refusal"},
                        {"d", "M" + at(-size, -size) + "L" + at(size, size) + "M" +
                                  at(size, -size) + "L" + at(-size, size)}});
      break;
    case Meaning::kUnheard:
      svg.Leaf("path", {{"class", "unheard"}, {"d", "M" + at(0, -size) + "L" + at(0, size)}});
      svg.Leaf("circle", {{"class", "unheard"}, {"cx", x}, {"cy", y}, {"r", size}});
      break;
    case Meaning::kPlain:
      break;
  }
}

void AppendLostMark(Markup& svg, double x, double y) {
  const std::string middle = Coordinate(y);
  svg.Leaf("path", {{"class", "lost"},
                    {"d", "M" + Coordinate(x - 5) + " " + middle + "L" + Coordinate(x) + " " +
                              Coordinate(y - 5) + "L" + Coordinate(x + 5) + " " + middle + "L" +
                              Coordinate(x) + " " + Coordinate(y + 5) + "Z"}});
}

void AppendArrow(Markup& svg, double from_x, double from_y, double to_x, double to_y) {
  // Bent a little, so that arrows between the same lanes do not hide each other; the ends stay
  // clear of the marks.
  const double dx = to_x - from_x, dy = to_y - from_y;
  const double length = std::max(std::hypot(dx, dy), 1.0);
  const double clear = std::min(6.0, length / 3);
  const double bend = std::min(18.0, length / 6);
  const double ux = dx / length, uy = dy / length;
  const auto point = [](double x, double y) { return Coordinate(x) + " " + Coordinate(y); };
  svg.Leaf("path", {{"class", "arrow"},
                    {"marker-end", "url(#arrow)"},
                    {"d", "M" + point(from_x + ux * clear, from_y + uy * clear) + "Q" +
                              point(from_x + dx / 2 - uy * bend, from_y + dy / 2 + ux * bend) +
                              " " + point(to_x - ux * clear, to_y - uy * clear)}});
}

void AppendTimeline(Markup& page, const History& history, const Figures& figures) {
  const TimeScale scale(figures.end_ms);
  Strip strip;
  const double faults = AppendFaultBars(strip.plot, history, scale, strip.height);
  if (faults > 0) {
    strip.names.Leaf("text", {{"class", "lane-name"}, {"x", 0}, {"y", strip.height + 13}},
                     "faults");
    strip.height += faults + 4;
  }
  const double moments = strip.height;
  if (!history.violations.empty()) {
    strip.names.Leaf("text", {{"class", "lane-name"}, {"x", 0}, {"y", moments + 12}}, "violations");
    strip.height += kFlagsHeight;
  }
  std::map<std::string, double> lanes;
  for (const std::string& region : history.regions) {
    lanes[region] = strip.height;
    AppendLane(strip, history, region, scale);
  }
  const std::size_t arrows = AppendLosses(strip.plot, history, scale, lanes);
  AppendLeaders(strip.plot, history, scale, lanes);
  AppendMoments(strip, history, scale, moments);
  AppendTimeAxis(strip, scale);
  AppendStrip(page, strip,
              "Timeline: one lane for each region with claims, replays and refusals, faults as "
              "bands, arrows from losing to winning runs. The tables below hold the same facts.");
  if (arrows < history.lost.size())
    page.Leaf("p", {{"class", "note"}},
              Thousands(static_cast<std::int64_t>(arrows)) + " of " +
                  Thousands(static_cast<std::int64_t>(history.lost.size())) +
                  " conflicts have an arrow; all are in results.json.");
}

}  // namespace once
