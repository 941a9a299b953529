// Conversations as golden text: transcripts/*.txt, one scenario each. A line that begins with "> "
// is a command, and what follows it is what then happened. To rewrite them after a change, and then
// read the diff: ONCE_REWRITE_TRANSCRIPTS=1 consensus_tests --gtest_filter='Transcript*'
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/consensus/group.h"

namespace once {
namespace {

namespace fs = std::filesystem;

// The commands:
//   found a b c | learner d     founders, and a learner among them
//   join d                      a member with nothing
//   elect a | tick a 3 | tick   the last: everybody, once
//   settle                      everything is delivered
//   propose a x | read a r | transfer a b | add a d | promote a d | remove a d | compact a 5
//   cut a | heal | crash a | restart a
//   status
class Script {
 public:
  Script() { group_.trace = &out_; }

  std::string Run(const std::string& command) {
    out_.clear();
    std::istringstream words(command);
    std::string verb, who, what;
    words >> verb >> who >> what;
    if (verb == "found") {
      Found(command.substr(6));
    } else if (!OnWire(verb, who) && !OnMember(verb, who, what)) {
      Ask(verb, who, what);
    }
    if (!group_.broken.empty()) out_ += "  BROKEN: " + group_.broken + "\n";
    return out_;
  }

 private:
  void Found(const std::string& text) {
    std::istringstream words(text);
    std::vector<std::string> voters, learners;
    auto* names = &voters;
    for (std::string word; words >> word;) {
      if (word == "learner")
        names = &learners;
      else if (word != "|")
        names->push_back(word);
    }
    group_.Found(voters, learners);
  }

  bool OnWire(const std::string& verb, const std::string& who) {
    if (verb == "settle")
      group_.Settle();
    else if (verb == "cut")
      group_.Isolate(who);
    else if (verb == "heal")
      group_.Heal();
    else
      return false;
    return true;
  }

  bool OnMember(const std::string& verb, const std::string& who, const std::string& what) {
    if (verb == "join")
      group_.Join(who);
    else if (verb == "elect")
      group_.Elect(who);
    else if (verb == "tick")
      who.empty() ? group_.TickAll() : group_.Tick(who, what.empty() ? 1 : std::stoi(what));
    else if (verb == "crash")
      group_.Crash(who);
    else if (verb == "restart")
      group_.Restart(who);
    else if (verb == "compact")
      group_.Compact(who, std::stoull(what));
    else if (verb == "status")
      Status();
    else
      return false;
    return true;
  }

  void Ask(const std::string& verb, const std::string& who, const std::string& what) {
    using Kind = MembershipChange::Kind;
    RaftVerdict verdict;
    if (verb == "propose") verdict = group_.Propose(who, what);
    if (verb == "read") verdict = group_.Read(who, what);
    if (verb == "transfer") verdict = group_.Transfer(who, what);
    if (verb == "add") verdict = group_.Change(who, Kind::kAddLearner, what);
    if (verb == "promote") verdict = group_.Change(who, Kind::kPromote, what);
    if (verb == "remove") verdict = group_.Change(who, Kind::kRemove, what);
    if (verdict.accepted()) return;
    out_ += "  refused: " + Describe(verdict.refusal);
    if (!verdict.leader.empty() && verdict.leader != who) out_ += ", " + verdict.leader + " is";
    out_ += "\n";
  }

  void Status() {
    static constexpr const char* kRoles[] = {"follower", "pre-candidate", "candidate", "leader"};
    for (Group::Member* member : group_.Up()) {
      const Raft& raft = *member->raft;
      std::ostringstream line;
      line << "  " << raft.name() << " " << kRoles[static_cast<int>(raft.role())] << " term "
           << raft.term() << " log " << raft.log().snapshot_index() << ".."
           << raft.log().last_index() << " commit " << raft.commit() << " "
           << Describe(raft.membership()) << "\n";
      out_ += line.str();
    }
  }

  Group group_;
  std::string out_;
};

// The commands of a transcript, and what happens now.
std::string Replay(const std::string& text) {
  std::string replayed;
  Script script;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("> ", 0) == 0)
      replayed += line + "\n" + script.Run(line.substr(2));
    else if (line.rfind("#", 0) == 0)
      replayed += line + "\n";
  }
  return replayed;
}

TEST(Transcript, ConversationsAreAsWritten) {
  int count = 0;
  for (const auto& file :
       fs::directory_iterator(fs::path(ONCE_SOURCE_DIR) / "tests/consensus/transcripts")) {
    std::ostringstream text;
    text << std::ifstream(file.path()).rdbuf();
    const std::string replayed = Replay(text.str());
    if (std::getenv("ONCE_REWRITE_TRANSCRIPTS"))
      std::ofstream(file.path()) << replayed;
    else
      EXPECT_EQ(replayed, text.str()) << file.path();
    ++count;
  }
  EXPECT_GE(count, 8);
}

}  // namespace
}  // namespace once
