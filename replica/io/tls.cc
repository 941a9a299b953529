#include "replica/io/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <string_view>
#include <utility>

namespace once {
namespace {

using Context = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;

std::string LastError(std::string_view what, const std::string& file) {
  char text[256] = "unknown error";
  if (const auto code = ERR_get_error()) ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return std::string(what) + " " + file + ": " + text;
}

int ChooseProtocol(SSL*, const unsigned char** chosen, unsigned char* chosen_bytes,
                   const unsigned char* offered, unsigned int offered_bytes, void*) {
  static constexpr unsigned char kOurs[] = "\x08http/1.1";
  unsigned char* match = nullptr;
  if (SSL_select_next_proto(&match, chosen_bytes, kOurs, sizeof kOurs - 1, offered,
                            offered_bytes) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *chosen = match;
  return SSL_TLSEXT_ERR_OK;
}

std::variant<Context, std::string> Build(const std::string& chain_file,
                                         const std::string& key_file) {
  ERR_clear_error();
  Context context(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
  if (!context) return LastError("no TLS context for", chain_file);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                         SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_alpn_select_cb(context.get(), &ChooseProtocol, nullptr);
  if (SSL_CTX_use_certificate_chain_file(context.get(), chain_file.c_str()) != 1)
    return LastError("cannot use certificate chain", chain_file);
  if (SSL_CTX_use_PrivateKey_file(context.get(), key_file.c_str(), SSL_FILETYPE_PEM) != 1)
    return LastError("cannot use key", key_file);
  if (SSL_CTX_check_private_key(context.get()) != 1)
    return LastError("the certificate does not belong to key", key_file);
  return context;
}

}  // namespace

TlsContext::TlsContext(std::string chain_file, std::string key_file)
    : chain_file_(std::move(chain_file)), key_file_(std::move(key_file)) {}

TlsContext::~TlsContext() {
  SSL_CTX_free(context_);
}

std::variant<std::unique_ptr<TlsContext>, std::string> TlsContext::Load(std::string chain_file,
                                                                        std::string key_file) {
  std::unique_ptr<TlsContext> context(new TlsContext(std::move(chain_file), std::move(key_file)));
  if (auto error = context->Reload()) return std::move(*error);
  return context;
}

std::optional<std::string> TlsContext::Reload() {
  auto built = Build(chain_file_, key_file_);
  if (auto* error = std::get_if<std::string>(&built)) return std::move(*error);
  // Open connections hold their own reference to the old context.
  SSL_CTX_free(std::exchange(context_, std::get<Context>(built).release()));
  return std::nullopt;
}

ssl_st* TlsContext::NewConnection() {
  return SSL_new(context_);
}

}  // namespace once
