#include "simulator/report_metrics.h"

#include <array>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "simulator/report_words.h"

namespace once {
namespace {

/// Simulated callers use this route alone (BeginCommand).
constexpr std::string_view kRoute = "POST /pay";

/// Upper edges of the buckets; a node's links answer in tens of milliseconds, a healed one in
/// seconds to minutes.
constexpr std::array<std::int64_t, 15> kEdgesMs = {
    5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000, 60000, 300000, 600000};

struct Label {
  std::string_view name;
  std::string_view value;
};

std::string Labels(std::initializer_list<Label> labels) {
  std::string out;
  for (const Label& label : labels) {
    out += out.empty() ? "{" : ",";
    out.append(label.name) += "=\"";
    for (const char c : Utf8(label.value)) {
      if (c == '\\' || c == '"') out += '\\';
      if (c == '\n') {
        out += "\\n";
      } else {
        out += c;
      }
    }
    out += '"';
  }
  return out + "}";
}

void Describe(std::ostream& out, std::string_view name, std::string_view type,
              std::string_view help) {
  out << "# HELP " << name << ' ' << help << "\n# TYPE " << name << ' ' << type << '\n';
}

/// Milliseconds as seconds without the rounding of a double.
std::string Seconds(std::int64_t ms) {
  std::string out = std::to_string(ms / 1000);
  if (ms % 1000 == 0) return out;
  const std::string thousandths = std::to_string(1000 + ms % 1000).substr(1);
  out += "." + thousandths;
  return out.substr(0, out.find_last_not_of('0') + 1);
}

void WriteBuckets(std::ostream& out, std::string_view name, std::string_view from,
                  std::string_view to, const std::vector<std::int64_t>& values) {
  std::int64_t sum = 0;
  for (const std::int64_t value : values) sum += value;
  const auto bucket = [&](const std::string& edge, std::size_t count) {
    out << name << "_bucket"
        << (from.empty() ? Labels({{"le", edge}})
                         : Labels({{"from", from}, {"to", to}, {"le", edge}}))
        << ' ' << count << '\n';
  };
  for (const std::int64_t edge : kEdgesMs) {
    std::size_t count = 0;
    for (const std::int64_t value : values) count += value <= edge;
    bucket(Seconds(edge), count);
  }
  bucket("+Inf", values.size());
  const std::string labels = from.empty() ? "" : Labels({{"from", from}, {"to", to}});
  out << name << "_sum" << labels << ' ' << Seconds(sum) << '\n';
  out << name << "_count" << labels << ' ' << values.size() << '\n';
}

void WriteOperations(const History& history, std::ostream& out) {
  std::map<std::tuple<std::string, Operation::Kind, Operation::Answer>, std::size_t> counts;
  for (const Operation& operation : history.operations)
    ++counts[{operation.region, operation.kind, operation.answer}];
  Describe(out, "once_sim_operations_total", "counter", "Calls of simulated callers.");
  for (const auto& [labels, count] : counts) {
    const auto& [region, kind, answer] = labels;
    out << "once_sim_operations_total"
        << Labels({{"region", region}, {"kind", Word(kind)}, {"answer", Word(answer)}}) << ' '
        << count << '\n';
  }
}

void WriteConflicts(const History& history, std::ostream& out) {
  constexpr std::string_view kName = "openwop_idempotency_cross_region_conflicts_total";
  std::map<std::pair<std::string, std::string>, std::size_t> counts;
  for (const LostRun& lost : history.lost) ++counts[{lost.tenant, lost.region_pair}];
  Describe(out, kName, "counter", "Runs that lost to a run of another region.");
  for (const auto& [labels, count] : counts)
    out << kName
        << Labels({{"tenant", labels.first}, {"route", kRoute}, {"region_pair", labels.second}})
        << ' ' << count << '\n';
}

void WriteTimes(const History& history, std::ostream& out) {
  std::map<std::pair<std::string, std::string>, std::vector<std::int64_t>> links;
  for (const LagSample& sample : history.lags)
    links[{sample.from, sample.to}].push_back(sample.lag_ms);
  Describe(out, "once_sim_replication_lag_seconds", "histogram",
           "From a frame's making to the peer's acknowledgement.");
  for (const auto& [link, values] : links)
    WriteBuckets(out, "once_sim_replication_lag_seconds", link.first, link.second, values);

  std::vector<std::int64_t> took;
  for (const Convergence& convergence : history.convergences) took.push_back(convergence.took_ms);
  Describe(out, "once_sim_convergence_seconds", "histogram",
           "Until a key was the same in every region.");
  WriteBuckets(out, "once_sim_convergence_seconds", "", "", took);
}

void WriteViolations(const History& history, std::ostream& out) {
  std::map<std::string, std::size_t> counts;
  for (const Violation& violation : history.violations) ++counts[violation.checker];
  Describe(out, "once_sim_violations_total", "counter",
           "Broken promises by the checker that saw it.");
  // A sample even when there is none: absence would read as "not measured".
  if (counts.empty()) out << "once_sim_violations_total 0\n";
  for (const auto& [checker, count] : counts)
    out << "once_sim_violations_total" << Labels({{"checker", checker}}) << ' ' << count << '\n';
}

}  // namespace

void WriteMetrics(const History& history, const Figures& figures, std::ostream& out) {
  Describe(out, "once_sim_passed", "gauge", "1 when no promise was broken.");
  out << "once_sim_passed " << (figures.passed ? 1 : 0) << '\n';
  WriteViolations(history, out);
  WriteConflicts(history, out);
  WriteOperations(history, out);
  WriteTimes(history, out);
  Describe(out, "once_sim_replication_lag_bound_seconds", "gauge", "The advertised bound.");
  out << "once_sim_replication_lag_bound_seconds " << Seconds(history.lag_bound_ms) << '\n';
  Describe(out, "once_sim_messages_total", "counter", "Messages between regions.");
  out << "once_sim_messages_total " << history.messages << '\n';
  Describe(out, "once_sim_message_bytes_total", "counter", "Their bytes.");
  out << "once_sim_message_bytes_total " << history.message_bytes << '\n';
}

}  // namespace once
