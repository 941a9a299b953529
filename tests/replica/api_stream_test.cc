// The events of a run as a stream.
#include "tests/replica/api_world.h"
#include "tests/replica/event_sink.h"

namespace once {
namespace {

class ApiStream : public ApiWorld {
 protected:
  std::shared_ptr<FakeSink> Follow(const std::string& run, Headers headers = {}) {
    headers.emplace_back("Accept", "text/event-stream");
    const Reply reply = Get("/v1/runs/" + run + "/events", headers);
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.Header("Content-Type"), "text/event-stream");
    EXPECT_EQ(reply.body, "");
    auto sink = std::make_shared<FakeSink>();
    EXPECT_TRUE(reply.stream);
    if (reply.stream) reply.stream(sink);
    RunUntilIdle();
    return sink;
  }
  std::string Delayed(int delay_ms) {
    return Run(R"({"workflowId":"delay","inputs":{"delayMs":)" + std::to_string(delay_ms) + "}}");
  }
};

TEST_F(ApiStream, FollowsTheRunToItsEnd) {
  const std::string run = Delayed(5000);
  const auto sink = Follow(run);
  EXPECT_TRUE(sink->text.starts_with("id: 0\nevent: run.started\ndata: {")) << sink->text;
  EXPECT_TRUE(sink->text.ends_with("}\n\n"));
  EXPECT_FALSE(sink->closed);
  Advance(6000);
  EXPECT_EQ(sink->Count("event: run.completed\n"), 1);
  EXPECT_EQ(sink->Count("id: "), 2);
  EXPECT_TRUE(sink->closed);
}

TEST_F(ApiStream, OfAnEndedRunIsItsWholeStory) {
  const auto sink = Follow(Run(R"({"workflowId":"append"})"));
  EXPECT_EQ(sink->Count("id: "), 4);
  EXPECT_EQ(sink->Count("event: channel.written\n"), 2);
  EXPECT_TRUE(sink->closed);
}

TEST_F(ApiStream, IsNotForThoseWhoGiveItNoWeight) {
  const std::string events = "/v1/runs/" + Run(kNoop) + "/events";
  for (const std::string& path : {events, std::string("/v1/conflicts")})
    for (const char* accept : {"text/event-stream;q=0", "text/event-stream;q=0.5, */*"}) {
      const Reply reply = Get(path, {{"Accept", accept}});
      EXPECT_EQ(reply.status, 200) << path;
      EXPECT_EQ(reply.Header("Content-Type"), "application/json") << path << " " << accept;
      EXPECT_FALSE(reply.stream);
    }
}

TEST_F(ApiStream, ContinuesAfterTheLastEventId) {
  const std::string run = Run(R"({"workflowId":"append"})");
  const auto sink = Follow(run, {{"Last-Event-ID", "1"}});
  EXPECT_EQ(sink->text.substr(0, 6), "id: 2\n");
  EXPECT_EQ(sink->Count("id: "), 2);
  EXPECT_EQ(Follow(run, {{"Last-Event-ID", "3"}})->Count("id: "), 0);
  EXPECT_EQ(Follow(run, {{"Last-Event-ID", "nonsense"}})->Count("id: "), 4);
}

TEST_F(ApiStream, EventsAsAListAreTheSameEvents) {
  const std::string run = Run(R"({"workflowId":"append"})");
  const auto sink = Follow(run);
  const auto events = Get("/v1/runs/" + run + "/events").At("/events").as_array();
  ASSERT_EQ(events.size(), 4u);
  for (const auto& event : events)
    EXPECT_EQ(sink->Count("data: " + boost::json::serialize(event) + "\n\n"), 1);
}

TEST_F(ApiStream, SeveralReadersGetEveryEventOnce) {
  const std::string run = Delayed(5000);
  const auto early = Follow(run);
  Advance(1000);
  const auto late = Follow(run);
  Advance(6000);
  EXPECT_EQ(early->text, late->text);
  EXPECT_TRUE(early->closed && late->closed);
}

TEST_F(ApiStream, IsKeptAlive) {
  const auto sink = Follow(Delayed(3600'000));
  Advance(60'000);
  EXPECT_EQ(sink->Count(": keep-alive\n\n"), 4);
}

TEST_F(ApiStream, AReaderThatIsGoneIsDropped) {
  const std::string run = Delayed(20'000);
  const auto gone = Follow(run), stays = Follow(run);
  gone->gone = true;
  Advance(16'000);
  EXPECT_EQ(gone.use_count(), 1) << "the node lets go of it";
  gone->gone = false;
  Advance(10'000);
  EXPECT_EQ(gone->Count("run.completed"), 0);
  EXPECT_TRUE(stays->closed);
  EXPECT_EQ(stays.use_count(), 1);
}

TEST_F(ApiStream, AReaderThatFailsOnAnEventIsDropped) {
  const std::string run = Delayed(5'000);
  const auto gone = Follow(run), stays = Follow(run);
  gone->gone = true;
  Advance(6'000);
  EXPECT_EQ(gone.use_count(), 1);
  EXPECT_EQ(stays->Count("event: run.completed\n"), 1);
}

TEST_F(ApiStream, ShowsOnlyWhatACrashCannotTakeBack) {
  const std::string run = Run(R"({"workflowId":"approval"})");
  const auto sink = Follow(run);
  disk_.SetSyncDelay(100);
  const auto approve =
      Send("POST", "/v1/runs/" + run + "/approvals/approve", {}, R"({"decision":"approved"})");
  RunUntilIdle();
  EXPECT_EQ(sink->Count("approval.granted"), 0);
  Advance(500);
  EXPECT_EQ(approve->status, 200);
  EXPECT_EQ(sink->Count("event: approval.granted\n"), 1);
  EXPECT_TRUE(sink->closed);
}

TEST_F(ApiStream, ACleanStopEndsEveryStream) {
  const auto sink = Follow(Delayed(60'000));
  api_->CloseStreams();
  EXPECT_TRUE(sink->closed);
}

TEST_F(ApiStream, S_64_AReloadEndsEveryStreamAndThoseThatAreBeingOpened) {
  const std::string run = Run(R"({"workflowId":"approval"})");
  const auto sink = Follow(run);
  disk_.SetSyncDelay(100);
  SendPost("/v1/runs", "k", kNoop);  // what is read waits for it
  const auto opening =
      Send("GET", "/v1/runs/" + run + "/events", {{"Accept", "text/event-stream"}});
  ASSERT_EQ(opening->status, 0);
  api_->Reload({}, {});
  EXPECT_TRUE(sink->closed);
  EXPECT_EQ(sink.use_count(), 1);
  Advance(500);
  EXPECT_EQ(opening->status, 200);
  EXPECT_FALSE(opening->stream) << "it has an end";
  EXPECT_NE(opening->body.find("event: run.started"), std::string::npos) << opening->body;
  EXPECT_EQ(Get("/v1/runs/" + run + "/events").status, 401);
}

}  // namespace
}  // namespace once
