#include "tests/bench/connection.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace once::load {
namespace {

[[noreturn]] void ThrowErrno(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

Connection::Connection(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int failure = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); failure != 0) {
    throw std::runtime_error(host + ":" + port + ": " + gai_strerror(failure));
  }
  descriptor_ = socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC, found->ai_protocol);
  const int connected =
      descriptor_ < 0 ? -1 : connect(descriptor_, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  if (connected < 0) ThrowErrno("connect to " + host + ":" + port);
  const int on = 1;
  setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Connection::~Connection() {
  close(descriptor_);
}

void Connection::Send(const std::string& request) {
  for (std::size_t sent = 0; sent < request.size();) {
    const ssize_t bytes =
        send(descriptor_, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
    if (bytes < 0 && errno != EINTR) ThrowErrno("send");
    if (bytes > 0) sent += bytes;
  }
}

Reply Connection::Receive(ParseReply parse) {
  // Shared by all connections: an answer that comes in one piece is read where it landed.
  static std::array<char, 64 * 1024> buffer;
  if (complete_) partial_.clear();
  complete_ = false;
  const ssize_t bytes = recv(descriptor_, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  if (bytes < 0) ThrowErrno("receive");
  if (bytes == 0)
    throw std::runtime_error("the server closed a connection; last said: " + partial_);

  std::string_view input(buffer.data(), bytes);
  if (!partial_.empty()) input = partial_.append(input);
  const Reply reply = parse(input);
  if (reply.bytes == 0 && partial_.empty()) partial_ = input;
  if (reply.bytes == 0) return {};
  if (reply.bytes < input.size()) throw std::runtime_error("the server sent more than its answer");
  complete_ = true;
  return reply;
}

Reply Connection::Exchange(const std::string& request, ParseReply parse) {
  constexpr int kPatienceMs = 30'000;
  Send(request);
  while (true) {
    pollfd readable{descriptor_, POLLIN, 0};
    if (poll(&readable, 1, kPatienceMs) == 0) throw std::runtime_error("no answer to the opening");
    const Reply reply = Receive(parse);
    if (reply.bytes > 0) return reply;
  }
}

}  // namespace once::load
