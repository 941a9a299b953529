#include "simulator/report_tables.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

#include "simulator/report_faults_svg.h"
#include "simulator/report_words.h"

namespace once {
namespace {

constexpr std::size_t kTableRowsMax = 300;

void OpenTable(Markup& page, std::initializer_list<std::string_view> columns) {
  page.Open("div", {{"class", "scroll"}, {"tabindex", "0"}}).Open("table").Open("thead").Open("tr");
  for (const std::string_view column : columns) page.Leaf("th", {{"scope", "col"}}, column);
  page.Close("tr").Close("thead").Open("tbody");
}

void CloseTable(Markup& page, std::size_t rows, std::string_view file) {
  page.Close("tbody").Close("table").Close("div");
  if (rows > kTableRowsMax)
    page.Leaf("p", {{"class", "note"}},
              "The first " + Thousands(kTableRowsMax) + " of " +
                  Thousands(static_cast<std::int64_t>(rows)) + " rows. All are in " +
                  std::string(file) + ".");
}

void Cell(Markup& page, std::string_view kind, std::string_view text) {
  page.Leaf("td", {{"class", kind}}, text);
}

void AppendFlags(Markup& page, const LostRun& lost) {
  page.Open("td", {{"class", "flags"}});
  if (lost.payload_divergent) page.Leaf("span", {{"class", "chip"}}, "payloads differ");
  if (lost.loser_had_completed) page.Leaf("span", {{"class", "chip"}}, "loser had completed");
  if (!lost.payload_divergent && !lost.loser_had_completed) page.Text("–");
  page.Close("td");
}

}  // namespace

void AppendViolationTable(Markup& page, const History& history) {
  OpenTable(page, {"", "When", "Checker", "What was broken"});
  for (std::size_t i = 0; i < std::min(history.violations.size(), kTableRowsMax); ++i) {
    const Violation& violation = history.violations[i];
    page.Open("tr");
    Cell(page, "number strong", "V" + std::to_string(i + 1));
    Cell(page, "number", MomentText(violation.at_ms));
    Cell(page, "strong", violation.checker);
    Cell(page, "prose", violation.what);
    page.Close("tr");
  }
  CloseTable(page, history.violations.size(), "results.json");
}

void AppendConflictTable(Markup& page, const History& history) {
  if (history.lost.empty()) {
    page.Leaf("p", {{"class", "empty"}}, "No run lost to another one.");
    return;
  }
  OpenTable(page,
            {"Found", "Key", "Tenant", "Regions", "Winner", "Loser", "Loser’s home", "Flags"});
  for (std::size_t i = 0; i < std::min(history.lost.size(), kTableRowsMax); ++i) {
    const LostRun& lost = history.lost[i];
    page.Open("tr");
    Cell(page, "number", MomentText(lost.detected_ms));
    Cell(page, "code", lost.key);
    Cell(page, "", lost.tenant);
    Cell(page, "pair", lost.region_pair);
    Cell(page, "code", lost.winner);
    Cell(page, "code", lost.loser);
    Cell(page, "", lost.region);
    AppendFlags(page, lost);
    page.Close("tr");
  }
  CloseTable(page, history.lost.size(), "results.json");
}

void AppendFaultTable(Markup& page, const History& history) {
  if (history.faults.empty()) {
    page.Leaf("p", {{"class", "empty"}}, "Nothing was made to fail.");
    return;
  }
  OpenTable(page, {"From", "To", "Lasted", "Fault"});
  for (std::size_t i = 0; i < std::min(history.faults.size(), kTableRowsMax); ++i) {
    const Fault& fault = history.faults[i];
    page.Open("tr");
    Cell(page, "number", MomentText(fault.from_ms));
    Cell(page, "number", MomentText(fault.to_ms));
    Cell(page, "number", Duration(fault.to_ms - fault.from_ms));
    Cell(page, "", FaultText(fault));
    page.Close("tr");
  }
  CloseTable(page, history.faults.size(), "history.jsonl");
}

void AppendAnswerTable(Markup& page, const History& history, const Figures& figures) {
  if (history.operations.empty()) {
    page.Leaf("p", {{"class", "empty"}}, "Nobody called.");
    return;
  }
  page.Open("div", {{"class", "scroll"}, {"tabindex", "0"}}).Open("table").Open("thead").Open("tr");
  page.Leaf("th", {{"scope", "col"}}, "Answer");
  for (const auto& [region, answers] : figures.by_region)
    page.Leaf("th", {{"scope", "col"}, {"class", "number"}}, region);
  page.Leaf("th", {{"scope", "col"}, {"class", "number"}}, "All");
  page.Close("tr").Close("thead").Open("tbody");
  for (const Operation::Answer answer : kAnswers) {
    const std::size_t all = CountOf(figures.by_answer, answer);
    if (all == 0) continue;
    page.Open("tr").Leaf("th", {{"scope", "row"}}, Word(answer));
    for (const auto& [region, answers] : figures.by_region)
      Cell(page, "number", Thousands(static_cast<std::int64_t>(CountOf(answers, answer))));
    Cell(page, "number strong", Thousands(static_cast<std::int64_t>(all)));
    page.Close("tr");
  }
  page.Close("tbody").Close("table").Close("div");
}

void AppendOptionTable(Markup& page, const History& history) {
  OpenTable(page, {"Option", "Value"});
  for (const auto& [name, value] : history.options) {
    page.Open("tr").Leaf("th", {{"scope", "row"}}, name);
    Cell(page, "code", value);
    page.Close("tr");
  }
  CloseTable(page, 0, "results.json");
}

}  // namespace once
