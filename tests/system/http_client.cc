#include "tests/system/http_client.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>

#include "tests/system/wait_until.h"

namespace once {
namespace {

constexpr timeval kDeadline{30, 0};

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::map<std::string, std::string> ParseHeaders(std::string_view head) {
  std::map<std::string, std::string> headers;
  for (auto line_end = head.find("\r\n"); line_end != std::string_view::npos;
       line_end = head.find("\r\n")) {
    head.remove_prefix(line_end + 2);
    const std::string_view line = head.substr(0, head.find("\r\n"));
    const auto colon = line.find(": ");
    if (colon != std::string_view::npos)
      headers[Lower(line.substr(0, colon))] = line.substr(colon + 2);
  }
  return headers;
}

// With a deadline on the socket, a machine that is put to sleep and wakes breaks calls off.
bool Interrupted() {
  return errno == EINTR;
}

}  // namespace

std::string HttpResult::Header(const std::string& name) const {
  const auto at = headers.find(name);
  return at == headers.end() ? "" : at->second;
}

HttpClient::HttpClient(std::uint16_t port, Transport transport)
    : port_(port), transport_(transport) {
  Connect();
}

HttpClient::~HttpClient() {
  Disconnect();
}

void HttpClient::Connect() {
  Disconnect();
  fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &kDeadline, sizeof kDeadline);
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &kDeadline, sizeof kDeadline);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port_);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return Disconnect();
  if (transport_ == Transport::kPlain) return;
  context_ = SSL_CTX_new(TLS_client_method());
  tls_ = SSL_new(context_);
  SSL_set_fd(tls_, fd_);
  if (SSL_connect(tls_) != 1) Disconnect();
}

void HttpClient::Disconnect() {
  if (tls_) SSL_free(std::exchange(tls_, nullptr));
  if (context_) SSL_CTX_free(std::exchange(context_, nullptr));
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  buffer_.clear();
}

bool HttpClient::SendBytes(std::string_view bytes) {
  while (connected() && !bytes.empty()) {
    const long sent = tls_ ? SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size()))
                           : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && Interrupted()) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return connected();
}

long HttpClient::ReadSome() {
  if (!connected()) return 0;
  char bytes[16 * 1024];
  long got = 0;
  do {
    got = tls_ ? SSL_read(tls_, bytes, sizeof bytes) : ::recv(fd_, bytes, sizeof bytes, 0);
  } while (got < 0 && Interrupted());
  if (got > 0) buffer_.append(bytes, static_cast<std::size_t>(got));
  return got;
}

bool HttpClient::ClosedByServer() {
  while (true) {
    const long got = ReadSome();
    if (got == 0) return true;
    if (got < 0) return tls_ || errno != EAGAIN;
  }
}

bool HttpClient::ReadUntil(std::string_view mark, std::size_t& end) {
  while ((end = buffer_.find(mark)) == std::string::npos)
    if (ReadSome() <= 0) return false;
  end += mark.size();
  return true;
}

bool HttpClient::ReadChunks(std::string& body) {
  while (true) {
    std::size_t end = 0;
    if (!ReadUntil("\r\n", end)) return false;
    const std::size_t size = std::stoul(buffer_.substr(0, end), nullptr, 16);
    while (buffer_.size() < end + size + 2)
      if (ReadSome() <= 0) return false;
    body += buffer_.substr(end, size);
    buffer_.erase(0, end + size + 2);
    if (size == 0) return true;
  }
}

HttpResult HttpClient::Receive() {
  HttpResult result;
  std::size_t end = 0;
  if (!ReadUntil("\r\n\r\n", end) || !buffer_.starts_with("HTTP/1.1 ")) return {};
  const std::string head = buffer_.substr(0, end);
  buffer_.erase(0, end);
  result.headers = ParseHeaders(head);
  const int status = std::stoi(head.substr(9, 3));
  if (result.Header("transfer-encoding") == "chunked") {
    if (!ReadChunks(result.body)) return {};
  } else if (const std::string length = result.Header("content-length"); !length.empty()) {
    const std::size_t bytes = std::stoul(length);
    while (buffer_.size() < bytes)
      if (ReadSome() <= 0) return {};
    result.body = buffer_.substr(0, bytes);
    buffer_.erase(0, bytes);
  }
  result.status = status;
  return result;
}

bool HttpClient::Send(std::string_view method, std::string_view target, const HeaderList& headers,
                      std::string_view body) {
  std::string text = std::string(method) + " " + std::string(target) + " HTTP/1.1\r\n";
  text += "Host: 127.0.0.1\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  if (!body.empty()) text += "Content-Type: application/json\r\n";
  for (const auto& [name, value] : headers) text += name + ": " + value + "\r\n";
  text += "\r\n";
  return SendBytes(text + std::string(body));
}

// The server's kernel acknowledges only what comes while the connection is open, and resets one
// that is closed with something unread: what was acknowledged, and not reset, was read.
HttpLoss HttpClient::WhyUnanswered() const {
  if (!connected()) return HttpLoss::kNotTaken;
  if (tls_) return HttpLoss::kLost;
  tcp_info info{};
  const auto look = [&] {
    socklen_t size = sizeof info;
    ::getsockopt(fd_, IPPROTO_TCP, TCP_INFO, &info, &size);
    return info.tcpi_state == TCP_CLOSE || info.tcpi_unacked == 0;
  };
  return WaitUntil(look) && info.tcpi_state == TCP_CLOSE ? HttpLoss::kNotTaken : HttpLoss::kLost;
}

HttpResult HttpClient::Request(std::string_view method, std::string_view target,
                               const HeaderList& headers, std::string_view body) {
  if (!connected()) Connect();
  HttpResult result;
  if (Send(method, target, headers, body)) result = Receive();
  if (result.status == 0) result.loss = WhyUnanswered();
  // A broken connection is never used again, and neither is one that the server said it ends.
  if (result.status == 0 || result.Header("connection") == "close") Disconnect();
  return result;
}

std::string HttpClient::ServerSubject() const {
  X509* certificate = tls_ ? SSL_get_peer_certificate(tls_) : nullptr;
  if (!certificate) return "";
  char text[256];
  X509_NAME_oneline(X509_get_subject_name(certificate), text, sizeof text);
  X509_free(certificate);
  return text;
}

}  // namespace once
