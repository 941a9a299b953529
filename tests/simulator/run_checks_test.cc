// The checkers of runs, each over what it must refuse and what it must let pass.
#include <gtest/gtest.h>

#include "replica/ledger/run_id.h"
#include "simulator/checks.h"
#include "simulator/run_callers.h"

namespace once {
namespace {

using Kind = Operation::Kind;
using Heard = Operation::Answer;

constexpr std::int64_t kNowMs = 100'000;
constexpr std::int64_t kWeekMs = 7ll * 24 * 3600 * 1000;
const std::string kRun = MintRunId(1000, "eu", 7);  // of acme, in eu

/// What callers of kRun saw, and what the regions hold of it.
struct World {
  World() {
    history.regions = {"ap", "eu", "us"};
    history.safety_ms = 60'000;
    Operation& created = Add(Kind::kCreate, "eu", 1000, 1010, Heard::kDone);
    created.status = 201;
    created.answer_body = "{\"runId\":\"" + kRun + "\",\"status\":\"running\"}";
    for (const std::string& region : history.regions) {
      Run& run = RunIn(region);
      run.set_run_id(kRun);
      run.set_tenant("acme");
      run.set_region("eu");
      run.set_status(RUNNING);
      run.set_due_ms(kNowMs + 1000);
      run.set_version(1);
    }
    AddEvent("run.started");
  }
  Operation& Add(Kind kind, const std::string& region, std::int64_t invoked_ms,
                 std::int64_t returned_ms, Heard answer) {
    Operation operation;
    operation.id = history.operations.size() + 1;
    operation.kind = kind;
    operation.region = region;
    operation.tenant = "acme";
    operation.run_id = kRun;
    operation.invoked_ms = invoked_ms;
    operation.returned_ms = returned_ms;
    operation.answer = answer;
    return history.operations.emplace_back(std::move(operation));
  }
  Operation& Command(Kind kind, std::int64_t invoked_ms, std::uint32_t status,
                     const std::string& key = "", Heard answer = Heard::kDone) {
    Operation& operation = Add(kind, "us", invoked_ms, invoked_ms + 20, answer);
    operation.body = 5;
    operation.key = key;
    operation.status = status;
    operation.answer_body = status == 200 ? "{\"runId\":\"" + kRun + "\",\"status\":\"cancelled\"}"
                                          : "{\"error\":\"run_not_found\"}";
    return operation;
  }
  Operation& Read(std::int64_t invoked_ms, const std::string& status) {
    Operation& operation = Add(Kind::kGetRun, "eu", invoked_ms, invoked_ms + 5, Heard::kDone);
    operation.answer_body = status;
    return operation;
  }
  void AddEvent(const std::string& type, const std::string& payload = "{}",
                std::int64_t at_ms = 1000) {
    RunEvent event;
    event.set_type(type);
    event.set_payload(payload);
    event.set_time_ms(at_ms);
    event.set_sequence(held["eu"].runs[kRun].events.size());
    held["eu"].runs[kRun].events.push_back(event);
    for (const std::string& region : history.regions)
      RunIn(region).set_next_sequence(event.sequence() + 1);
  }
  Run& RunIn(const std::string& region) { return held[region].runs[kRun].run; }
  void SetStatus(RunStatus status, const std::string& reason = "") {
    for (const std::string& region : history.regions) {
      RunIn(region).set_status(status);
      RunIn(region).set_reason(reason);
    }
  }
  void ReplaceHome(std::int64_t at_ms) {
    Fault fault;
    fault.kind = Fault::Kind::kEmptied;
    fault.region = "eu";
    fault.from_ms = at_ms;
    history.faults.push_back(fault);
    ++held["eu"].life;
  }

  History history;
  RunHoldings held;
};

std::string First(const Violations& violations) {
  return violations.empty() ? "" : violations[0].checker + ": " + violations[0].what;
}

bool Says(const Violations& violations, const std::string& what) {
  for (const Violation& violation : violations)
    if (violation.what.find(what) != std::string::npos) return true;
  return false;
}

TEST(RunChecks, ACalmWorldPassesAll) {
  World world;
  world.Read(2000, "running ");
  EXPECT_EQ(First(CheckCancelled(world.history, world.held)), "");
  EXPECT_EQ(First(CheckRunCommands(world.history, world.held, 0)), "");
  EXPECT_EQ(First(CheckRunAnswers(world.history, kWeekMs)), "");
  EXPECT_EQ(First(CheckRunEnds(world.history, world.held)), "");
  EXPECT_EQ(First(CheckRunEvents(world.held)), "");
  EXPECT_EQ(First(CheckRunRecords(world.held, kNowMs, kWeekMs)), "");
  EXPECT_EQ(First(CheckRunProgress(world.held, kNowMs)), "");
}

TEST(RunChecks, ALoserIsCancelledAndSaysWhetherItHadCompleted) {
  World world;
  Conflict loss;
  loss.set_loser(kRun);
  loss.set_region("eu");
  loss.set_loser_had_completed(true);
  world.held["eu"].lost[kRun] = loss;
  EXPECT_TRUE(Says(CheckCancelled(world.history, world.held), "lost and is running"));
  world.SetStatus(RUN_CANCELLED, kLossReason);
  EXPECT_TRUE(
      Says(CheckCancelled(world.history, world.held), "does not say that it had completed"));
  for (const std::string& region : world.history.regions)
    world.RunIn(region).set_completed_before(true);
  EXPECT_EQ(First(CheckCancelled(world.history, world.held)), "");
  world.RunIn("ap").set_status(RUN_COMPLETED);
  EXPECT_TRUE(Says(CheckCancelled(world.history, world.held), "ap: run")) << "in every region";
  world.SetStatus(RUN_CANCELLED, MarkOf(5));
  EXPECT_TRUE(Says(CheckCancelled(world.history, world.held), "for another reason"));
  world.Command(Kind::kCancel, 2000, 200);
  EXPECT_EQ(First(CheckCancelled(world.history, world.held)), "")
      << "by its caller, before it lost";
}

TEST(RunChecks, ACommandTakesEffectOnceAtItsHomeAndNotLongAfterItsRefusal) {
  World world;
  world.Command(Kind::kCancel, 2000, 0, "", Heard::kUnavailable);
  world.AddEvent("run.cancelled", "{\"reason\":\"" + MarkOf(5) + "\"}", 3500);
  EXPECT_EQ(First(CheckRunCommands(world.history, world.held, 0)), "") << "just in time";
  world.held["eu"].runs[kRun].events[1].set_time_ms(4500);
  EXPECT_TRUE(Says(CheckRunCommands(world.history, world.held, 0), "long after its 503"));
  world.history.operations[1].refused = true;
  EXPECT_TRUE(Says(CheckRunCommands(world.history, world.held, 0), "nothing was to be done"));
  world.history.operations[1].refused = false;
  world.history.operations[1].answer = Heard::kNone;
  EXPECT_EQ(First(CheckRunCommands(world.history, world.held, 0)), "") << "nobody heard";
  world.AddEvent("run.cancelled", "{\"reason\":\"" + MarkOf(5) + "\"}", 4500);
  EXPECT_TRUE(Says(CheckRunCommands(world.history, world.held, 0), "carried out twice in eu"));
  world.held["us"].runs[kRun].events = {world.held["eu"].runs[kRun].events.back()};
  EXPECT_TRUE(Says(CheckRunCommands(world.history, world.held, 0), "carried out in us"));
}

TEST(RunChecks, ADecisionThatWasAcknowledgedIsThere) {
  World world;
  world.Command(Kind::kApprove, 2000, 200);
  EXPECT_TRUE(Says(CheckRunCommands(world.history, world.held, 0), "is not there"));
  World replaced;
  replaced.Command(Kind::kApprove, 2000, 200);
  replaced.ReplaceHome(5000);
  EXPECT_EQ(First(CheckRunCommands(replaced.history, replaced.held, 0)), "");
  world.AddEvent("approval.granted", "{\"payload\":\"" + MarkOf(5) + "\"}", 2010);
  EXPECT_EQ(First(CheckRunCommands(world.history, world.held, 0)), "");
  world.history.operations[1].tenant = "globex";
  EXPECT_TRUE(Says(CheckRunCommands(world.history, world.held, 0), "nothing was to be done"));
}

TEST(RunChecks, OneWebhookForOneCommand) {
  World world;
  world.held["eu"].webhooks["https://acme.example/said-9"] = 1;
  EXPECT_EQ(First(CheckRunCommands(world.history, world.held, 0)), "");
  world.held["eu"].webhooks["https://acme.example/said-9"] = 2;
  EXPECT_TRUE(Says(CheckRunCommands(world.history, world.held, 0), "registered twice"));
}

TEST(RunChecks, AKeyedCommandIsCarriedOutOnceAndHasOneAnswer) {
  World world;
  world.Command(Kind::kCancel, 2000, 200, "c1");
  world.Command(Kind::kCancel, 3000, 200, "c1", Heard::kReplay);
  EXPECT_EQ(First(CheckRunAnswers(world.history, kWeekMs)), "");
  world.history.operations[2].answer_body += " ";
  EXPECT_TRUE(Says(CheckRunAnswers(world.history, kWeekMs), "answered otherwise"));
  world.history.operations[2].answer_body = world.history.operations[1].answer_body;
  world.history.operations[2].answer = Heard::kDone;
  EXPECT_TRUE(Says(CheckRunAnswers(world.history, kWeekMs), "carried out again"));
  world.ReplaceHome(1500);
  EXPECT_EQ(First(CheckRunAnswers(world.history, kWeekMs)), "");
}

TEST(RunChecks, AnAnswerIsAboutItsRunAndItsTenantAlone) {
  World world;
  world.Command(Kind::kCancel, 2000, 200).answer_body = "{\"runId\":\"another\"}";
  EXPECT_TRUE(Says(CheckRunAnswers(world.history, kWeekMs), "for another run"));
  World foreign;
  foreign.Command(Kind::kCancel, 2000, 404).tenant = "globex";
  EXPECT_EQ(First(CheckRunAnswers(foreign.history, kWeekMs)), "");
  foreign.Read(3000, "running ").tenant = "globex";
  EXPECT_TRUE(Says(CheckRunAnswers(foreign.history, kWeekMs), "another tenant's run"));
}

TEST(RunChecks, ARunThatWasAdmittedIsThereForItsTenant) {
  World world;
  Operation& told = world.Command(Kind::kCancel, 2000, 404);
  EXPECT_TRUE(Says(CheckRunAnswers(world.history, kWeekMs), "told that there is none"));
  EXPECT_EQ(First(CheckRunAnswers(world.history, 500)), "") << "it may be forgotten";
  told.answer_body = "{\"error\":\"node_not_found\"}";
  EXPECT_EQ(First(CheckRunAnswers(world.history, kWeekMs)), "");
  world.Add(Kind::kGetRun, "ap", 2000, 2001, Heard::kNotFound);
  EXPECT_EQ(First(CheckRunAnswers(world.history, kWeekMs)), "") << "it may not have heard";
  world.Add(Kind::kGetRun, "eu", 2000, 2001, Heard::kNotFound);
  EXPECT_TRUE(Says(CheckRunAnswers(world.history, kWeekMs), "told that there is none"));
}

TEST(RunChecks, EventsAreOnlyAdded) {
  World world;
  world.Add(Kind::kGetEvents, "us", 2000, 2020, Heard::kDone).answer_body = "0 run.started\n";
  Operation& later = world.Add(Kind::kGetEvents, "ap", 3000, 3020, Heard::kDone);
  later.answer_body = "0 run.started\n1 run.completed\n";
  EXPECT_EQ(First(CheckRunAnswers(world.history, kWeekMs)), "");
  later.answer_body = "0 run.completed\n1 run.cancelled\n";
  EXPECT_TRUE(Says(CheckRunAnswers(world.history, kWeekMs), "other events"));
}

TEST(RunChecks, AnEndIsTheEndUnlessTheRunLost) {
  World world;
  world.Read(2000, "completed ");
  EXPECT_TRUE(Says(CheckRunEnds(world.history, world.held), "goes on"));
  world.SetStatus(RUN_CANCELLED, "no longer needed");
  EXPECT_TRUE(Says(CheckRunEnds(world.history, world.held), "ended again"));
  world.SetStatus(RUN_CANCELLED, kLossReason);
  EXPECT_EQ(First(CheckRunEnds(world.history, world.held)), "");
  world.SetStatus(RUN_COMPLETED);
  EXPECT_EQ(First(CheckRunEnds(world.history, world.held)), "");
  world.Read(3000, "running ").region = "ap";
  EXPECT_EQ(First(CheckRunEnds(world.history, world.held)), "") << "ap has not heard";
  world.Read(3000, "running ");
  EXPECT_TRUE(Says(CheckRunEnds(world.history, world.held), "goes on"));
  world.ReplaceHome(2500);
  EXPECT_EQ(First(CheckRunEnds(world.history, world.held)), "");
}

TEST(RunChecks, EventsAreInSequenceAndEndOnce) {
  World world;
  world.SetStatus(RUN_COMPLETED);
  EXPECT_TRUE(Says(CheckRunEvents(world.held), "its events say running"));
  world.AddEvent("run.completed", "{}", kNowMs + 1000);
  EXPECT_EQ(First(CheckRunEvents(world.held)), "");
  world.held["eu"].runs[kRun].events[1].set_time_ms(kNowMs);
  EXPECT_TRUE(Says(CheckRunEvents(world.held), "before it was due"));
  world.held["eu"].runs[kRun].events[1].set_time_ms(kNowMs + 1000);
  world.SetStatus(RUN_CANCELLED, kLossReason);
  world.AddEvent("run.cancelled", std::string("{\"reason\":\"") + kLossReason + "\"}");
  EXPECT_EQ(First(CheckRunEvents(world.held)), "") << "it had completed, and lost";
  world.held["eu"].runs[kRun].events[2].set_payload("{}");
  EXPECT_TRUE(Says(CheckRunEvents(world.held), "ended 2 times"));
  world.held["eu"].runs[kRun].events[2].set_sequence(5);
  EXPECT_TRUE(Says(CheckRunEvents(world.held), "has a gap before 5"));
  world.held["ap"].runs[kRun].events.push_back(world.held["eu"].runs[kRun].events[0]);
  EXPECT_TRUE(Says(CheckRunEvents(world.held), "is not of here"));
}

TEST(RunChecks, ADirectoryThatWasReplacedMayLackEvents) {
  World world;
  world.held["eu"].runs[kRun].events.clear();
  EXPECT_TRUE(Says(CheckRunEvents(world.held), "does not begin with its start"));
  world.held["eu"].life = 1;
  EXPECT_EQ(First(CheckRunEvents(world.held)), "");
}

TEST(RunChecks, AllRegionsHoldTheSameRecord) {
  World world;
  world.RunIn("ap").set_version(2);
  EXPECT_TRUE(Says(CheckRunRecords(world.held, kNowMs, kWeekMs), "in version"));
  world.held["ap"].runs.clear();
  EXPECT_TRUE(
      Says(CheckRunRecords(world.held, kNowMs, kWeekMs), "ap: run " + kRun + " is not there"));
  EXPECT_FALSE(CheckRunRecords(world.held, kNowMs, 1000).empty()) << "it goes on";
  world.RunIn("eu").set_status(RUN_COMPLETED);
  world.RunIn("us").set_status(RUN_COMPLETED);
  EXPECT_EQ(First(CheckRunRecords(world.held, kNowMs, 1000)), "") << "it may be forgotten";
}

TEST(RunChecks, ATokenLeadsToTheRunThatWaits) {
  World world;
  world.SetStatus(WAITING_APPROVAL);
  EXPECT_TRUE(Says(CheckRunRecords(world.held, kNowMs, kWeekMs), "leads nowhere"));
  for (auto& [region, held] : world.held) held.runs[kRun].token_known = true;
  EXPECT_EQ(First(CheckRunRecords(world.held, kNowMs, kWeekMs)), "");
}

TEST(RunChecks, ARunThatIsDueIsCarriedOn) {
  World world;
  world.RunIn("ap").set_due_ms(0);
  EXPECT_EQ(First(CheckRunProgress(world.held, kNowMs)), "") << "a copy";
  world.RunIn("eu").set_due_ms(kNowMs - 2000);
  EXPECT_EQ(First(CheckRunProgress(world.held, kNowMs)), "");
  world.RunIn("eu").set_due_ms(kNowMs - 4000);
  EXPECT_TRUE(Says(CheckRunProgress(world.held, kNowMs), "was not carried on"));
  world.RunIn("eu").set_region(std::string(kStrictRegion));
  EXPECT_EQ(First(CheckRunProgress(world.held, kNowMs)), "") << "the next look will";
  world.RunIn("eu").set_due_ms(kNowMs - 9000);
  EXPECT_TRUE(Says(CheckRunProgress(world.held, kNowMs), "was not carried on"));
}

}  // namespace
}  // namespace once
