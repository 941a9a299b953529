// A listener with an echo service on its own thread, and a client that speaks bytes.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <deque>
#include <functional>
#include <future>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "replica/io/http_listener.h"

namespace once {

/// Answers 200 with "METHOD target|body". Targets with a meaning of their own:
///   /hold    waits for Release      /none    204      /big     8 MiB
///   /stream  an event stream, whose sink is kept     /inject  a header with a line end in it
class EchoService : public HttpService {
 public:
  void Serve(const HttpRequest& request, Respond respond) override {
    ++served;
    HttpReply reply;
    reply.status = 200;
    reply.headers.emplace_back("Content-Type", "text/plain");
    reply.body.append(request.method).append(" ").append(request.target).append("|");
    reply.body.append(request.body);
    if (request.target == "/none") reply.status = 204;
    if (request.target == "/big") reply.body.assign(8 << 20, 'b');
    if (request.target == "/inject") reply.headers.emplace_back("X-Value", "a\r\nX-Evil: 1");
    if (request.target == "/stream") {
      reply.body.clear();
      reply.stream = [this](std::shared_ptr<EventSink> opened) { sink = std::move(opened); };
    }
    if (request.target == "/hold")
      held.emplace_back(std::move(respond), std::move(reply));
    else
      respond(std::move(reply));
  }

  int served = 0;
  std::deque<std::pair<Respond, HttpReply>> held;
  std::shared_ptr<EventSink> sink;
};

class HttpServer {
 public:
  explicit HttpServer(Limits limits = {}, TlsContext* tls = nullptr) : limits_(limits) {
    thread_ = std::thread([this] {
      context_->run();
      work_.reset();
      context_.reset();  // with what is left of connections
    });
    Run([&] {  // a listener lives on one thread
      auto opened = HttpListener::Open(*context_, {"127.0.0.1", 0, limits_, tls}, echo);
      listener_ = std::move(std::get<0>(opened));
    });
  }
  ~HttpServer() {
    Run([this] {
      echo.held.clear();
      echo.sink.reset();
      listener_.reset();
      context_->stop();
    });
    thread_.join();
  }

  /// Runs `action` on the listener's thread and returns what it returns.
  template <class Action>
  auto Run(Action action) -> decltype(action()) {
    std::packaged_task<decltype(action())()> task(std::move(action));
    auto result = task.get_future();
    boost::asio::post(*context_, [&task] { task(); });
    return result.get();
  }
  /// Asks on the listener's thread until `condition` holds; false after ten seconds of asking.
  template <class Condition>
  bool Eventually(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!Run(condition)) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }
  void Release() {
    Run([this] {
      auto [respond, reply] = std::move(echo.held.front());
      echo.held.pop_front();
      respond(std::move(reply));
    });
  }
  bool AwaitHeld(std::size_t count = 1) {
    return Eventually([this, count] { return echo.held.size() == count; });
  }
  HttpCounters counters() {
    return Run([this] { return listener_->counters(); });
  }
  std::uint16_t port() const { return listener_->port(); }
  HttpListener& listener() { return *listener_; }
  /// Runs `at_once` and stops the listener, before it can look at anything that `at_once` did.
  void Stop(std::function<void()> at_once = [] {}) {
    Run([&] {
      at_once();
      listener_->Stop([this] { stopped_ = true; });
    });
  }
  bool AwaitStopped() {
    return Eventually([this] { return stopped_; });
  }
  bool stopped() {
    return Run([this] { return stopped_; });
  }

  EchoService echo;

 private:
  using Context = boost::asio::io_context;
  std::unique_ptr<Context> context_ = std::make_unique<Context>(1);
  boost::asio::executor_work_guard<Context::executor_type> work_{context_->get_executor()};
  const Limits limits_;
  std::unique_ptr<HttpListener> listener_;
  bool stopped_ = false;  // on the thread
  std::thread thread_;
};

/// A blocking socket. A read that takes ten seconds is a hang and fails the test, and so does a
/// listener that is not reached for so long, or is not there; that a busy kernel makes no
/// connection for a moment is only told.
class HttpClient {
 public:
  explicit HttpClient(const HttpServer& server, int receive_bytes = 0) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    for (int told = 0; !Connect(server.port(), receive_bytes);) {
      if (errno == ECONNREFUSED || std::chrono::steady_clock::now() > end) {
        ADD_FAILURE() << "The listener is not reached: " << std::strerror(errno);
        break;
      }
      if (std::exchange(told, errno) != errno)
        std::clog << "no connection: " << std::strerror(errno) << std::endl;
      std::this_thread::yield();
    }
  }
  ~HttpClient() { Close(); }
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  int fd() const { return fd_; }
  void Close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  void HalfClose() { ::shutdown(fd_, SHUT_WR); }
  /// False when the server no longer takes bytes.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  /// One answer with a Content-Length (or only its head), or what came before the end.
  std::string ReadAnswer(bool head_only = false) {
    std::size_t head;
    while ((head = held_.find("\r\n\r\n")) == std::string::npos)
      if (!Receive()) return std::exchange(held_, {});
    std::size_t size = head + 4;
    const std::size_t length = held_.find("Content-Length: ");
    if (!head_only && length < head) {
      std::size_t body = 0;
      std::from_chars(held_.data() + length + 16, held_.data() + head, body);
      size += body;
    }
    while (held_.size() < size)
      if (!Receive()) return std::exchange(held_, {});
    std::string answer = held_.substr(0, size);
    held_.erase(0, size);
    return answer;
  }
  /// Everything until the server closes.
  std::string ReadToEnd() {
    while (Receive()) {
    }
    return std::exchange(held_, {});
  }
  /// True when the connection ended by a reset instead of the server's end.
  bool reset() const { return reset_; }
  /// Reads until `text` has come; false when the server closes first.
  bool ReadUntil(std::string_view text) {
    while (held_.find(text) == std::string::npos)
      if (!Receive()) return false;
    held_.erase(0, held_.find(text) + text.size());
    return true;
  }

  /// Waits until there is something to read, and leaves it there. True when it is the end.
  bool AwaitEnd() {
    char byte;
    return Take(&byte, 1, MSG_PEEK) == 0;
  }

 private:
  // A process that was paused and goes on has its calls interrupted.
  ssize_t Take(char* bytes, std::size_t size, int flags) {
    ssize_t count;
    do count = ::recv(fd_, bytes, size, flags);
    while (count < 0 && errno == EINTR);
    return count;
  }
  bool Receive() {
    char bytes[16384];
    const ssize_t count = Take(bytes, sizeof bytes, 0);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      ADD_FAILURE() << "the server neither answers nor closes";
    reset_ = count < 0 && errno == ECONNRESET;
    if (count <= 0) return false;
    held_.append(bytes, static_cast<std::size_t>(count));
    return true;
  }

  bool Connect(std::uint16_t port, int receive_bytes) {
    Close();
    fd_ = ::socket(AF_INET, SOCK_STREAM, 0);
    const timeval deadline{10, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof deadline);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &deadline, sizeof deadline);
    const int one = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (receive_bytes)
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }

  int fd_ = -1;
  bool reset_ = false;
  std::string held_;
};

inline std::string BodyOf(const std::string& answer) {
  const std::size_t head = answer.find("\r\n\r\n");
  return head == std::string::npos ? "" : answer.substr(head + 4);
}
inline std::string StatusOf(const std::string& answer) {
  return answer.substr(0, 12);
}

inline std::string Get(std::string_view target) {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n\r\n";
}

}  // namespace once
