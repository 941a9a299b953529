// The four files of a run. With ONCE_REPORT_DIRECTORY set, the reports stay there to be looked at.
#include "simulator/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "tests/io/scratch_directory.h"
#include "tests/story/invented_run.h"

namespace once {
namespace {

namespace json = boost::json;

class Report : public ::testing::Test {
 protected:
  void Write(const History& history, const std::string& name) {
    const char* kept = std::getenv("ONCE_REPORT_DIRECTORY");
    directory_ = kept ? std::string(kept) + "/" + name : scratch_ / name;
    WriteReport(history, directory_);
  }
  std::string Read(const std::string& name) const {
    std::ifstream file(directory_ + "/" + name, std::ios::binary);
    EXPECT_TRUE(file) << name;
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::vector<json::object> Lines() const {
    std::vector<json::object> lines;
    std::istringstream text(Read("history.jsonl"));
    for (std::string line; std::getline(text, line);)
      lines.push_back(json::parse(line).as_object());
    return lines;
  }
  bool HtmlHas(const std::string& text) const {
    return Read("report.html").find(text) != std::string::npos;
  }

  ScratchDirectory scratch_;
  std::string directory_;
};

TEST_F(Report, ResultsHaveVerdictCountsAndTheCommandToReproduce) {
  InventedRun run(42);
  const History& history = run.history();
  Write(history, "passed/nested");
  const json::object results = json::parse(Read("results.json")).as_object();
  EXPECT_EQ(results.at("verdict"), "pass");
  EXPECT_EQ(results.at("seed").to_number<std::uint64_t>(), 42u);
  EXPECT_EQ(results.at("reproduce"), "once-sim run --seed 42 --scenario partition-eu");
  EXPECT_EQ(results.at("traceHash"), "00c0ffee12345678");
  EXPECT_EQ(results.at("options").at("mode"), "best-effort");
  EXPECT_TRUE(results.at("violations").as_array().empty());

  const json::value& operations = results.at("operations");
  const auto claims =
      std::count_if(history.operations.begin(), history.operations.end(),
                    [](const Operation& o) { return o.answer == Operation::Answer::kExecute; });
  EXPECT_EQ(operations.at("total").to_number<std::size_t>(), history.operations.size());
  EXPECT_EQ(operations.at("byAnswer").at("execute").to_number<std::int64_t>(), claims);
  std::size_t in_regions = 0;
  for (const auto& region : operations.at("byRegion").as_object())
    for (const auto& answer : region.value().as_object())
      in_regions += answer.value().to_number<std::size_t>();
  EXPECT_EQ(in_regions, history.operations.size());
  EXPECT_EQ(results.at("conflicts").at("total").to_number<std::size_t>(), 14u);
  EXPECT_EQ(results.at("lag").at("links").as_array().size(), 6u);
  EXPECT_EQ(results.at("faults").at("cut").to_number<int>(), 4);
}

TEST_F(Report, QuantilesAreValuesThatOccurred) {
  History history;
  history.lag_bound_ms = 99;
  for (int i = 100; i >= 1; --i) history.convergences.push_back({"k", i});
  history.lags = {{1, "eu", "us", 7}};
  Write(history, "quantiles");
  const json::object results = json::parse(Read("results.json")).as_object();
  const json::value& took = results.at("convergence");
  EXPECT_EQ(took.at("p50Ms"), 50);
  EXPECT_EQ(took.at("p90Ms"), 90);
  EXPECT_EQ(took.at("p99Ms"), 99);
  EXPECT_EQ(took.at("maxMs"), 100);
  EXPECT_EQ(took.at("overBound").to_number<int>(), 1);
  const json::value& link = results.at("lag").at("links").at(0);
  EXPECT_EQ(link.at("p50Ms"), 7);
  EXPECT_EQ(link.at("p99Ms"), 7);
}

TEST_F(Report, HistoryHasALineForEachOperationFaultAndLostRun) {
  InventedRun run(7);
  const History& history = run.history();
  Write(history, "lines");
  const std::vector<json::object> lines = Lines();
  ASSERT_EQ(lines.size(),
            1 + history.operations.size() + history.faults.size() + history.lost.size());
  EXPECT_EQ(lines[0].at("seed").to_number<int>(), 7);
  EXPECT_EQ(lines[0].at("regions").as_array().size(), 3u);
  EXPECT_EQ(lines[0].at("lagBoundMs"), 2000);

  const Operation& first = history.operations.front();
  EXPECT_EQ(lines[1], json::value({{"id", first.id},
                                   {"kind", "begin"},
                                   {"region", first.region},
                                   {"tenant", "acme"},
                                   {"key", first.key},
                                   {"body", 1u},
                                   {"invokedMs", first.invoked_ms},
                                   {"returnedMs", first.returned_ms},
                                   {"answer", "execute"},
                                   {"runId", first.run_id},
                                   {"fence", 1u},
                                   {"status", 0u},
                                   {"answerBody", ""},
                                   {"retentionMs", first.retention_ms},
                                   {"leaseMs", first.lease_ms},
                                   {"waitMs", 0},
                                   {"mismatch", "reject"},
                                   {"strict", first.strict},
                                   {"life", 0u},
                                   {"refused", false},
                                   {"lost", false}}));
  EXPECT_EQ(lines[1 + history.operations.size()].at("fault"), json::value({{"kind", "cut"},
                                                                           {"fromMs", 12000},
                                                                           {"toMs", 31000},
                                                                           {"region", "eu"},
                                                                           {"other", "us"},
                                                                           {"amount", 0}}));
  const LostRun& last = history.lost.back();
  EXPECT_EQ(lines.back().at("lost"),
            json::value({{"detectedMs", last.detected_ms},
                         {"region", last.region},
                         {"tenant", "acme"},
                         {"key", last.key},
                         {"winner", last.winner},
                         {"loser", last.loser},
                         {"regionPair", last.region_pair},
                         {"payloadDivergent", last.payload_divergent},
                         {"loserHadCompleted", last.loser_had_completed}}));
}

TEST_F(Report, OW_OP_01_MetricsCountConflictsByTenantRouteAndPair) {
  History history;
  history.lost = {{5, "us", "ac\"me", "k1", "a", "b", "eu-us", false, false},
                  {6, "us", "ac\"me", "k2", "a", "b", "eu-us", false, false}};
  history.lags = {{1, "eu", "us", 7}, {2, "eu", "us", 30}};
  Write(history, "metrics");
  const std::string text = Read("metrics.prom");
  for (const char* line :
       {"openwop_idempotency_cross_region_conflicts_total{tenant=\"ac\\\"me\",route=\"POST "
        "/pay\",region_pair=\"eu-us\"} 2\n",
        "once_sim_replication_lag_seconds_bucket{from=\"eu\",to=\"us\",le=\"0.01\"} 1\n",
        "once_sim_replication_lag_seconds_bucket{from=\"eu\",to=\"us\",le=\"+Inf\"} 2\n",
        "once_sim_replication_lag_seconds_sum{from=\"eu\",to=\"us\"} 0.037\n",
        "once_sim_violations_total 0\n", "once_sim_passed 1\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
}

TEST_F(Report, ThePageTellsTheVerdictAndShowsViolations) {
  InventedRun run(42);
  Write(run.history(), "passed");
  EXPECT_TRUE(HtmlHas("✓ PASSED"));
  EXPECT_TRUE(HtmlHas("once-sim run --seed 42 --scenario partition-eu"));
  EXPECT_FALSE(HtmlHas("class=\"violation\""));
  for (const char* region : {"ap", "eu", "us"})
    EXPECT_TRUE(HtmlHas(std::string(">") + region + "</text>"));

  run.history().violations = {
      {"one-survivor",
       "order-3 has two survivors after healing: 01J9Z100012eu81 and 01J9Z100013us4", 52'000},
      {"counted-once", "the conflict of order-3 was counted in eu and in us", 57'500}};
  run.history().convergences.push_back({"order-3", 9'400});
  Write(run.history(), "failed");
  EXPECT_TRUE(HtmlHas("✗ FAILED"));
  EXPECT_TRUE(HtmlHas("2 promises were broken"));
  EXPECT_TRUE(HtmlHas("two survivors after healing"));
  EXPECT_FALSE(HtmlHas("were kept"));
  EXPECT_NE(Read("metrics.prom").find("once_sim_violations_total{checker=\"one-survivor\"} 1\n"),
            std::string::npos);
  EXPECT_EQ(json::parse(Read("results.json")).at("verdict"), "fail");
}

TEST_F(Report, AListOfViolationsThatWasCutSaysSo) {
  History history;
  history.violations = {{"survivor", "one", 1}, {"survivor", "two", 2}};
  history.violations_left_out = 7;
  Write(history, "cut");
  EXPECT_TRUE(HtmlHas("9 promises were broken"));
  EXPECT_TRUE(HtmlHas("Only the first 2 were kept."));
  EXPECT_EQ(json::parse(Read("results.json")).at("violationsLeftOut").to_number<int>(), 7);
}

TEST_F(Report, PicturesOfNothingAreLeftOut) {
  const char* const panels[] = {"Time to converge", "Replication lag", ">Converged<"};
  Write(InventedRun(42).history(), "everything");
  for (const char* panel : panels) EXPECT_TRUE(HtmlHas(panel)) << panel;
  History strict = InventedRun(42).history();
  strict.convergences.clear();
  strict.lags.clear();
  Write(strict, "strict");
  for (const char* panel : panels) EXPECT_FALSE(HtmlHas(panel)) << panel;
  EXPECT_TRUE(HtmlHas("What callers heard"));
}

TEST_F(Report, AHostileKeyStaysText) {
  const std::string hostile = "</script><b onmouseover='x'>&\"\n\xc3\x28";
  InventedRun run(3);
  History& history = run.history();
  history.scenario = hostile;
  history.regions.push_back(hostile);
  history.options.push_back({hostile, hostile});
  history.violations.push_back({hostile, hostile, 10});
  history.faults.push_back({Fault::Kind::kCrash, 0, 10, hostile, hostile, 0});
  history.lags.push_back({10, hostile, "eu", 5});
  history.lost.front() = {
      31'000,  hostile, hostile, hostile, history.lost[0].winner, history.lost[0].loser,
      hostile, true,    true};
  for (Operation& operation : history.operations) {
    operation.key = hostile;
    operation.answer_body = hostile;
  }
  Write(history, "hostile");
  EXPECT_FALSE(HtmlHas("<b onmouseover"));
  EXPECT_TRUE(
      HtmlHas("&lt;/script&gt;&lt;b onmouseover=&#39;x&#39;&gt;&amp;&quot;&#10;\xef\xbf\xbd("));
  const std::string page = Read("report.html");
  EXPECT_EQ(page.find("</script>"), page.rfind("</script>"));
  EXPECT_EQ(page.find("http://"), std::string::npos);
  EXPECT_EQ(page.find("https://"), std::string::npos);
  const json::object results = json::parse(Read("results.json")).as_object();
  EXPECT_EQ(
      results.at("reproduce"),
      "once-sim run --seed 3 --scenario '</script><b onmouseover='\\''x'\\''>&\"\n\xef\xbf\xbd('");
  EXPECT_EQ(Lines().at(1).at("key"), "</script><b onmouseover='x'>&\"\n\xef\xbf\xbd(");
}

TEST_F(Report, AnEmptyRunHasAReport) {
  Write(History{}, "empty");
  EXPECT_EQ(json::parse(Read("results.json")).at("reproduce"), "once-sim run --seed 0");
  EXPECT_TRUE(HtmlHas("Nobody called."));
}

TEST_F(Report, TheSameHistoryGivesTheSameBytes) {
  std::map<std::string, std::string> first;
  const char* const names[] = {"results.json", "history.jsonl", "metrics.prom", "report.html"};
  Write(InventedRun(11).history(), "first");
  for (const char* name : names) first[name] = Read(name);
  Write(InventedRun(11).history(), "second");
  for (const char* name : names) EXPECT_EQ(Read(name), first[name]) << name;
}

TEST_F(Report, ThePageDoesNotGrowWithTheRun) {
  InventedRun run(5);
  const std::vector<Operation> operations = run.history().operations;
  Write(run.history(), "small");
  const std::size_t small = Read("report.html").size();
  for (int i = 0; i < 40; ++i)
    run.history().operations.insert(run.history().operations.end(), operations.begin(),
                                    operations.end());
  Write(run.history(), "large");
  EXPECT_LT(Read("report.html").size(), small * 3);
}

TEST_F(Report, TryingAPlaceLeavesAnOlderReportAlone) {
  Write(InventedRun(11).history(), "tried");
  const std::string older = Read("results.json");
  TryReport(directory_);
  EXPECT_EQ(Read("results.json"), older);
}

TEST_F(Report, AFileInTheWayIsNamed) {
  std::ofstream(scratch_ / "taken") << "x";
  try {
    WriteReport(History{}, scratch_ / "taken");
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find(scratch_ / "taken"), std::string::npos);
  }
  EXPECT_THROW(TryReport(scratch_ / "taken"), std::runtime_error);
  std::filesystem::create_directories(scratch_ / "half/report.html");
  EXPECT_THROW(TryReport(scratch_ / "half"), std::runtime_error);
  EXPECT_THROW(WriteReport(History{}, scratch_ / "half"), std::runtime_error);
}

}  // namespace
}  // namespace once
