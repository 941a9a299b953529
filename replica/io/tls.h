// The certificate of a listener, and how it is replaced while the node runs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>

struct ssl_ctx_st;
struct ssl_st;

namespace once {

/// A server's TLS settings: TLS 1.2 or newer, no compression, no renegotiation, ALPN `http/1.1`.
/// One thread.
class TlsContext {
 public:
  /// Reads PEM files: the certificate followed by its intermediates, and the key. A missing or
  /// malformed file, or a key of another certificate, is an error in words.
  static std::variant<std::unique_ptr<TlsContext>, std::string> Load(std::string chain_file,
                                                                     std::string key_file);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  /// Reads both files again. New connections use what they hold now, open ones go on with what they
  /// have. On an error (returned) the old certificate stays.
  std::optional<std::string> Reload();

  /// The state of one new connection, to be freed with SSL_free; null when memory is short.
  ssl_st* NewConnection();

 private:
  TlsContext(std::string chain_file, std::string key_file);

  std::string chain_file_;
  std::string key_file_;
  ssl_ctx_st* context_ = nullptr;
};

}  // namespace once
