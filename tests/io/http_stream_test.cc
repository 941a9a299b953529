// Event streams.
#include "tests/io/http_server.h"

namespace once {
namespace {

bool AwaitSink(HttpServer& server) {
  return server.Eventually([&] { return server.echo.sink != nullptr; });
}
bool Send(HttpServer& server, const std::string& bytes) {
  return server.Run([&] { return server.echo.sink->Send(bytes); });
}

TEST(HttpStream, SendsEachEventAsAChunk) {
  HttpServer server;
  HttpClient client(server);
  client.Send(Get("/stream"));
  const std::string head = client.ReadAnswer();
  EXPECT_NE(head.find("\r\nTransfer-Encoding: chunked\r\n"), std::string::npos) << head;
  EXPECT_EQ(head.find("Content-Length"), std::string::npos);
  ASSERT_TRUE(AwaitSink(server));
  EXPECT_TRUE(Send(server, "data: 1\n\n"));
  EXPECT_TRUE(client.ReadUntil("9\r\ndata: 1\n\n\r\n"));
  EXPECT_TRUE(Send(server, ""));
  EXPECT_TRUE(Send(server, "data: two\n\n"));
  server.Run([&] { server.echo.sink->Close(); });
  EXPECT_EQ(client.ReadToEnd(), "b\r\ndata: two\n\n\r\n0\r\n\r\n");
  EXPECT_FALSE(Send(server, "late"));
}

TEST(HttpStream, In10TheEndOfTheConnectionEndsIt) {
  HttpServer server;
  HttpClient client(server);
  client.Send("GET /stream HTTP/1.0\r\n\r\n");
  EXPECT_EQ(client.ReadAnswer().find("Transfer-Encoding"), std::string::npos);
  ASSERT_TRUE(AwaitSink(server));
  EXPECT_TRUE(Send(server, "data: 1\n\n"));
  server.Run([&] { server.echo.sink->Close(); });
  EXPECT_EQ(client.ReadToEnd(), "data: 1\n\n");
}

TEST(HttpStream, In10ASlowReaderGetsAllBeforeTheEnd) {
  Limits limits;
  limits.stream_queue_bytes_max = 32 << 20;
  HttpServer server(limits);
  HttpClient client(server, 4096);
  client.Send("GET /stream HTTP/1.0\r\n\r\n");
  client.ReadAnswer();
  ASSERT_TRUE(AwaitSink(server));
  const std::string event(16 << 20, 'e');
  EXPECT_TRUE(Send(server, event));
  server.Run([&] { server.echo.sink->Close(); });
  EXPECT_EQ(client.ReadToEnd().size(), event.size());
}

TEST(HttpStream, HeadOpensNoStream) {
  HttpServer server;
  HttpClient client(server);
  client.Send("HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(BodyOf(client.ReadToEnd()), "");
  EXPECT_TRUE(server.Run([&] { return server.echo.sink == nullptr; }));
}

TEST(HttpStream, AClientThatLeavesIsNoticedAlsoWhenNothingHappens) {
  HttpServer server;
  HttpClient client(server);
  client.Send(Get("/stream"));
  ASSERT_TRUE(AwaitSink(server));
  client.Close();
  EXPECT_TRUE(server.Eventually([&] { return server.listener().counters().open == 0; }));
  EXPECT_FALSE(Send(server, "data: 2\n\n"));
}

TEST(HttpStream, AClientMayCloseItsSendingSideAndListenOn) {
  HttpServer server;
  HttpClient client(server);
  client.Send(Get("/stream"));
  client.HalfClose();
  client.ReadAnswer();
  ASSERT_TRUE(AwaitSink(server));
  EXPECT_TRUE(client.ReadUntil("3\r\n:\n\n\r\n")) << "a comment asks whether it is there";
  for (const char* event : {"data: 1\n\n", "data: 2\n\n"}) {
    EXPECT_TRUE(Send(server, event));
    EXPECT_TRUE(client.ReadUntil(event));
  }
  server.Run([&] { server.echo.sink->Close(); });
  EXPECT_EQ(client.ReadToEnd(), "\r\n0\r\n\r\n");
  EXPECT_TRUE(server.Eventually([&] { return server.listener().counters().open == 0; }));
}

TEST(HttpStream, S_61_ASlowReaderIsClosedAtTheBound) {
  Limits limits;
  limits.stream_queue_bytes_max = 100'000;
  limits.write_deadline_ms = 50;
  HttpServer server(limits);
  HttpClient client(server, 4096);
  client.Send(Get("/stream"));
  ASSERT_TRUE(AwaitSink(server));
  const std::string event(10'000, 'e');
  int sent = 0;
  while (sent < 10'000 && Send(server, event)) ++sent;
  EXPECT_GE(sent, 10) << "the queue itself holds ten";
  EXPECT_LT(sent, 10'000) << "100 MB were queued for a client that reads nothing";
  EXPECT_TRUE(server.Eventually([&] { return server.listener().counters().open == 0; }));
}

TEST(HttpStream, S_61_AnEventLargerThanTheBoundArrivesWhole) {
  Limits limits;
  limits.stream_queue_bytes_max = 1000;
  HttpServer server(limits);
  HttpClient client(server, 4096);
  client.Send("GET /stream HTTP/1.0\r\n\r\n");
  client.ReadAnswer();
  ASSERT_TRUE(AwaitSink(server));
  const std::string event(16 << 20, 'e');
  EXPECT_TRUE(Send(server, event));
  EXPECT_FALSE(Send(server, "data: 2\n\n")) << "the client asks for it when it has the first";
  EXPECT_EQ(client.ReadToEnd().size(), event.size());
}

TEST(HttpStream, S_61_AStreamThatStallsIsGivenUp) {
  Limits limits;
  limits.write_deadline_ms = 50;
  limits.stream_queue_bytes_max = 64 << 20;
  HttpServer server(limits);
  HttpClient client(server, 4096);
  client.Send(Get("/stream"));
  ASSERT_TRUE(AwaitSink(server));
  EXPECT_TRUE(Send(server, std::string(16 << 20, 'e')));
  EXPECT_TRUE(server.Eventually([&] {
    server.echo.sink->Send(":\n\n");
    return server.listener().counters().timeouts == 1;
  }));
  EXPECT_FALSE(Send(server, "late"));
}

}  // namespace
}  // namespace once
