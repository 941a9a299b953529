// Probes: the list and the code name the same states.
#include "simulator/probes.h"

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "conflict/probe.h"

namespace once {
namespace {

namespace fs = std::filesystem;

// Every state that the text says to have reached; a literal may be written in several pieces.
void AddStates(const std::string& text, std::set<std::string>& states) {
  static const std::regex kCall(R"re(\bReached\(\s*((?:"[^"]*"\s*)+)\))re");
  static const std::regex kPiece(R"re("([^"]*)")re");
  for (std::sregex_iterator call(text.begin(), text.end(), kCall), end; call != end; ++call) {
    const std::string literal = (*call)[1];
    std::string state;
    for (std::sregex_iterator piece(literal.begin(), literal.end(), kPiece); piece != end; ++piece)
      state += (*piece)[1];
    states.insert(state);
  }
}

std::set<std::string> StatesInTheCode() {
  std::set<std::string> states;
  for (const char* folder : {"conflict", "consensus", "replica", "simulator"})
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(ONCE_SOURCE_DIR) / folder)) {
      std::ostringstream text;
      if (entry.is_regular_file()) text << std::ifstream(entry.path()).rdbuf();
      AddStates(text.str(), states);
    }
  return states;
}

TEST(Probes, TheListAndTheCodeNameTheSameStates) {
  const std::set<std::string> in_the_code = StatesInTheCode();
  std::set<std::string> listed;
  for (const Probe& probe : Probes()) {
    EXPECT_TRUE(listed.insert(probe.state).second) << probe.state << " is listed twice";
    EXPECT_TRUE(in_the_code.contains(probe.state)) << probe.state << " is nowhere in the code";
    EXPECT_TRUE(probe.best_effort || probe.strict) << probe.state << " is expected nowhere";
  }
  for (const std::string& state : in_the_code)
    EXPECT_TRUE(listed.contains(state)) << state << " is not listed";
}

TEST(Probes, AreCountedWhenSomebodyListens) {
  const char* const state = Probes()[0].state;
  Reached(state);  // nobody listens
  CountProbes();
  EXPECT_EQ(TakeProbeCounts()[0], 0u);
  Reached(state);
  Reached(state);
  EXPECT_EQ(TakeProbeCounts()[0], 2u);
  EXPECT_EQ(TakeProbeCounts()[0], 0u);
  probe_listener = nullptr;
}

}  // namespace
}  // namespace once
