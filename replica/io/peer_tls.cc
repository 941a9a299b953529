#include "replica/io/peer_tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <string_view>
#include <utility>

#include "replica/config.h"

namespace once {
namespace {

constexpr std::string_view kRegionUri = "once://region/";

using Context = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;

std::variant<Context, std::string> Build(const PeerTlsFiles& files, const std::string& region) {
  ERR_clear_error();
  Context context(SSL_CTX_new(TLS_method()), &SSL_CTX_free);
  if (!context) return OpenSslError("no TLS context");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  if (SSL_CTX_load_verify_file(context.get(), files.ca_file.c_str()) != 1)
    return OpenSslError("cannot use authority " + files.ca_file);
  if (SSL_CTX_use_certificate_chain_file(context.get(), files.certificate_file.c_str()) != 1)
    return OpenSslError("cannot use certificate " + files.certificate_file);
  if (SSL_CTX_use_PrivateKey_file(context.get(), files.key_file.c_str(), SSL_FILETYPE_PEM) != 1)
    return OpenSslError("cannot use key " + files.key_file);
  if (CertificateRegion(SSL_CTX_get0_certificate(context.get())) != region)
    return files.certificate_file + " is not a certificate of region " + region +
           " (it needs one URI name " + std::string(kRegionUri) + region + ")";
  return context;
}

}  // namespace

std::string OpenSslError(const std::string& what) {
  char text[256] = "unknown error";
  if (const auto code = ERR_get_error()) ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return what + ": " + text;
}

std::string CertificateRegion(const X509* certificate) {
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> names(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      &GENERAL_NAMES_free);
  std::string region;
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI) continue;
    const ASN1_IA5STRING* text = name->d.uniformResourceIdentifier;
    const std::string_view uri(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                               static_cast<std::size_t>(ASN1_STRING_length(text)));
    if (uri.substr(0, kRegionUri.size()) != kRegionUri) continue;
    if (!region.empty()) return "";
    region = uri.substr(kRegionUri.size());
    if (!IsRegionName(region)) return "";
  }
  return region;
}

std::string PeerRegion(ssl_st* connection) {
  const X509* certificate = SSL_get0_peer_certificate(connection);
  return certificate ? CertificateRegion(certificate) : "";
}

PeerTls::PeerTls(PeerTlsFiles files, std::string region)
    : files_(std::move(files)), region_(std::move(region)) {}

PeerTls::~PeerTls() {
  SSL_CTX_free(context_);
}

std::variant<std::unique_ptr<PeerTls>, std::string> PeerTls::Load(PeerTlsFiles files,
                                                                  std::string region) {
  std::unique_ptr<PeerTls> tls(new PeerTls(std::move(files), std::move(region)));
  if (auto error = tls->Reload()) return std::move(*error);
  return tls;
}

std::optional<std::string> PeerTls::Reload() {
  auto built = Build(files_, region_);
  if (auto* error = std::get_if<std::string>(&built)) return std::move(*error);
  SSL_CTX_free(std::exchange(context_, std::get<Context>(built).release()));
  return std::nullopt;
}

ssl_st* PeerTls::NewConnection() {
  return SSL_new(context_);
}

}  // namespace once
