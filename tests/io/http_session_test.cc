// One session on a connection whose buffers are small, in virtual time.
#include "replica/io/http_session.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/io/http_server.h"

namespace once {
namespace {

constexpr int kBufferBytes = 4096;

/// Keeps every request's Respond.
class HoldingService : public HttpService {
 public:
  void Serve(const HttpRequest&, Respond respond) override { held.push_back(std::move(respond)); }
  std::deque<Respond> held;
};

/// Both ends of a connection over loopback; neither takes much that the other has not read.
class SmallConnection {
 public:
  SmallConnection() {
    const int listening = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const where = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listening, where, size), 0);
    EXPECT_EQ(::listen(listening, 1), 0);
    EXPECT_EQ(::getsockname(listening, where, &size), 0);
    client = ::socket(AF_INET, SOCK_STREAM, 0);
    ::setsockopt(client, SOL_SOCKET, SO_RCVBUF, &kBufferBytes, sizeof kBufferBytes);
    EXPECT_EQ(::connect(client, where, size), 0);
    server = ::accept(listening, nullptr, nullptr);
    ::setsockopt(server, SOL_SOCKET, SO_SNDBUF, &kBufferBytes, sizeof kBufferBytes);
    ::close(listening);
  }
  ~SmallConnection() { ::close(client); }

  int client;
  int server;  // the session's
};

class HttpSessionTest : public testing::Test {
 protected:
  HttpSessionTest() {
    connections_->Sweep(0, 0);
    const auto session = MakeHttpSession(context_, pair_.server, false, connections_, nullptr);
    connections_->Add(session, "client", connections_->Admit("client"));
    session->Start();
  }
  ~HttpSessionTest() override {
    service_.held.clear();
    connections_->Abort();
    context_.poll();
  }

  void Send(std::string_view bytes) {
    EXPECT_EQ(::send(pair_.client, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  /// True when the session has read all that was sent.
  bool AllRead() {
    int on_the_way = 0, waiting = 0;
    ::ioctl(pair_.client, SIOCOUTQ, &on_the_way);
    ::ioctl(pair_.server, FIONREAD, &waiting);
    return on_the_way == 0 && waiting == 0;
  }
  /// What there is to read now.
  std::size_t Take() {
    char bytes[kBufferBytes];
    std::size_t taken = 0;
    ssize_t count;
    while ((count = ::recv(pair_.client, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
      taken += static_cast<std::size_t>(count);
    return taken;
  }
  template <class Condition>
  bool Eventually(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      context_.restart();
      context_.poll();
    }
    return true;
  }
  void Answer(const std::function<void(HttpReply&)>& fill) {
    HttpReply reply;
    reply.status = 200;
    fill(reply);
    const Respond respond = std::move(service_.held.front());
    service_.held.pop_front();
    respond(std::move(reply));
  }

  Limits limits_;
  HoldingService service_;
  boost::asio::io_context context_{1};
  std::shared_ptr<HttpConnections> connections_ =
      std::make_shared<HttpConnections>(limits_, service_);
  SmallConnection pair_;
};

TEST_F(HttpSessionTest, S_61_AStreamIsNotHeldToTheDeadlineOfTheAnswerBeforeIt) {
  Send(Get("/first") + Get("/second"));
  ASSERT_TRUE(Eventually([&] { return service_.held.size() == 1; }));
  const std::string body(15'000, 'b');
  Answer([&](HttpReply& reply) { reply.body = body; });
  ASSERT_EQ(service_.held.size(), 1u) << "the second is served before the first answer is sent";
  context_.restart();
  context_.poll();
  std::size_t taken = Take();
  ASSERT_LT(taken, body.size()) << "the kernel took the first answer whole";
  ASSERT_TRUE(Eventually([&] { return (taken += Take()) > body.size() + 50; }));
  std::shared_ptr<EventSink> sink;
  Answer([&](HttpReply& reply) {
    reply.stream = [&](std::shared_ptr<EventSink> opened) { sink = std::move(opened); };
  });
  ASSERT_TRUE(sink);
  connections_->Sweep(2 * limits_.write_deadline_ms, 0);
  EXPECT_TRUE(sink->Send("data: 1\n\n"));
  EXPECT_EQ(connections_->counters.timeouts, 0u);
}

TEST_F(HttpSessionTest, S_61_WhoLeavesLargeAnswersCostsNobodyASmallOne) {
  limits_.answers_bytes_max = 1;
  Send(Get("/small") + Get("/large"));
  ASSERT_TRUE(Eventually([&] { return service_.held.size() == 1; }));
  const std::string small(15'000, 's');
  Answer([&](HttpReply& reply) { reply.body = small; });
  context_.restart();
  context_.poll();
  EXPECT_GT(connections_->counters.unsent_bytes, limits_.answers_bytes_max);
  std::size_t taken = 0;
  ASSERT_TRUE(Eventually([&] { return (taken += Take()) > small.size(); }));
  EXPECT_EQ(connections_->counters.refused, 0u);
  ASSERT_EQ(service_.held.size(), 1u);
  Answer([&](HttpReply& reply) { reply.body = std::string(100 * kBufferBytes, 'l'); });
  EXPECT_EQ(connections_->counters.refused, 1u);
  EXPECT_EQ(connections_->counters.open, 0u);
}

TEST_F(HttpSessionTest, S_61_AStreamThatWasGivenUpHoldsNothing) {
  Send(Get("/stream"));
  ASSERT_TRUE(Eventually([&] { return service_.held.size() == 1; }));
  std::shared_ptr<EventSink> sink;
  Answer([&](HttpReply& reply) {
    reply.stream = [&](std::shared_ptr<EventSink> opened) { sink = std::move(opened); };
  });
  ASSERT_TRUE(sink && sink->Send(std::string(100 * kBufferBytes, 'e')));
  EXPECT_GT(connections_->counters.unsent_bytes, 0u);
  connections_->Sweep(2 * limits_.write_deadline_ms, 0);
  EXPECT_EQ(connections_->counters.timeouts, 1u);
  EXPECT_EQ(connections_->counters.unsent_bytes, 0u) << "though its sink is still kept";
}

TEST_F(HttpSessionTest, S_61_WhatComesAfterTheLastAnswerIsReadUpToTheBound) {
  limits_.drain_bytes_max = 100 * kBufferBytes;
  Send("no request\r\n\r\n");
  ASSERT_TRUE(Eventually([&] { return Take() > 0; }));
  for (int i = 0; i < 100; ++i) {
    Send(std::string(kBufferBytes, 'x'));
    ASSERT_TRUE(Eventually([&] { return AllRead(); }));
  }
  EXPECT_EQ(connections_->counters.open, 1u);
  Send("x");
  EXPECT_TRUE(Eventually([&] { return connections_->counters.open == 0; }));
}

}  // namespace
}  // namespace once
