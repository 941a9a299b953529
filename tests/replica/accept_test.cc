// Who gets another form than plain JSON. Said of streams; problems have the same rule.
#include "replica/api/accept.h"

namespace once {
namespace {

bool Streams(const std::vector<std::string_view>& accepts) {
  HttpRequest request;
  for (const std::string_view accept : accepts) request.headers.emplace_back("accept", accept);
  return PrefersToJson(request, kEventStream);
}

TEST(Accept, AStreamIsForThoseWhoNameIt) {
  EXPECT_FALSE(Streams({}));
  for (const char* accept : {"", "*/*", "text/*", "application/json", "text/event-streams",
                             "text/event", "x/text/event-stream", "text/plain;a=text/event-stream",
                             "text/plain;a=\"x, text/event-stream\""})
    EXPECT_FALSE(Streams({accept})) << accept;
  for (const char* accept :
       {"text/event-stream", "Text/Event-Stream", "text/event-stream, */*",
        "application/json, text/event-stream", "text/html ,\ttext/event-stream ; charset=utf-8",
        "text/event-stream;q=1.000", "text/event-stream;q=0.001", "text/event-stream ; Q=0.5"})
    EXPECT_TRUE(Streams({accept})) << accept;
}

TEST(Accept, AWeightOfZeroRefusesIt) {
  for (const char* accept :
       {"text/event-stream;q=0", "text/event-stream; q=0.000", "text/event-stream;charset=a;q=0",
        "text/event-stream;Q=0, */*", "text/event-stream;q=0, application/json;q=0"})
    EXPECT_FALSE(Streams({accept})) << accept;
}

TEST(Accept, TheHeavierOfJsonAndStreamWins) {
  EXPECT_FALSE(Streams({"text/event-stream;q=0.9, application/json"}));
  EXPECT_FALSE(Streams({"text/event-stream;q=0.9, */*"}));
  EXPECT_FALSE(Streams({"text/event-stream;q=0.9, application/*;q=0.95"}));
  EXPECT_TRUE(Streams({"text/event-stream;q=0.9, application/json;q=0.8"}));
  EXPECT_TRUE(Streams({"text/event-stream;q=0.9, application/json;q=0.8, */*"}));
  EXPECT_TRUE(Streams({"text/event-stream;q=0.9, application/json;q=0.9"}));
  EXPECT_TRUE(Streams({"application/json;q=0.5", "text/event-stream"}));
  EXPECT_FALSE(Streams({"text/event-stream;q=0.5", "application/json"}));
}

TEST(Accept, WhatIsNoWeightIsIgnoredWithItsRange) {
  for (const char* weight : {"", "2", "1.001", "0.1234", "-1", "0,5", ".5", "1x", "0.5x", "\"1\""})
    EXPECT_FALSE(Streams({"text/event-stream;q=" + std::string(weight)})) << weight;
}

}  // namespace
}  // namespace once
