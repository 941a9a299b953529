#include "simulator/report_html.h"

#include <string_view>
#include <utility>

#include "simulator/report_charts_svg.h"
#include "simulator/report_faults_svg.h"
#include "simulator/report_markup.h"
#include "simulator/report_style.h"
#include "simulator/report_tables.h"
#include "simulator/report_timeline_svg.h"
#include "simulator/report_words.h"

namespace once {
namespace {

std::string Figure(std::size_t number) {
  return Thousands(static_cast<std::int64_t>(number));
}

std::string Counted(std::size_t number, std::string_view one, std::string_view many) {
  return Figure(number) + " " + std::string(number == 1 ? one : many);
}

std::string Percent(std::size_t part, std::size_t all) {
  return all == 0 ? "0 %" : std::to_string((part * 100 + all / 2) / all) + " %";
}

void AppendHead(Markup& page, const History& history, const Figures& figures) {
  page.Raw(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n");
  page.Leaf("title", {},
            std::string(figures.passed ? "Passed" : "Failed") + ": once-sim seed " +
                std::to_string(history.seed));
  page.Raw("<style>").Raw(kReportStyle).Raw("</style></head><body><main>\n");
}

void AppendVerdict(Markup& page, const History& history, const Figures& figures) {
  page.Open("header", {{"class", figures.passed ? "passed" : "failed"}});
  page.Open("div", {{"class", "verdict"}});
  page.Leaf("span", {{"class", "badge"}}, figures.passed ? "✓ PASSED" : "✗ FAILED");
  page.Leaf("h1", {},
            figures.passed ? "Every promise was kept"
                           : Counted(history.violations.size() + history.violations_left_out,
                                     "promise was", "promises were") +
                                 " broken");
  page.Close("div").Open("p", {{"class", "facts"}});
  page.Text("Seed ").Leaf("b", {}, std::to_string(history.seed));
  page.Text(" · scenario ")
      .Leaf("b", {}, history.scenario.empty() ? "drawn from the seed" : history.scenario);
  page.Text(" · regions ");
  std::string regions;
  for (const std::string& region : history.regions)
    regions += (regions.empty() ? "" : ", ") + region;
  if (history.strict) regions += " in a strict group";
  page.Leaf("b", {}, regions).Text(" · ").Leaf("b", {}, Duration(figures.end_ms));
  page.Text(" of virtual time").Close("p");
  page.Open("div", {{"class", "command"}}).Leaf("span", {}, "See it again:");
  page.Leaf("code", {{"id", "command"}}, figures.reproduce);
  page.Leaf("button", {{"id", "copy"}, {"type", "button"}}, "Copy").Close("div").Close("header");
}

void AppendTile(Markup& page, std::string_view name, std::string_view value,
                std::string_view remark) {
  page.Open("div", {{"class", "tile"}}).Leaf("dt", {}, name).Open("dd").Text(value);
  page.Leaf("small", {}, remark).Close("dd").Close("div");
}

void AppendTiles(Markup& page, const History& history, const Figures& figures) {
  const std::size_t all = history.operations.size();
  const auto share = [&](std::string_view name, Meaning meaning, std::string_view remark) {
    const std::size_t count = CountOf(figures.by_meaning, meaning);
    AppendTile(page, name, Figure(count), Percent(count, all) + " " + std::string(remark));
  };
  page.Open("dl", {{"class", "tiles"}});
  AppendTile(page, "Operations", Figure(all),
             Counted(CountOf(figures.by_kind, Operation::Kind::kBegin), "begin", "begins"));
  share("Claims", Meaning::kClaim, "told to execute");
  share("Replays", Meaning::kReplay, "served from the store");
  share("Refusals", Meaning::kRefusal, "told to wait or stop");
  share("No answer", Meaning::kUnheard, "never heard back");
  AppendTile(page, "Conflicts", Figure(history.lost.size()),
             Figure(figures.loser_had_completed) + " after completion");
  if (!history.convergences.empty())
    AppendTile(page, "Converged", Duration(figures.convergence.p99),
               "99 % of keys, bound " + Duration(history.lag_bound_ms));
  if (history.strict)
    AppendTile(
        page, "Leaders", Figure(history.leaders.size()),
        "up to term " + std::to_string(history.leaders.empty() ? 0 : history.leaders.back().term));
  AppendTile(page, "Messages", Figure(history.messages), Bytes(history.message_bytes));
  page.Close("dl");
}

template <class Draw>
void AppendLegendEntry(Markup& page, std::string_view text, double width, Draw draw) {
  page.Open("li").Open("svg", {{"width", width}, {"height", 16}, {"aria-hidden", "true"}});
  draw();
  page.Close("svg").Text(text).Close("li");
}

void AppendLegend(Markup& page, const History& history, const Figures& figures) {
  page.Open("ul", {{"class", "legend"}});
  for (const auto& [meaning, text] :
       {std::pair(Meaning::kClaim, "claim: told to execute"),
        std::pair(Meaning::kReplay, "replay: told the earlier answer"),
        std::pair(Meaning::kRefusal, "refusal: told to wait or stop"),
        std::pair(Meaning::kUnheard, "no answer")})
    AppendLegendEntry(page, text, 14,
                      [&page, shown = meaning] { AppendMark(page, shown, 7, 8, 4.5); });
  if (!history.lost.empty()) {
    AppendLegendEntry(page, "from the losing run to the winner", 34,
                      [&] { AppendArrow(page, 0, 12, 34, 4); });
    AppendLegendEntry(page, "the region learns that its run lost", 14,
                      [&] { AppendLostMark(page, 7, 8); });
  }
  if (!history.leaders.empty())
    AppendLegendEntry(page, "begins to lead the strict group, in that term", 18, [&] {
      page.Leaf("text", {{"class", "leader"}, {"x", 0}, {"y", 12}}, "▸2");
    });
  for (const auto& [kind, count] : figures.faults) {
    std::string text(Word(kind));
    for (char& c : text)
      if (c == '-') c = ' ';
    AppendLegendEntry(page, text, 26, [&page, shown = kind] {
      for (const char* layer : {"bar-ground", "bar"})
        page.Leaf("rect", {{"class", layer},
                           {"x", 1},
                           {"y", 2},
                           {"width", 24},
                           {"height", 12},
                           {"rx", 3},
                           {"fill", PatternOf(shown)}});
    });
  }
  if (history.safety_ms > 0)
    AppendLegendEntry(page, "faults end, healing begins", 10, [&] {
      page.Leaf("line", {{"class", "heal"}, {"x1", 5}, {"x2", 5}, {"y1", 0}, {"y2", 16}});
    });
  if (!history.violations.empty())
    AppendLegendEntry(page, "violation", 10, [&] {
      page.Leaf("line", {{"class", "violation"}, {"x1", 5}, {"x2", 5}, {"y1", 0}, {"y2", 16}});
    });
  page.Close("ul");
}

void OpenSection(Markup& page, std::string_view kind, std::string_view title,
                 std::string_view lead) {
  page.Open("section", {{"class", kind}}).Leaf("h2", {}, title);
  if (!lead.empty()) page.Leaf("p", {{"class", "lead"}}, lead);
}

void AppendPictures(Markup& page, const History& history, const Figures& figures) {
  OpenSection(
      page, "timeline", "What happened",
      "Virtual time runs to the right. A lane is shaded while a fault concerned its region; "
      "larger marks stand for several operations. Point at anything for its details.");
  AppendLegend(page, history, figures);
  AppendTimeline(page, history, figures);
  page.Close("section");
  // A world in which everything is strict has nothing to converge, and no gossip to lag.
  const bool converged = !history.convergences.empty();
  if (converged) {
    page.Open("div", {{"class", "two"}});
    OpenSection(
        page, "convergence", "Time to converge",
        "Until a key was the same in every region, counted from the end of the faults or from "
        "the write. Hatched: beyond the bound.");
    AppendConvergence(page, history, figures);
    page.Close("section");
  }
  OpenSection(page, "answers", "What callers heard", "Every operation by its answer and region.");
  AppendAnswerTable(page, history, figures);
  page.Close("section");
  if (converged) page.Close("div");
  if (history.lags.empty()) return;
  OpenSection(page, "lags", "Replication lag",
              "From a frame’s making to the peer’s acknowledgement, at the time of the "
              "acknowledgement. Each bar is the longest lag of its moment on a logarithmic height "
              "that all links share; the dashed line is the advertised bound of " +
                  Duration(history.lag_bound_ms) + ". A link that was cut answers late.");
  AppendLags(page, history, figures);
  page.Close("section");
}

}  // namespace

std::string ReportHtml(const History& history, const Figures& figures) {
  Markup page;
  AppendHead(page, history, figures);
  AppendDefinitions(page);
  AppendVerdict(page, history, figures);
  if (!figures.passed) {
    std::string lead = "What the checkers found, under the numbers that the timeline shows.";
    if (history.violations_left_out > 0)
      lead += " Only the first " + Figure(history.violations.size()) + " were kept.";
    OpenSection(page, "violations", "Violations", lead);
    AppendViolationTable(page, history);
    page.Close("section");
  }
  AppendTiles(page, history, figures);
  AppendPictures(page, history, figures);
  OpenSection(
      page, "conflicts", Counted(history.lost.size(), "conflict", "conflicts"),
      "Runs that lost to a run of another region under the same key. The lowest run id wins "
      "everywhere; the loser is cancelled once.");
  AppendConflictTable(page, history);
  page.Close("section").Open("section");
  page.Open("details").Leaf(
      "summary", {}, Counted(history.faults.size(), "fault", "faults") + ", in the order injected");
  AppendFaultTable(page, history);
  page.Close("details").Open("details");
  page.Leaf("summary", {}, Counted(history.options.size(), "option", "options") + " of this run");
  AppendOptionTable(page, history);
  page.Close("details").Close("section");
  page.Raw("</main><div id=\"tip\" role=\"status\" hidden></div>\n<script>");
  page.Raw(kReportScript).Raw("</script></body></html>\n");
  return page.str();
}

}  // namespace once
