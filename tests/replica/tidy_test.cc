// Style that a machine can judge, judged: sizes, names, banned calls and the direction of includes.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <span>
#include <string_view>

namespace once {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFileLinesMax = 500;
constexpr std::size_t kLineColumnsMax = 100;

struct SourceFile {
  std::string path;  // from the root of the project
  std::vector<std::string> lines;

  bool In(std::string_view folder) const { return path.rfind(folder, 0) == 0; }
  bool IsHeader() const { return path.ends_with(".h"); }
};

struct Breach {
  std::string rule;
  std::string path;
  std::size_t line;  // from 1; 0: the file as a whole
};

// Time, chance, threads, sockets and disks belong to these: the world, and what tests it.
constexpr const char* kImpureFolders[] = {"replica/io/", "tests/io/", "tests/system/",
                                          "tests/bench/"};

// The only other places that may touch the world.
struct Exception {
  const char* path;
  const char* rule;
  const char* reason;
};
constexpr Exception kExceptions[] = {
    {"replica/metrics.cc", "thread", "a scrape may come from another thread than the replica's"},
    {"simulator/once_sim/swarm.cc", "clock", "shows a person how many seeds a second it does"},
    {"replica/ledger/command.proto", "line-length", "a command per line reads as a table"},
};

struct LineRule {
  const char* name;
  const char* pattern;
};
// Written so that no pattern is its own breach.
constexpr LineRule kEverywhere[] = {
    {"reminder", R"(\b(TO[D]O|FIX[M]E|X[X]X)\b)"},
    {"coroutine", R"(\bco_(await|return|yield)\b)"},
    {"vague-name", R"(\b(class|struct)\s+\w*(Manager|Utils?|Helpers?|Common)\b)"},
};
constexpr LineRule kInTests[] = {
    {"sleep", R"(\b(sleep_for|sleep_until|usleep|nanosleep|sleep)\s*\()"},
};
constexpr LineRule kOutsideTheWorld[] = {
    {"thread", R"(#include <(thread|mutex|shared_mutex|condition_variable|future)>)"},
    {"clock", R"(\b(system|steady|high_resolution)_clock\b)"},
    {"chance", R"(#include <rando[m]>|\bstd::s?rand\b|\brandom_[d]evice\b)"},
    {"socket", R"(#include [<"](boost/asio|boost/beast|openssl/ssl))"},
    {"disk", R"(#include [<"]rocksdb/)"},
};

bool Impure(const SourceFile& file) {
  return std::any_of(std::begin(kImpureFolders), std::end(kImpureFolders),
                     [&](const char* folder) { return file.In(folder); });
}

void CheckLines(const SourceFile& file, std::span<const LineRule> rules, std::vector<Breach>& out) {
  for (const LineRule& rule : rules) {
    const std::regex pattern(rule.pattern, std::regex::optimize);
    for (std::size_t i = 0; i < file.lines.size(); ++i)
      if (std::regex_search(file.lines[i], pattern)) out.push_back({rule.name, file.path, i + 1});
  }
}

std::size_t Columns(std::string_view line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;  // UTF-8: first bytes only
  }));
}

void CheckSizes(const SourceFile& file, std::vector<Breach>& out) {
  if (file.lines.size() > kFileLinesMax) out.push_back({"file-length", file.path, 0});
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const std::string& line = file.lines[i];
    if (Columns(line) <= kLineColumnsMax || line.find("://") != std::string::npos) continue;
    out.push_back({"line-length", file.path, i + 1});
  }
}

void CheckName(const SourceFile& file, std::vector<Breach>& out) {
  static const std::regex kVague(R"((^|_)(manager|utils?|helpers?|common)\.\w+$)");
  const std::string name = fs::path(file.path).filename();
  if (std::regex_search(name, kVague)) out.push_back({"vague-name", file.path, 0});
}

void CheckHeader(const SourceFile& file, std::vector<Breach>& out) {
  if (!file.IsHeader()) return;
  if (file.lines.empty() || file.lines[0].rfind("//", 0) != 0)
    out.push_back({"header-comment", file.path, 1});
  if (std::count(file.lines.begin(), file.lines.end(), "#pragma once") != 1)
    out.push_back({"pragma-once", file.path, 0});
}

// What `file` may include, as the architecture says it.
bool MayInclude(const SourceFile& file, std::string_view header, bool quoted) {
  const auto of = [&](std::string_view folder) { return header.rfind(folder, 0) == 0; };
  if (file.In("conflict/")) {
    if (quoted) return of("conflict/");
    return header.find('/') == std::string_view::npos || of("google/protobuf/");
  }
  if (file.In("consensus/")) {
    // The last four know nothing but std.
    if (quoted)
      return of("consensus/") || header == "conflict/mutation.h" || header == "conflict/probe.h" ||
             header == "replica/env/check.h" || header == "replica/env/random.h";
    return header.find('/') == std::string_view::npos || of("google/protobuf/");
  }
  if (file.In("replica/io/")) return !of("simulator/");
  if (file.In("replica/onced/") || file.In("replica/oncectl/")) return !of("simulator/");
  if (file.In("replica/")) return !of("replica/io/") && !of("simulator/");
  if (file.In("simulator/")) return !of("replica/io/");
  return true;
}

void CheckIncludes(const SourceFile& file, std::vector<Breach>& out) {
  static const std::regex kInclude(R"(^#include ([<"])([^>"]+)[>"])");
  std::smatch match;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    if (!file.lines[i].starts_with('#') || !std::regex_search(file.lines[i], match, kInclude))
      continue;
    const std::string header = match[2];
    const bool product = !file.In("tests/") && header.rfind("tests/", 0) == 0;
    if (product || !MayInclude(file, header, match[1] == "\""))
      out.push_back({"include-direction", file.path, i + 1});
  }
}

// Every breach, the justified ones too.
std::vector<Breach> BreachesOf(const SourceFile& file) {
  std::vector<Breach> out;
  CheckSizes(file, out);
  CheckLines(file, kEverywhere, out);
  if (file.path.ends_with(".proto")) return out;
  CheckName(file, out);
  CheckHeader(file, out);
  CheckIncludes(file, out);
  if (file.In("tests/")) CheckLines(file, kInTests, out);
  if (!Impure(file)) CheckLines(file, kOutsideTheWorld, out);
  return out;
}

SourceFile Load(const fs::path& root, const fs::path& path) {
  SourceFile file{fs::relative(path, root).generic_string(), {}};
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) file.lines.push_back(line);
  return file;
}

std::vector<SourceFile> Tree() {
  const fs::path root = ONCE_SOURCE_DIR;
  std::vector<SourceFile> files;
  for (const char* folder : {"conflict", "consensus", "replica", "simulator", "tests"}) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const fs::path extension = entry.path().extension();
      if (extension == ".h" || extension == ".cc" || extension == ".proto")
        files.push_back(Load(root, entry.path()));
    }
  }
  return files;
}

const Exception* ExceptionFor(const Breach& breach) {
  for (const Exception& exception : kExceptions)
    if (breach.path == exception.path && breach.rule == exception.rule) return &exception;
  return nullptr;
}

TEST(Tidy, TheTreeKeepsItsRules) {
  const auto files = Tree();
  ASSERT_GT(files.size(), 100u);
  for (const SourceFile& file : files)
    for (const Breach& breach : BreachesOf(file))
      if (!ExceptionFor(breach))
        ADD_FAILURE() << breach.path << ":" << breach.line << " breaks " << breach.rule;
}

TEST(Tidy, EveryExceptionIsStillNeeded) {
  std::set<const Exception*> used;
  for (const Exception& exception : kExceptions)
    for (const Breach& breach :
         BreachesOf(Load(ONCE_SOURCE_DIR, fs::path(ONCE_SOURCE_DIR) / exception.path)))
      used.insert(ExceptionFor(breach));
  for (const Exception& exception : kExceptions)
    EXPECT_TRUE(used.count(&exception)) << exception.path << " no longer needs " << exception.rule;
}

// One example per rule. A '~' is left out of it: with it, this file does not break the rule.
TEST(Tidy, EveryRuleFindsItsExample) {
  struct Example {
    const char* rule;
    const char* path;
    std::string line;
  };
  const Example examples[] = {
      {"reminder", "replica/a.cc", "// TO~DO later"},
      {"coroutine", "replica/io/a.cc", "co_~await x;"},
      {"vague-name", "replica/a.cc", "class Claim~Manager {"},
      {"vague-name", "replica/claim_utils.cc", ""},
      {"sleep", "tests/system/a.cc", "sleep~(1);"},
      {"thread", "replica/a.cc", "#include ~<mutex>"},
      {"clock", "tests/replica/a.cc", "std::chrono::steady~_clock::now()"},
      {"chance", "simulator/a.cc", "#include ~<random>"},
      {"socket", "replica/api/a.cc", "#include ~<boost/asio/post.hpp>"},
      {"disk", "replica/storage/a.cc", "#include ~<rocksdb/db.h>"},
      {"line-length", "replica/a.cc", std::string(101, 'a')},
      {"include-direction", "conflict/a.cc", "#include \"replica/limits.h\""},
      {"include-direction", "conflict/a.cc", "#include <boost/json.hpp>"},
      {"include-direction", "consensus/a.cc", "#include \"replica/env/scheduler.h\""},
      {"include-direction", "replica/api/a.cc", "#include \"replica/io/log.h\""},
      {"include-direction", "replica/a.cc", "#include \"simulator/memory_store.h\""},
      {"include-direction", "simulator/a.cc", "#include \"replica/io/log.h\""},
      {"include-direction", "replica/io/a.cc", "#include \"simulator/memory_store.h\""},
      {"include-direction", "replica/a.cc", "#include \"tests/io/store_worlds.h\""},
  };
  for (const Example& example : examples) {
    std::string line = example.line;
    std::erase(line, '~');
    const auto found = BreachesOf({example.path, {line}});
    ASSERT_EQ(found.size(), 1u) << example.rule << " in " << example.path << ": " << example.line;
    EXPECT_EQ(found[0].rule, example.rule);
  }
}

TEST(Tidy, HeadersAndLongFilesAreFound) {
  const auto header = BreachesOf({"replica/a.h", {"#include <string>"}});
  ASSERT_EQ(header.size(), 2u);
  EXPECT_EQ(header[0].rule, "header-comment");
  EXPECT_EQ(header[1].rule, "pragma-once");
  const auto lengthy = BreachesOf({"replica/a.cc", std::vector<std::string>(501)});
  ASSERT_EQ(lengthy.size(), 1u);
  EXPECT_EQ(lengthy[0].rule, "file-length");
}

TEST(Tidy, WhatIsAllowedIsNotFound) {
  const SourceFile allowed[] = {
      {"replica/io/a.cc", {"#include \"replica/replica.h\"", "#include \"replica/io/log.h\""}},
      {"replica/a.h", {"// What it is.", "#pragma once"}},
      {"replica/a.cc", {"// https://example.com/" + std::string(100, 'a')}},
      {"replica/a.cc", {"#include <openssl/evp.h>", "#include <boost/json.hpp>"}},
      {"replica/onced/main.cc", {"#include \"replica/io/node.h\""}},
      {"conflict/a.cc", {"#include <vector>", "#include \"conflict/claim.pb.h\""}},
      {"consensus/a.cc", {"#include <vector>", "#include \"replica/env/random.h\""}},
  };
  for (const SourceFile& file : allowed) EXPECT_TRUE(BreachesOf(file).empty()) << file.path;
}

}  // namespace
}  // namespace once
