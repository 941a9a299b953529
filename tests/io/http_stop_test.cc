// The graceful end of a listener: who sent a request before seeing the end is answered, or sees the
// end and was not served.
#include <atomic>

#include "tests/io/http_server.h"

namespace once {
namespace {

constexpr std::string_view kLastAnswer = "\r\nConnection: close\r\n";

// A client whose connection is known to the listener, and idle.
std::unique_ptr<HttpClient> Known(HttpServer& server) {
  auto client = std::make_unique<HttpClient>(server);
  client->Send(Get("/first"));
  EXPECT_EQ(BodyOf(client->ReadAnswer()), "GET /first|");
  return client;
}

void ExpectLastAnswer(HttpClient& client, const std::string& body) {
  const std::string answer = client.ReadToEnd();
  EXPECT_NE(answer.find(kLastAnswer), std::string::npos) << answer;
  EXPECT_EQ(BodyOf(answer), body);
  EXPECT_FALSE(client.reset());
}

bool Connects(const HttpServer& server) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server.port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  const bool connected = ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return connected;
}

TEST(HttpStop, WithoutConnectionsItIsDoneSoon) {
  HttpServer server;
  server.Stop();
  EXPECT_TRUE(server.AwaitStopped());
}

TEST(HttpStop, IdleConnectionsAreClosedAfterTheGraceAndNoneIsAccepted) {
  HttpServer server;
  const auto idle = Known(server);
  server.Stop();
  EXPECT_FALSE(Connects(server));
  EXPECT_EQ(idle->ReadToEnd(), "");
  EXPECT_FALSE(idle->reset());
  EXPECT_TRUE(server.AwaitStopped()) << "a client that does not close its side is not waited for";
}

TEST(HttpStop, TheCurrentRequestIsAnsweredAndThenTheConnectionCloses) {
  HttpServer server;
  HttpClient busy(server);
  busy.Send(Get("/hold") + Get("/not-any-more"));
  HttpClient sending(server);
  sending.Send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na");
  ASSERT_TRUE(server.AwaitHeld());
  ASSERT_TRUE(server.Eventually([&] { return server.listener().counters().accepted == 2; }));
  server.Stop();
  sending.Send("b");
  ExpectLastAnswer(sending, "PUT /|ab");
  EXPECT_FALSE(server.stopped());
  server.Release();
  ExpectLastAnswer(busy, "GET /hold|");
  busy.Close();
  sending.Close();
  EXPECT_TRUE(server.AwaitStopped());
}

TEST(HttpStop, ARequestThatHasArrivedButWasNotReadIsAnswered) {
  HttpServer server;
  const auto client = Known(server);
  server.Stop([&] { client->Send(Get("/arrived")); });
  ExpectLastAnswer(*client, "GET /arrived|");
}

TEST(HttpStop, ARequestThatComesWithinTheGraceIsAnswered) {
  Limits limits;
  limits.stop_grace_ms = limits.stop_deadline_ms = 60'000;
  HttpServer server(limits);
  const auto client = Known(server);
  server.Stop();
  client->Send(Get("/late"));
  ExpectLastAnswer(*client, "GET /late|");
}

TEST(HttpStop, AConnectionThatWaitsToBeAcceptedIsServed) {
  HttpServer server;
  std::unique_ptr<HttpClient> waiting, silent;
  server.Stop([&] {
    waiting = std::make_unique<HttpClient>(server);
    waiting->Send(Get("/waiting"));
    silent = std::make_unique<HttpClient>(server);
  });
  ExpectLastAnswer(*waiting, "GET /waiting|");
  EXPECT_EQ(silent->ReadToEnd(), "");
  EXPECT_FALSE(silent->reset());
}

TEST(HttpStop, ARequestThatMeetsTheEndIsNotServedAndNotReset) {
  Limits limits;
  limits.stop_grace_ms = 0;
  HttpServer server(limits);
  const auto client = Known(server);
  server.Stop();
  ASSERT_TRUE(client->AwaitEnd());
  client->Send(Get("/too-late"));
  EXPECT_EQ(client->ReadToEnd(), "");
  EXPECT_FALSE(client->reset());
  EXPECT_TRUE(server.AwaitStopped());
  EXPECT_EQ(server.Run([&] { return server.echo.served; }), 1);
}

TEST(HttpStop, OfManyClientsInFullSwingEachGetsAWholeAnswerOrNone) {
  constexpr int kClients = 24;
  HttpServer server;
  std::atomic<int> answered = 0, resets = 0, torn = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < kClients; ++i)
    clients.emplace_back([&, client = Known(server)] {
      for (std::string answer = "first"; !answer.empty();) {
        client->Send(Get("/again"));
        answer = client->ReadAnswer();
        if (BodyOf(answer) == "GET /again|")
          ++answered;
        else if (!answer.empty())
          ++torn;
      }
      if (client->reset()) ++resets;
    });
  EXPECT_TRUE(server.Eventually([&] { return server.echo.served > 100 * kClients; }));
  server.Stop();
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(resets, 0);
  EXPECT_EQ(torn, 0);
  EXPECT_TRUE(server.AwaitStopped());
  EXPECT_EQ(server.Run([&] { return server.echo.served; }), answered + kClients)
      << "who saw only the end was not served";
}

TEST(HttpStop, StreamsAreEnded) {
  HttpServer server;
  HttpClient client(server);
  client.Send(Get("/stream"));
  client.ReadAnswer();
  ASSERT_TRUE(server.Eventually([&] { return server.echo.sink != nullptr; }));
  server.Stop();
  EXPECT_EQ(client.ReadToEnd(), "0\r\n\r\n");
  client.Close();
  EXPECT_TRUE(server.AwaitStopped());
}

TEST(HttpStop, AfterTheDeadlineTheRestIsClosed) {
  Limits limits;
  limits.stop_grace_ms = limits.stop_deadline_ms = 20;
  HttpServer server(limits);
  HttpClient busy(server);
  busy.Send(Get("/hold"));
  ASSERT_TRUE(server.AwaitHeld());
  server.Stop();
  EXPECT_EQ(busy.ReadToEnd(), "");
  EXPECT_TRUE(server.AwaitStopped());
  server.Release();  // too late, and harmless
}

}  // namespace
}  // namespace once
