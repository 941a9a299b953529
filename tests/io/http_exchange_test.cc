// The ordinary life of a connection: keep-alive, versions, HEAD, pipelining, bodies.
#include "replica/io/http_answer.h"
#include "tests/io/http_server.h"

namespace once {
namespace {

TEST(HttpExchange, AnswersByteByByte) {
  HttpServer server;
  HttpClient client(server);
  client.Send("POST /a?b=%20 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nxyz");
  std::string answer = client.ReadAnswer();
  const std::size_t date = answer.find("Date: ");
  ASSERT_NE(date, std::string::npos);
  EXPECT_EQ(answer.substr(date + 31, 5), " GMT\r") << answer;
  answer.erase(date, 37);
  EXPECT_EQ(answer,
            "HTTP/1.1 200 OK\r\nServer: once\r\nContent-Type: text/plain\r\n"
            "Content-Length: 17\r\n\r\nPOST /a?b=%20|xyz");
}

TEST(HttpExchange, DateIsImfFixdate) {
  EXPECT_EQ(HttpDate(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
}

TEST(HttpExchange, KeepsTheConnection) {
  HttpServer server;
  HttpClient client(server);
  for (int i = 0; i < 10; ++i) {
    client.Send(Get("/" + std::to_string(i)));
    EXPECT_EQ(BodyOf(client.ReadAnswer()), "GET /" + std::to_string(i) + "|");
  }
  EXPECT_EQ(server.counters().accepted, 1u);
}

TEST(HttpExchange, ClosesWhenAsked) {
  HttpServer server;
  HttpClient client(server);
  client.Send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  const std::string answer = client.ReadToEnd();
  EXPECT_NE(answer.find("\r\nConnection: close\r\n"), std::string::npos) << answer;
  EXPECT_EQ(BodyOf(answer), "GET /|");
}

TEST(HttpExchange, Http10ClosesUnlessAskedToStay) {
  HttpServer server;
  HttpClient brief(server);
  brief.Send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_EQ(BodyOf(brief.ReadToEnd()), "GET /|");

  HttpClient staying(server);
  for (int i = 0; i < 2; ++i) {
    staying.Send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_NE(staying.ReadAnswer().find("\r\nConnection: keep-alive\r\n"), std::string::npos);
  }
}

TEST(HttpExchange, HeadHasTheLengthWithoutTheBody) {
  HttpServer server;
  HttpClient client(server);
  client.Send("HEAD /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  const std::string answer = client.ReadToEnd();
  EXPECT_NE(answer.find("Content-Length: 8\r\n"), std::string::npos) << answer;
  EXPECT_EQ(BodyOf(answer), "");
}

TEST(HttpExchange, NoContentHasNeitherLengthNorBody) {
  HttpServer server;
  HttpClient client(server);
  client.Send(Get("/none") + Get("/after"));
  const std::string none = client.ReadAnswer();
  EXPECT_EQ(StatusOf(none), "HTTP/1.1 204");
  EXPECT_EQ(none.find("Content-Length"), std::string::npos);
  EXPECT_EQ(BodyOf(client.ReadAnswer()), "GET /after|");
}

TEST(HttpExchange, AHeaderValueCannotAddAHeader) {
  HttpServer server;
  HttpClient client(server);
  client.Send(Get("/inject"));
  EXPECT_NE(client.ReadAnswer().find("\r\nX-Value: a  X-Evil: 1\r\n"), std::string::npos);
}

TEST(HttpExchange, ContinueIsSaidOnceTheHeadIsAcceptable) {
  HttpServer server;
  HttpClient client(server);
  const std::string head = "PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n";
  client.Send(head + "Content-Length: 2\r\n\r\n");
  EXPECT_EQ(client.ReadAnswer(), "HTTP/1.1 100 Continue\r\n\r\n");
  client.Send("ab");
  EXPECT_EQ(BodyOf(client.ReadAnswer()), "PUT /|ab");

  client.Send(head + "Transfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(client.ReadAnswer(), "HTTP/1.1 100 Continue\r\n\r\n");
  client.Send("1\r\nc\r\n0\r\n\r\n");
  EXPECT_EQ(BodyOf(client.ReadAnswer()), "PUT /|c");

  client.Send(head + "Content-Length: 99999999\r\n\r\n");
  EXPECT_EQ(StatusOf(client.ReadToEnd()), "HTTP/1.1 413");
}

TEST(HttpExchange, ContinueIsNotSaidWhenTheBodyCameAlong) {
  HttpServer server;
  HttpClient client(server);
  client.Send("PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab");
  EXPECT_EQ(BodyOf(client.ReadAnswer()), "PUT /|ab");
}

TEST(HttpExchange, PipelinedRequestsAreAnsweredInOrder) {
  HttpServer server;
  HttpClient client(server);
  std::string all;
  for (int i = 0; i < 100; ++i) all += Get("/" + std::to_string(i));
  client.Send(all);
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(BodyOf(client.ReadAnswer()), "GET /" + std::to_string(i) + "|");
}

TEST(HttpExchange, TheNextRequestWaitsForTheFirst) {
  HttpServer server;
  HttpClient client(server);
  client.Send(Get("/hold") + Get("/second"));
  ASSERT_TRUE(server.AwaitHeld());
  EXPECT_EQ(server.Run([&] { return server.echo.served; }), 1);
  server.Release();
  EXPECT_EQ(BodyOf(client.ReadAnswer()), "GET /hold|");
  EXPECT_EQ(BodyOf(client.ReadAnswer()), "GET /second|");
}

TEST(HttpExchange, AHalfClosedClientIsAnswered) {
  HttpServer server;
  HttpClient client(server);
  client.Send(Get("/hold"));
  client.HalfClose();
  ASSERT_TRUE(server.AwaitHeld());
  server.Release();
  EXPECT_EQ(BodyOf(client.ReadToEnd()), "GET /hold|");
}

TEST(HttpExchange, AClientThatLeftDisturbsNobody) {
  HttpServer server;
  for (int i = 0; i < 20; ++i) {
    HttpClient client(server);
    client.Send(Get("/hold"));
    ASSERT_TRUE(server.AwaitHeld());
    const linger reset{1, 0};
    ::setsockopt(client.fd(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    client.Close();
    server.Release();
  }
  EXPECT_TRUE(server.Eventually([&] { return server.listener().counters().open == 0; }));
  HttpClient next(server);
  next.Send(Get("/next"));
  EXPECT_EQ(BodyOf(next.ReadAnswer()), "GET /next|");
}

TEST(HttpExchange, ARequestMayArriveByteByByte) {
  HttpServer server;
  HttpClient client(server);
  for (const char byte : std::string("\r\nPUT /slow HTTP/1.1\r\nHost: a\r\nX-Empty:\r\n"
                                     "Content-Length: 2\r\n\r\nok"))
    client.Send(std::string_view(&byte, 1));
  EXPECT_EQ(BodyOf(client.ReadAnswer()), "PUT /slow|ok");
}

TEST(HttpExchange, LargeBodiesInBothDirections) {
  HttpServer server;
  HttpClient client(server);
  const std::string body(1 << 20, 'x');
  client.Send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1048576\r\n\r\n" + body + Get("/big"));
  EXPECT_EQ(BodyOf(client.ReadAnswer()), "PUT /|" + body);
  EXPECT_EQ(BodyOf(client.ReadAnswer()).size(), 8u << 20);
}

TEST(HttpExchange, ChunksAreJoinedAndTrailersDropped) {
  HttpServer server;
  HttpClient client(server);
  const std::string large(100'000, 'y');
  client.Send(
      "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n186A0\r\n" +
      large + "\r\n0\r\nX-Sum: 1\r\n\r\n" + Get("/next"));
  EXPECT_EQ(BodyOf(client.ReadAnswer()), "PUT /|abc" + large);
  EXPECT_EQ(BodyOf(client.ReadAnswer()), "GET /next|");
}

TEST(HttpExchange, AnAbsoluteTargetOfThisHostIsItsPath) {
  HttpServer server;
  HttpClient client(server);
  client.Send("GET HTTP://a:80/p?q HTTP/1.1\r\nHost: A:80\r\n\r\n");
  EXPECT_EQ(BodyOf(client.ReadAnswer()), "GET /p?q|");
}

TEST(HttpListener, SaysWhyItCannotOpen) {
  boost::asio::io_context context;
  const Limits limits;
  EchoService echo;
  const auto named = HttpListener::Open(context, {"localhost", 0, limits}, echo);
  ASSERT_EQ(named.index(), 1u);
  EXPECT_EQ(std::get<1>(named), "not an IP address: localhost");

  HttpServer server;
  const auto taken = HttpListener::Open(context, {"127.0.0.1", server.port(), limits}, echo);
  ASSERT_EQ(taken.index(), 1u);
  EXPECT_NE(std::get<1>(taken).find("cannot listen on 127.0.0.1:"), std::string::npos);
}

}  // namespace
}  // namespace once
