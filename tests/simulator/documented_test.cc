// docs/SIMULATION.md says of every seeded bug what it breaks, and how many rare states there are.
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "simulator/probes.h"

namespace once {
namespace {

std::string Text(const std::string& path) {
  std::ifstream file(std::string(ONCE_SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::set<std::string> FirstGroups(const std::string& text, const char* pattern) {
  const std::regex regex(pattern);
  std::set<std::string> names;
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at)
    names.insert((*at)[1]);
  return names;
}

TEST(SimulationPage, HasARowForEverySeededBugAndNoOther) {
  const auto seeded =
      FirstGroups(Text("simulator/once_sim/gate.cc"), R"re(\n    \{"([a-z0-9-]+)")re");
      ASSERT_GT(seeded.size(), 100u);
  const std::string page = Text("docs/SIMULATION.md");
  const std::size_t begin = page.find("## Seeded bugs");
  const std::size_t end = page.find("\n## ", begin + 1);
  EXPECT_EQ(FirstGroups(page.substr(begin, end - begin), R"(\n\| `([a-z0-9-]+)` \|)"), seeded);
}

TEST(SimulationPage, SaysHowManyProbesThereAre) {
  const std::string words = "There are " + std::to_string(Probes().size()) + " of them.";
  EXPECT_NE(Text("docs/SIMULATION.md").find(words), std::string::npos) << words;
}

}  // namespace
}  // namespace once
