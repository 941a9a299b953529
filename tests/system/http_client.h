// A blocking HTTP/1.1 client on one connection, plain or TLS.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct ssl_st;
struct ssl_ctx_st;

namespace once {

/// Why there is no answer.
enum class HttpLoss {
  kNone,      // there is one
  kNotTaken,  // the server refused the connection, or ended it before it read the request
  kLost,      // the server read the request and ended the connection; or it says nothing
};

struct HttpResult {
  int status = 0;                              // 0: no answer, `loss` says why
  HttpLoss loss = HttpLoss::kNone;             // only of Request
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  std::string Header(const std::string& name) const;
  bool replayed() const { return Header("openwop-idempotent-replay") == "true"; }
};

using HeaderList = std::vector<std::pair<std::string, std::string>>;

/// Not thread-safe: one per thread. A call that gets nothing for 30 s gives up with status 0.
class HttpClient {
 public:
  enum class Transport { kPlain, kTls };

  explicit HttpClient(std::uint16_t port, Transport transport = Transport::kPlain);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  bool connected() const { return fd_ >= 0; }
  /// Sends and receives. Connects first if an earlier request ended the connection.
  HttpResult Request(std::string_view method, std::string_view target,
                     const HeaderList& headers = {}, std::string_view body = {});

  /// The halves of Request, for many requests at the same time. Neither connects again.
  bool Send(std::string_view method, std::string_view target, const HeaderList& headers = {},
            std::string_view body = {});
  HttpResult Receive();

  bool SendBytes(std::string_view bytes);
  /// True when the server ended the connection, within the receive deadline.
  bool ClosedByServer();
  /// Subject of the server's certificate, as in "/CN=name".
  std::string ServerSubject() const;

 private:
  void Connect();
  void Disconnect();
  long ReadSome();
  bool ReadUntil(std::string_view mark, std::size_t& end);
  bool ReadChunks(std::string& body);
  HttpLoss WhyUnanswered() const;

  const std::uint16_t port_;
  const Transport transport_;
  int fd_ = -1;
  ssl_ctx_st* context_ = nullptr;
  ssl_st* tls_ = nullptr;
  std::string buffer_;
};

}  // namespace once
