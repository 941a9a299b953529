// Scenario S-61: slow, idle and numerous clients cost a bounded amount. Each test waits for the
// server to close; the deadlines are only short so that it does so soon.
#include "tests/io/http_server.h"

namespace once {
namespace {

constexpr std::int64_t kLongMs = 60'000;

Limits Patient() {
  Limits limits;
  limits.header_deadline_ms = limits.body_deadline_ms = kLongMs;
  limits.write_deadline_ms = limits.idle_deadline_ms = kLongMs;
  return limits;
}

void ExpectTimeout(const std::string& answer) {
  EXPECT_EQ(StatusOf(answer), "HTTP/1.1 408");
  EXPECT_EQ(BodyOf(answer),
            R"({"error":"request_timeout","message":"the request did not arrive in time"})");
}

TEST(HttpBounds, S_61_AnUnfinishedHeadGets408) {
  Limits limits = Patient();
  limits.header_deadline_ms = 50;
  HttpServer server(limits);
  HttpClient client(server);
  client.Send("GET / HTTP/1.1\r\nHost:");
  ExpectTimeout(client.ReadToEnd());
  EXPECT_EQ(server.counters().timeouts, 1u);
}

TEST(HttpBounds, S_61_AnUnfinishedBodyGets408) {
  Limits limits = Patient();
  limits.body_deadline_ms = 50;
  HttpServer server(limits);
  for (const char* framing :
       {"Content-Length: 9\r\n\r\nab", "Transfer-Encoding: chunked\r\n\r\n3\r"}) {
    HttpClient client(server);
    client.Send(std::string("PUT / HTTP/1.1\r\nHost: a\r\n") + framing);
    ExpectTimeout(client.ReadToEnd());
  }
}

TEST(HttpBounds, S_61_TheHeadDeadlineRunsFromTheFirstByteAlsoWhenBytesTrickle) {
  Limits limits = Patient();
  limits.header_deadline_ms = 300;
  limits.header_bytes_max = 64 << 20;
  HttpServer server(limits);
  HttpClient client(server);
  client.Send("GET / HTTP/1.1\r\n");
  // Every byte is progress, and yet the end comes.
  while (server.counters().timeouts == 0) client.Send("X");
  ExpectTimeout(client.ReadToEnd().substr(0, 4096));
}

TEST(HttpBounds, S_61_AnIdleConnectionIsClosedSilently) {
  Limits limits = Patient();
  limits.idle_deadline_ms = 50;
  HttpServer server(limits);
  HttpClient fresh(server);
  EXPECT_EQ(fresh.ReadToEnd(), "");
  HttpClient used(server);
  used.Send(Get("/"));
  EXPECT_EQ(BodyOf(used.ReadAnswer()), "GET /|");
  EXPECT_EQ(used.ReadToEnd(), "");
  EXPECT_EQ(server.counters().timeouts, 0u);
}

TEST(HttpBounds, ServingHasNoDeadline) {
  Limits limits;
  limits.header_deadline_ms = limits.body_deadline_ms = 1;
  limits.write_deadline_ms = limits.idle_deadline_ms = 1;
  HttpServer server(limits);
  HttpClient waiting(server);
  waiting.Send(Get("/hold"));
  ASSERT_TRUE(server.AwaitHeld());
  HttpClient idle(server);
  EXPECT_EQ(idle.ReadToEnd(), "");  // a sweep has passed
  server.Release();
  EXPECT_EQ(BodyOf(waiting.ReadAnswer()), "GET /hold|");
}

TEST(HttpBounds, S_61_AnAnswerThatIsNotTakenIsGivenUp) {
  Limits limits = Patient();
  limits.write_deadline_ms = 50;
  HttpServer server(limits);
  HttpClient client(server, 4096);
  client.Send(Get("/big"));
  EXPECT_TRUE(server.Eventually([&] {
    const HttpCounters counters = server.listener().counters();
    return counters.timeouts == 1 && counters.open == 0;
  }));
}

TEST(HttpBounds, S_61_ConnectionsOverTheLimitAreToldToComeBack) {
  Limits limits = Patient();
  limits.connections_max = 2;
  HttpServer server(limits);
  HttpClient first(server);
  auto second = std::make_unique<HttpClient>(server);
  HttpClient third(server);
  const std::string refusal = third.ReadToEnd();
  EXPECT_EQ(StatusOf(refusal), "HTTP/1.1 503");
  EXPECT_NE(refusal.find("\r\nRetry-After: 1\r\n"), std::string::npos) << refusal;
  EXPECT_EQ(BodyOf(refusal), R"({"error":"unavailable","message":"too many connections"})");
  EXPECT_EQ(server.counters().refused, 1u);

  third.Close();
  second.reset();
  ASSERT_TRUE(server.Eventually([&] { return server.listener().counters().open == 1; }));
  HttpClient fourth(server);
  fourth.Send(Get("/"));
  EXPECT_EQ(BodyOf(fourth.ReadAnswer()), "GET /|");
}

TEST(HttpBounds, S_61_OneAddressCannotTakeAllConnections) {
  Limits limits = Patient();
  limits.connections_per_address_max = 1;
  HttpServer server(limits);
  HttpClient first(server);
  HttpClient second(server);
  EXPECT_EQ(StatusOf(second.ReadToEnd()), "HTTP/1.1 503");
  first.Send(Get("/"));
  EXPECT_EQ(BodyOf(first.ReadAnswer()), "GET /|");
}

TEST(HttpBounds, S_61_AFloodOverTheLimitIsBounded) {
  Limits limits = Patient();
  limits.connections_max = 1;
  HttpServer server(limits);
  HttpClient served(server);
  std::vector<std::unique_ptr<HttpClient>> flood;
  for (int i = 0; i < 200; ++i) flood.push_back(std::make_unique<HttpClient>(server));
  ASSERT_TRUE(server.Eventually([&] { return server.listener().counters().accepted == 201; }));
  EXPECT_LE(server.counters().open, 1 + limits.refusals_max);
  EXPECT_EQ(server.counters().refused, 200u);
  served.Send(Get("/"));
  EXPECT_EQ(BodyOf(served.ReadAnswer()), "GET /|");
}

TEST(HttpBounds, S_61_AsManyAsTheBoundSaysAreToldThatTheyAreTooMany) {
  Limits limits = Patient();
  limits.connections_max = 1;
  limits.refusals_max = 2;
  limits.drain_deadline_ms = kLongMs;
  HttpServer server(limits);
  HttpClient served(server), first(server), second(server), third(server);
  EXPECT_EQ(StatusOf(first.ReadToEnd()), "HTTP/1.1 503");
  EXPECT_EQ(StatusOf(second.ReadToEnd()), "HTTP/1.1 503");
  EXPECT_EQ(third.ReadToEnd(), "");
  EXPECT_EQ(server.counters().refused, 3u);
}

TEST(HttpBounds, AMethodOfExactlyTheLimitIsServed) {
  HttpServer server(Patient());
  HttpClient client(server);
  const std::string longest(kMethodBytesMax, 'M');
  client.Send(longest + " / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(BodyOf(client.ReadAnswer()), longest + " /|");
  client.Send(longest + "M / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(StatusOf(client.ReadToEnd()), "HTTP/1.1 400");
}

TEST(HttpBounds, S_61_WhatComesAfterTheLastAnswerIsReadForAWhileOnly) {
  Limits limits = Patient();
  limits.drain_deadline_ms = 50;
  HttpServer server(limits);
  HttpClient client(server);
  client.Send("no request\r\n\r\n");
  EXPECT_EQ(StatusOf(client.ReadToEnd()), "HTTP/1.1 400");
  EXPECT_TRUE(server.Eventually([&] { return server.listener().counters().open == 0; }))
      << "the client has not closed";
}

TEST(HttpBounds, AHeadOfExactlyTheLimitIsServed) {
  Limits limits = Patient();
  limits.header_bytes_max = 10'000;
  HttpServer server(limits);
  const std::string start = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
  const std::string fits(10'000 - start.size() - 4, 'x');
  HttpClient client(server);
  client.Send(start + fits + "\r\n\r\n");
  EXPECT_EQ(BodyOf(client.ReadAnswer()), "GET /|");
  client.Send(start + fits + "x\r\n\r\n");
  EXPECT_EQ(StatusOf(client.ReadToEnd()), "HTTP/1.1 431");
}

TEST(HttpBounds, S_60_S_61_AllBodiesThatArriveTogetherAreBounded) {
  Limits limits = Patient();
  limits.bodies_bytes_max = 400'000;
  HttpServer server(limits);
  const std::string put = "PUT / HTTP/1.1\r\nHost: a\r\n";
  const std::string half(100'000, 'x');
  const auto held = [&](std::size_t bytes) {
    return server.Eventually([&] { return server.listener().counters().bodies_bytes >= bytes; });
  };
  HttpClient first(server);
  first.Send(put + "Content-Length: 200000\r\n\r\n" + half);
  ASSERT_TRUE(held(half.size()));
  auto second = std::make_unique<HttpClient>(server);
  second->Send(put + "Transfer-Encoding: chunked\r\n\r\n186a0\r\n" + half + "\r\n");
  ASSERT_TRUE(held(2 * half.size()));

  HttpClient third(server);
  third.Send(put + "Content-Length: 200000\r\n\r\n" + half);
  const std::string refusal = third.ReadToEnd();
  EXPECT_EQ(StatusOf(refusal), "HTTP/1.1 503");
  EXPECT_NE(refusal.find("\r\nRetry-After: 1\r\n"), std::string::npos) << refusal;
  EXPECT_EQ(BodyOf(refusal),
            R"({"error":"unavailable","message":"too many requests are arriving"})");
  EXPECT_EQ(server.counters().refused, 1u);
  HttpClient small(server);
  small.Send(put + "Content-Length: 2\r\n\r\nab");
  EXPECT_EQ(BodyOf(small.ReadAnswer()), "PUT /|ab") << "what comes whole holds nothing";

  third.Close();
  second.reset();  // gone in the middle of it
  first.Send(half);
  EXPECT_EQ(BodyOf(first.ReadAnswer()), "PUT /|" + half + half);
  EXPECT_TRUE(server.Eventually([&] { return server.listener().counters().bodies_bytes == 0; }));
}

TEST(HttpBounds, S_61_AllAnswersThatAreNotTakenAreBounded) {
  Limits limits = Patient();
  limits.answers_bytes_max = 12 << 20;  // one of 8 MiB, of which the kernel takes a part
  HttpServer server(limits);
  const auto unsent = [&] { return server.counters().unsent_bytes; };
  HttpClient first(server, 4096);
  first.Send(Get("/big"));
  ASSERT_TRUE(server.Eventually([&] { return server.echo.served == 1; }));
  EXPECT_GT(unsent(), 0u);
  std::vector<std::unique_ptr<HttpClient>> more;
  while (server.counters().refused == 0 && more.size() < 10) {
    more.push_back(std::make_unique<HttpClient>(server, 4096));
    more.back()->Send(Get("/big"));
    const int served = static_cast<int>(more.size()) + 1;
    ASSERT_TRUE(server.Eventually([&] { return server.echo.served == served; }));
  }
  EXPECT_EQ(server.counters().refused, 1u);
  EXPECT_EQ(server.counters().open, more.size()) << "the last one is dropped";
  EXPECT_LE(unsent(), limits.answers_bytes_max);
  HttpClient small(server);
  small.Send(Get("/"));
  EXPECT_EQ(BodyOf(small.ReadAnswer()), "GET /|") << "what is taken at once holds nothing";
  more.clear();
  EXPECT_EQ(BodyOf(first.ReadAnswer()).size(), 8u << 20);
  EXPECT_TRUE(server.Eventually([&] { return server.listener().counters().unsent_bytes == 0; }));
}

TEST(HttpBounds, ABodyOfExactlyTheLimitIsServed) {
  Limits limits = Patient();
  limits.body_bytes_max = 16;
  HttpServer server(limits);
  const std::string start = "PUT / HTTP/1.1\r\nHost: a\r\n";
  HttpClient client(server);
  client.Send(start + "Content-Length: 16\r\n\r\n0123456789abcdef");
  EXPECT_EQ(BodyOf(client.ReadAnswer()), "PUT /|0123456789abcdef");
  client.Send(start + "Transfer-Encoding: chunked\r\n\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n");
  EXPECT_EQ(BodyOf(client.ReadAnswer()), "PUT /|0123456789abcdef");
  client.Send(start + "Transfer-Encoding: chunked\r\n\r\n10\r\n0123456789abcdef\r\n1\r\nx");
  EXPECT_EQ(StatusOf(client.ReadToEnd()), "HTTP/1.1 413");
}

}  // namespace
}  // namespace once
