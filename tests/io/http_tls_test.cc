#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <cstdio>
#include <filesystem>

#include "replica/io/tls.h"
#include "tests/io/http_server.h"

namespace once {
namespace {

/// A self-signed certificate for `name`, written as PEM to the two files.
void MakeCertificate(const std::string& name, const std::string& chain, const std::string& key) {
  EVP_PKEY* const pair = EVP_EC_gen("P-256");
  X509* const certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, pair);
  X509_NAME* const subject = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(certificate, subject);
  X509_sign(certificate, pair, EVP_sha256());
  std::FILE* file = std::fopen(chain.c_str(), "w");
  PEM_write_X509(file, certificate);
  std::fclose(file);
  file = std::fopen(key.c_str(), "w");
  PEM_write_PrivateKey(file, pair, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(file);
  X509_free(certificate);
  EVP_PKEY_free(pair);
}

/// A TLS client over an HttpClient's socket, at most `version`.
class TlsClient {
 public:
  explicit TlsClient(const HttpServer& server, int version = TLS1_3_VERSION)
      : socket_(server), context_(SSL_CTX_new(TLS_client_method())) {
    SSL_CTX_set_min_proto_version(context_, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(context_, version);
    SSL_CTX_set_cipher_list(context_, "ALL:@SECLEVEL=0");
    tls_ = SSL_new(context_);
    SSL_set_alpn_protos(tls_, reinterpret_cast<const unsigned char*>("\x02h2\x08http/1.1"), 12);
    SSL_set_fd(tls_, socket_.fd());
    connected_ = SSL_connect(tls_) == 1;
  }
  ~TlsClient() {
    SSL_free(tls_);
    SSL_CTX_free(context_);
  }
  bool connected() const { return connected_; }
  void Send(std::string_view bytes) {
    ASSERT_EQ(SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size())),
              static_cast<int>(bytes.size()));
  }
  bool ReadUntil(std::string_view text) {
    while (held_.find(text) == std::string::npos)
      if (!Receive()) return false;
    held_.erase(0, held_.find(text) + text.size());
    return true;
  }
  /// Everything until the server says that it is done; a bare end of the socket fails.
  std::string ReadToEnd() {
    while (Receive()) {
    }
    EXPECT_EQ(SSL_get_error(tls_, 0), SSL_ERROR_ZERO_RETURN);
    return std::exchange(held_, {});
  }
  std::string ServerName() {
    X509* const certificate = SSL_get1_peer_certificate(tls_);
    char name[64] = "";
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name,
                              sizeof name);
    X509_free(certificate);
    return name;
  }
  std::string Protocol() {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(tls_, &name, &size);
    return {reinterpret_cast<const char*>(name), size};
  }

 private:
  bool Receive() {
    char bytes[16384];
    int count;
    do count = SSL_read(tls_, bytes, sizeof bytes);
    while (count <= 0 && SSL_get_error(tls_, count) == SSL_ERROR_WANT_READ && errno == EINTR);
    if (count > 0) held_.append(bytes, static_cast<std::size_t>(count));
    return count > 0;
  }

  HttpClient socket_;
  SSL_CTX* context_;
  SSL* tls_ = nullptr;
  bool connected_ = false;
  std::string held_;
};

class HttpTls : public testing::Test {
 protected:
  void SetUp() override {
    const std::string stem = testing::TempDir() + "once-tls-" +
                             testing::UnitTest::GetInstance()->current_test_info()->name() +
                             std::to_string(::getpid());
    chain_ = stem + ".crt";
    key_ = stem + ".key";
    MakeCertificate("first", chain_, key_);
    auto loaded = TlsContext::Load(chain_, key_);
    ASSERT_EQ(loaded.index(), 0u) << std::get<1>(loaded);
    tls_ = std::move(std::get<0>(loaded));
  }
  void TearDown() override {
    std::filesystem::remove(chain_);
    std::filesystem::remove(key_);
  }

  std::string chain_, key_;
  std::unique_ptr<TlsContext> tls_;
};

TEST_F(HttpTls, RoundTripWithKeepAliveAndLargeBodies) {
  HttpServer server({}, tls_.get());
  TlsClient client(server);
  ASSERT_TRUE(client.connected());
  EXPECT_EQ(client.Protocol(), "http/1.1");
  client.Send(Get("/one") + Get("/two"));
  EXPECT_TRUE(client.ReadUntil("GET /one|"));
  EXPECT_TRUE(client.ReadUntil("GET /two|"));
  client.Send(
      "PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\n");
  EXPECT_TRUE(client.ReadUntil("HTTP/1.1 100 Continue\r\n\r\n"));
  const std::string body(1'000'000, 'x');
  client.Send(body);
  EXPECT_TRUE(client.ReadUntil("PUT /|" + body));
  client.Send("GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(BodyOf(client.ReadToEnd()), "GET /last|");
}

TEST_F(HttpTls, StreamsWork) {
  HttpServer server({}, tls_.get());
  TlsClient client(server);
  client.Send(Get("/stream"));
  ASSERT_TRUE(server.Eventually([&] { return server.echo.sink != nullptr; }));
  server.Run([&] {
    for (const char* event : {"one", "two"}) EXPECT_TRUE(server.echo.sink->Send(event));
    server.echo.sink->Close();
  });
  EXPECT_EQ(BodyOf(client.ReadToEnd()), "3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n");
}

TEST_F(HttpTls, WhenItStopsALateRequestIsAnsweredAndAnIdleConnectionEndsCleanly) {
  HttpServer server({}, tls_.get());
  TlsClient late(server), idle(server);
  ASSERT_TRUE(late.connected() && idle.connected());
  server.Stop([&] { late.Send(Get("/late")); });
  EXPECT_EQ(BodyOf(late.ReadToEnd()), "GET /late|");
  EXPECT_EQ(idle.ReadToEnd(), "");
  EXPECT_TRUE(server.AwaitStopped());
}

TEST_F(HttpTls, OlderThan12IsRefused) {
  HttpServer server({}, tls_.get());
  EXPECT_FALSE(TlsClient(server, TLS1_1_VERSION).connected());
  EXPECT_TRUE(TlsClient(server, TLS1_2_VERSION).connected());
}

TEST_F(HttpTls, PlainBytesAreNoHandshake) {
  HttpServer server({}, tls_.get());
  HttpClient client(server);
  client.Send(Get("/"));
  client.ReadToEnd();
  EXPECT_EQ(server.Run([&] { return server.echo.served; }), 0);
}

TEST_F(HttpTls, S_61_AHandshakeHasADeadline) {
  Limits limits;
  limits.header_deadline_ms = 50;
  HttpServer server(limits, tls_.get());
  HttpClient client(server);
  EXPECT_EQ(client.ReadToEnd(), "");
  EXPECT_EQ(server.counters().timeouts, 1u);
}

TEST_F(HttpTls, ReloadChangesTheCertificateOfNewConnections) {
  HttpServer server({}, tls_.get());
  TlsClient before(server);
  EXPECT_EQ(before.ServerName(), "first");
  MakeCertificate("second", chain_, key_);
  EXPECT_EQ(server.Run([&] { return tls_->Reload(); }), std::nullopt);
  EXPECT_EQ(TlsClient(server).ServerName(), "second");
  before.Send(Get("/still"));
  EXPECT_TRUE(before.ReadUntil("GET /still|"));
}

TEST_F(HttpTls, ABadFileIsReportedAndTheOldCertificateStays) {
  HttpServer server({}, tls_.get());
  std::filesystem::resize_file(key_, 10);
  const auto error = server.Run([&] { return tls_->Reload(); });
  ASSERT_TRUE(error.has_value());
  EXPECT_NE(error->find(key_), std::string::npos) << *error;
  EXPECT_EQ(TlsClient(server).ServerName(), "first");
  EXPECT_EQ(TlsContext::Load("/nowhere.crt", key_).index(), 1u);
}

TEST_F(HttpTls, AKeyOfAnotherCertificateIsRefused) {
  const std::string other = chain_ + ".other";
  MakeCertificate("other", other, key_);
  EXPECT_EQ(TlsContext::Load(chain_, key_).index(), 1u);
  std::filesystem::remove(other);
}

}  // namespace
}  // namespace once
