// Mutual TLS between regions: who we are, and who is at the other end.
//
// A region is named by its certificate: exactly one subject alternative name of the form
//   URI:once://region/<name>
// A URI and not a host name, so that no certificate made for a web server, by the same authority or
// by mistake, is ever a region; and nodes may move to other addresses with the certificate they
// have.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>

struct ssl_ctx_st;
struct ssl_st;
struct x509_st;

namespace once {

/// The region that `certificate` names; empty when it names none, or more than one.
std::string CertificateRegion(const x509_st* certificate);

/// What OpenSSL says of the last failure, behind `what`; its queue of errors is empty afterwards.
std::string OpenSslError(const std::string& what);

struct PeerTlsFiles {
  std::string certificate_file;  // PEM: our certificate, then its intermediates
  std::string key_file;          // PEM
  std::string ca_file;           // PEM: who may sign certificates of regions
};

/// The settings of every connection between regions, dialled or accepted: TLS 1.3 only, both ends
/// show a certificate signed by the authority and valid now. No resumption: each connection proves
/// both certificates anew, so that an expired or replaced one does not live on in a ticket.
/// One thread.
class PeerTls {
 public:
  /// Reads the files. A missing or malformed one, a key of another certificate, or a certificate
  /// that does not name `region` is an error in words.
  static std::variant<std::unique_ptr<PeerTls>, std::string> Load(PeerTlsFiles files,
                                                                  std::string region);
  ~PeerTls();
  PeerTls(const PeerTls&) = delete;
  PeerTls& operator=(const PeerTls&) = delete;

  /// Reads the files again. New connections use what they hold now, open ones go on with what they
  /// have. On an error (returned) nothing changes.
  std::optional<std::string> Reload();

  /// The state of one new connection, to be freed with SSL_free; null when memory is short.
  ssl_st* NewConnection();

 private:
  PeerTls(PeerTlsFiles files, std::string region);

  const PeerTlsFiles files_;
  const std::string region_;
  ssl_ctx_st* context_ = nullptr;
};

/// The region at the other end after the handshake; empty when its certificate names none.
std::string PeerRegion(ssl_st* connection);

}  // namespace once
