// docs/conformance.md and the tests name each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace once {
namespace {

namespace fs = std::filesystem;

std::string ReadFile(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Suite.Name of every test in the tree.
std::set<std::string> AllTests() {
  static const std::regex kTest(
      R"(\b(?:(?:TYPED_)?TEST(?:_F|_P)?|RC_GTEST(?:_FIXTURE)?_PROP)\(\s*(\w+),\s*(\w+)\s*[,)])");
  std::set<std::string> tests;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(ONCE_SOURCE_DIR) / "tests")) {
    if (entry.path().extension() != ".cc") continue;
    const std::string text = ReadFile(entry.path());
    for (std::sregex_iterator at(text.begin(), text.end(), kTest), end; at != end; ++at)
      tests.insert((*at)[1].str() + "." + (*at)[2].str());
  }
  return tests;
}

// Tests by the ID of the row that lists them.
std::map<std::string, std::set<std::string>> Listed() {
  static const std::regex kName(R"(`(\w+\.\w+)`)");
  std::map<std::string, std::set<std::string>> listed;
  std::istringstream page(ReadFile(fs::path(ONCE_SOURCE_DIR) / "docs/conformance.md"));
  for (std::string line; std::getline(page, line);) {
    if (line.rfind("| ", 0) != 0) continue;
    const std::string id = line.substr(2, line.find(' ', 2) - 2);
    for (std::sregex_iterator at(line.begin(), line.end(), kName), end; at != end; ++at)
      listed[id].insert((*at)[1].str());
  }
  return listed;
}

TEST(Conformance, EveryListedTestExists) {
  const std::set<std::string> tests = AllTests();
  const auto listed = Listed();
  EXPECT_GT(listed.size(), 40u);
  for (const auto& [id, names] : listed)
    for (const std::string& name : names)
      EXPECT_TRUE(tests.count(name)) << id << " lists " << name << ", which does not exist";
}

TEST(Conformance, EveryTestThatCarriesAnIdIsListedUnderIt) {
  static const std::regex kId(R"([._](OW_[A-Z]+[0-9]?_[0-9]+|(?:CM|CK)_[0-9]+|S_?[0-9]{2}(?=_)))");
  auto listed = Listed();
  for (const std::string& test : AllTests())
    for (std::sregex_iterator at(test.begin(), test.end(), kId), end; at != end; ++at) {
      std::string id = (*at)[1].str();
      if (id[0] == 'S' && id[1] != '_') id.insert(1, "_");  // S20 is S-20
      std::replace(id.begin(), id.end(), '_', '-');
      EXPECT_TRUE(listed[id].count(test)) << test << " is not listed under " << id;
    }
}

}  // namespace
}  // namespace once
