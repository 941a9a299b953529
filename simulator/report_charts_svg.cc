#include "simulator/report_charts_svg.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulator/report_faults_svg.h"
#include "simulator/report_scale.h"
#include "simulator/report_strip_svg.h"
#include "simulator/report_words.h"

namespace once {
namespace {

constexpr double kChartWidth = 540;
constexpr double kChartHeight = 236;
constexpr double kChartTop = 30;
constexpr double kChartBottom = 204;
constexpr double kChartLeft = 12;
constexpr double kChartRight = 528;
constexpr int kBinsInDecade = 6;

constexpr double kLinkHeight = 44;
constexpr double kLinkGap = 8;
constexpr double kColumnWidth = 4;
constexpr std::size_t kLinksMax = 30;

/// The bin whose lower edge is 10^(bin / kBinsInDecade) ms.
int BinOf(std::int64_t ms) {
  constexpr double kRounding = 1e-9;
  return static_cast<int>(std::floor(
      std::log10(std::max<double>(static_cast<double>(ms), 1)) * kBinsInDecade + kRounding));
}

double EdgeOf(int bin) {
  return std::pow(10, static_cast<double>(bin) / kBinsInDecade);
}

double ChartX(const LogScale& scale, double ms) {
  return kChartLeft + scale.Position(ms) * (kChartRight - kChartLeft);
}

void AppendColumn(Markup& svg, std::string_view name, std::string_view fill, double left,
                  double width, double top, double bottom) {
  if (bottom <= top) return;
  svg.Leaf("rect", {{"class", name},
                    {"x", left},
                    {"y", top},
                    {"width", width},
                    {"height", bottom - top},
                    {"fill", fill}});
}

struct Bin {
  std::size_t count = 0;
  std::size_t over = 0;  // of them beyond the bound: the bound may lie inside the bin
};

void AppendBin(Markup& svg, const LogScale& scale, int bin, const Bin& keys,
               std::size_t count_max) {
  const double left = ChartX(scale, EdgeOf(bin)), right = ChartX(scale, EdgeOf(bin + 1));
  const double unit = (kChartBottom - kChartTop - 16) / static_cast<double>(count_max);
  const double top = kChartBottom - std::max(2.0, unit * static_cast<double>(keys.count));
  const double middle =
      keys.over == keys.count ? kChartBottom : top + unit * static_cast<double>(keys.over);
  const std::string number = Thousands(static_cast<std::int64_t>(keys.count));
  svg.Open("g", {{"data-tip", number + (keys.count == 1 ? " key took " : " keys took ") +
                                  Duration(std::llround(EdgeOf(bin))) + " to " +
                                  Duration(std::llround(EdgeOf(bin + 1)))}});
  const double width = std::max(right - left - 2, 1.0);
  AppendColumn(svg, "column over", "url(#over-bound)", left + 1, width, top, middle);
  AppendColumn(svg, "column", "currentColor", left + 1, width, middle, kChartBottom);
  if (right - left >= 6.5 * static_cast<double>(number.size()))
    svg.Leaf("text", {{"class", "count"}, {"x", (left + right) / 2}, {"y", top - 5}}, number);
  svg.Close("g");
}

void AppendChartAxis(Markup& svg, const LogScale& scale) {
  svg.Leaf("line", {{"class", "axis"},
                    {"x1", kChartLeft},
                    {"x2", kChartRight},
                    {"y1", kChartBottom},
                    {"y2", kChartBottom}});
  for (const std::int64_t tick : scale.Ticks()) {
    const double x = ChartX(scale, static_cast<double>(tick));
    svg.Leaf(
        "line",
        {{"class", "axis"}, {"x1", x}, {"x2", x}, {"y1", kChartBottom}, {"y2", kChartBottom + 5}});
    const char* anchor = x < kChartLeft + 14 ? "start" : x > kChartRight - 14 ? "end" : "middle";
    svg.Leaf("text",
             {{"class", "tick"}, {"x", x}, {"y", kChartBottom + 20}, {"text-anchor", anchor}},
             Duration(tick));
  }
}

void AppendBound(Markup& svg, const LogScale& scale, std::int64_t bound_ms) {
  const double x = ChartX(scale, static_cast<double>(bound_ms));
  svg.Leaf(
      "line",
      {{"class", "bound"}, {"x1", x}, {"x2", x}, {"y1", kChartTop - 12}, {"y2", kChartBottom}});
  const bool left = x > (kChartLeft + kChartRight) / 2;
  svg.Leaf("text",
           {{"class", "bound-text"},
            {"x", left ? x - 6 : x + 6},
            {"y", kChartTop - 4},
            {"text-anchor", left ? "end" : "start"}},
           "bound " + Duration(bound_ms));
}

using Link = std::pair<std::string, std::string>;

/// The links to show: the slowest when there are too many, in the order of their names.
std::vector<Link> LinksToShow(const Figures& figures) {
  std::vector<Link> links;
  for (const auto& [link, quantiles] : figures.lag_by_link) links.push_back(link);
  if (links.size() <= kLinksMax) return links;
  std::stable_sort(links.begin(), links.end(), [&figures](const Link& a, const Link& b) {
    return figures.lag_by_link.at(a).max > figures.lag_by_link.at(b).max;
  });
  links.resize(kLinksMax);
  std::sort(links.begin(), links.end());
  return links;
}

void AppendLinkColumns(Markup& svg, const std::map<std::int64_t, LagSample>& columns,
                       const LogScale& scale, double bottom, std::int64_t bound_ms) {
  for (const auto& [column, sample] : columns) {
    const bool over = sample.lag_ms > bound_ms;
    const double height =
        std::max(2.0, scale.Position(static_cast<double>(sample.lag_ms)) * kLinkHeight);
    svg.Leaf("rect",
             {{"class", over ? "lag over" : "lag"},
              {"x", static_cast<double>(column) * kColumnWidth},
              {"y", bottom - height},
              {"width", kColumnWidth - 1},
              {"height", height},
              {"data-tip", sample.from + " → " + sample.to + "\nlag " + Thousands(sample.lag_ms) +
                               " ms at " + MomentText(sample.at_ms)}});
  }
}

void AppendLinkRow(Strip& strip, const History& history, const Figures& figures, const Link& link,
                   const TimeScale& time, const LogScale& height_scale) {
  std::map<std::int64_t, LagSample> columns;  // the longest in each column of pixels
  for (const LagSample& sample : history.lags) {
    if (sample.from != link.first || sample.to != link.second) continue;
    LagSample& longest =
        columns.try_emplace(static_cast<std::int64_t>(time.X(sample.at_ms) / kColumnWidth), sample)
            .first->second;
    if (sample.lag_ms > longest.lag_ms) longest = sample;
  }
  const double top = strip.height, bottom = top + kLinkHeight;
  strip.plot.Leaf("rect", {{"class", "lane"},
                           {"x", 0},
                           {"y", top},
                           {"width", kPlotWidth},
                           {"height", kLinkHeight},
                           {"rx", 3}});
  const double bound =
      bottom - height_scale.Position(static_cast<double>(history.lag_bound_ms)) * kLinkHeight;
  AppendLinkColumns(strip.plot, columns, height_scale, bottom, history.lag_bound_ms);
  strip.plot.Leaf(
      "line", {{"class", "bound"}, {"x1", 0}, {"x2", kPlotWidth}, {"y1", bound}, {"y2", bound}});
  const Quantiles& lag = figures.lag_by_link.at(link);
  strip.names.Leaf("text",
                   {{"class", "link-name"},
                    {"x", 0},
                    {"y", top + 17},
                    {"data-tip", link.first + " → " + link.second}},
                   Shortened(link.first, 7) + " → " + Shortened(link.second, 7));
  strip.names.Leaf("text", {{"class", "link-lag"}, {"x", 0}, {"y", top + 34}},
                   "p50 " + Duration(lag.p50) + " · max " + Duration(lag.max));
  strip.height += kLinkHeight + kLinkGap;
}

}  // namespace

void AppendConvergence(Markup& page, const History& history, const Figures& figures) {
  std::map<int, Bin> bins;
  std::size_t count_max = 1;
  for (const Convergence& convergence : history.convergences) {
    Bin& bin = bins[BinOf(convergence.took_ms)];
    count_max = std::max(count_max, ++bin.count);
    bin.over += convergence.took_ms > history.lag_bound_ms;
  }
  const int bound_bin = BinOf(std::max<std::int64_t>(history.lag_bound_ms, 1));
  const int low = std::min(bins.begin()->first, bound_bin);
  const int high = std::max(bins.rbegin()->first, bound_bin) + 2;
  const LogScale scale(EdgeOf(std::max(0, low - 1)), EdgeOf(high));
  page.Open("svg", {{"class", "chart"},
                    {"viewBox", "0 0 " + Coordinate(kChartWidth) + " " + Coordinate(kChartHeight)},
                    {"role", "img"},
                    {"aria-label", "Histogram of convergence times against the advertised bound"}});
  for (const auto& [bin, keys] : bins) AppendBin(page, scale, bin, keys, count_max);
  AppendBound(page, scale, history.lag_bound_ms);
  AppendChartAxis(page, scale);
  page.Close("svg");
  const Quantiles& took = figures.convergence;
  page.Open("dl", {{"class", "quantiles"}});
  for (const auto& [name, value] :
       {std::pair("half of the keys within", took.p50), std::pair("90 % within", took.p90),
        std::pair("99 % within", took.p99), std::pair("slowest", took.max)}) {
    page.Open("div").Leaf("dt", {}, name).Leaf("dd", {}, Duration(value)).Close("div");
  }
  page.Close("dl");
}

void AppendLags(Markup& page, const History& history, const Figures& figures) {
  const TimeScale time(figures.end_ms);
  const double longest =
      static_cast<double>(std::max({figures.lag.max, history.lag_bound_ms, std::int64_t{10}}));
  const LogScale height_scale(1, longest * 1.3);
  Strip strip;
  if (!history.violations.empty()) strip.height = kFlagsHeight;
  for (const Link& link : LinksToShow(figures))
    AppendLinkRow(strip, history, figures, link, time, height_scale);
  AppendMoments(strip, history, time, 0);
  AppendTimeAxis(strip, time);
  AppendStrip(page, strip, "Replication lag of each link over time");
  if (figures.lag_by_link.size() > kLinksMax)
    page.Leaf("p", {{"class", "note"}},
              "The " + std::to_string(kLinksMax) + " slowest of " +
                  std::to_string(figures.lag_by_link.size()) +
                  " links are shown; all are in results.json.");
}

}  // namespace once
