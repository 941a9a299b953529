// once-sim as a command: what a person sees when the product dies in a world.
#include <gmock/gmock.h>

#include <string>

#include "tests/system/program.h"

namespace once {
namespace {

using testing::HasSubstr;

const std::string kMutant = ONCE_BIN_DIR "/once-sim-mutants";
constexpr const char* kDies = "claim-taken-for-granted";

TEST(SimulatorCommand, AProcessThatDiesIsAViolationWithItsCommand) {
  const auto swarm =
      RunProgram({kMutant, "swarm", "--seeds", "200", "--jobs", "2", "--mutation", kDies});
  EXPECT_EQ(swarm.exit_code, 1);
  EXPECT_THAT(swarm.out, HasSubstr("FAIL violation: crash: the process died of signal 6"));
  const std::string command = "reproduce: once-sim run ";
  const auto at = swarm.out.find(command);
  ASSERT_NE(at, std::string::npos) << swarm.out;
  const auto seed_at = swarm.out.find("--seed ", at) + 7;
  const std::string seed =
      swarm.out.substr(seed_at, swarm.out.find_first_of(" \n", seed_at) - seed_at);
  const auto run = RunProgram({kMutant, "run", "--seed", seed, "--mutation", kDies});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.out, HasSubstr("violation: crash: the process died of signal 6"));
  EXPECT_THAT(run.out, HasSubstr(command + "--seed " + seed));
  EXPECT_THAT(run.out, HasSubstr("FAIL"));
}

TEST(SimulatorCommand, OtherSeedsGoOnWhenOneDies) {
  const auto swarm = RunProgram(
      {kMutant, "swarm", "--seeds", "60", "--jobs", "2", "--keep-going", "--mutation", kDies});
  EXPECT_EQ(swarm.exit_code, 1);
  EXPECT_THAT(swarm.out, HasSubstr("FAIL: 60 seeds from 1"));
}

TEST(SimulatorCommand, AProbeThatIsNeverReachedFails) {
  const auto swarm = RunProgram(
      {kMutant, "swarm", "--seeds", "2", "--jobs", "1", "--scenario", "calm", "--all-probes"});
  EXPECT_EQ(swarm.exit_code, 1);
  EXPECT_THAT(swarm.out, HasSubstr("FAIL never reached: "));
}

}  // namespace
}  // namespace once
