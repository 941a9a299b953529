#include "simulator/report.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <system_error>

#include "simulator/report_figures.h"
#include "simulator/report_html.h"
#include "simulator/report_json.h"
#include "simulator/report_metrics.h"

namespace once {
namespace {

constexpr const char* kNames[] = {"results.json", "history.jsonl", "metrics.prom", "report.html"};

void WriteFile(const std::filesystem::path& path, std::ios::openmode mode,
               const std::function<void(std::ostream&)>& write) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | mode);
  if (file) write(file);
  file.close();
  if (!file) {
    const std::string reason = errno != 0 ? std::strerror(errno) : "unknown error";
    throw std::runtime_error("cannot write " + path.string() + ": " + reason);
  }
}

}  // namespace

void TryReport(const std::string& directory) {
  const std::filesystem::path root(directory);
  std::error_code error;
  std::filesystem::create_directories(root, error);
  // A path that exists and is no directory is not an error to create_directories everywhere.
  if (!error && !std::filesystem::is_directory(root, error) && !error)
    error = std::make_error_code(std::errc::not_a_directory);
  if (error)
    throw std::runtime_error("cannot create the directory " + directory + ": " + error.message());
  for (const char* name : kNames) WriteFile(root / name, std::ios::app, [](std::ostream&) {});
}

void WriteReport(const History& history, const std::string& directory) {
  TryReport(directory);
  const std::filesystem::path root(directory);
  const Figures figures = FiguresOf(history);
  const std::function<void(std::ostream&)> writers[] = {
      [&](std::ostream& out) { WriteResults(history, figures, out); },
      [&](std::ostream& out) { WriteHistoryLines(history, out); },
      [&](std::ostream& out) { WriteMetrics(history, figures, out); },
      [&](std::ostream& out) { out << ReportHtml(history, figures); }};
  for (std::size_t i = 0; i < std::size(kNames); ++i)
    WriteFile(root / kNames[i], std::ios::trunc, writers[i]);
}

}  // namespace once
