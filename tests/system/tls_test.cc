// TLS on the client listener.
#include <csignal>
#include <filesystem>

#include "tests/system/cluster_process.h"
#include "tests/system/node_process.h"
#include "tests/system/promises.h"

namespace once {
namespace {

constexpr auto kTls = HttpClient::Transport::kTls;

class Tls : public testing::Test {
 protected:
  void SetUp() override {
    MakeCertificate("first");
    node_.setup.settings = "[tls]\ncertificate_file = \"" + certificate_file() +
                           "\"\nkey_file = \"" + key_file() +
                           "\"\n[limits]\nheader_deadline_ms = 1000\n";
    key_ = node_.AddKey("acme");
    ASSERT_TRUE(node_.Start());
  }

  std::string certificate_file() const { return node_.scratch() / "certificate.pem"; }
  std::string key_file() const { return node_.scratch() / "key.pem"; }
  void MakeCertificate(const std::string& name) {
    const ProgramResult made =
        RunProgram({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=" + name,
                    "-keyout", key_file(), "-out", certificate_file()});
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }

  NodeProcess node_;
  std::string key_;
};

TEST_F(Tls, RequestsAreServed) {
  Caller caller(node_.port(), key_, kTls);
  EXPECT_EQ(caller.http().ServerSubject(), "/CN=first");
  const HttpResult begun = caller.Begin("order");
  ASSERT_EQ(begun.status, 201);
  EXPECT_EQ(caller.Settle(ClaimOf(begun), std::string(200'000, 'x')).status, 200);
  EXPECT_EQ(AnswerOf(caller.Begin("order")).size(), 200'000u);
  EXPECT_TRUE(node_.Logged("https://127.0.0.1:"));
}

TEST_F(Tls, PlainHttpIsEndedAndNeverServed) {
  Caller plain(node_.port(), key_);
  EXPECT_EQ(plain.Get("/healthz").status, 0);
  HttpClient silent(node_.port());
  EXPECT_TRUE(silent.ClosedByServer()) << "a handshake that never comes has a deadline";
}

TEST_F(Tls, SighupRotatesTheCertificateAndKeepsOpenConnections) {
  Caller open(node_.port(), key_, kTls);
  EXPECT_EQ(open.Get("/healthz").status, 200);
  MakeCertificate("second");
  node_.Signal(SIGHUP);
  EXPECT_TRUE(
      WaitUntil([&] { return HttpClient(node_.port(), kTls).ServerSubject() == "/CN=second"; }));
  EXPECT_EQ(open.http().ServerSubject(), "/CN=first");
  EXPECT_EQ(open.Begin("order").status, 201);
}

TEST_F(Tls, DamagedCertificateChangesNothing) {
  const std::string good = ReadFile(certificate_file());
  WriteFile(certificate_file(), "no certificate");
  node_.Signal(SIGHUP);
  EXPECT_TRUE(WaitUntil([&] { return node_.Logged("reload-failed"); }));
  EXPECT_EQ(HttpClient(node_.port(), kTls).ServerSubject(), "/CN=first");
  node_.Kill();
  EXPECT_EQ(node_.StartAndExit(), 1);
  EXPECT_TRUE(node_.Logged("certificate.pem"));
}

TEST_F(Tls, ABadCertificateBetweenRegionsAlsoLeavesTheOneForClientsAsItWas) {
  const ScratchDirectory scratch;
  const std::string directory = scratch / "certs";
  std::filesystem::copy(SharedCertificates(), directory);
  ASSERT_EQ(node_.Stop(), 0);
  node_.setup.settings += "[cluster]\npeer_listen = \"127.0.0.1:0\"\ncertificate_file = \"" +
                          directory + "/us.crt\"\nkey_file = \"" + directory +
                          "/us.key\"\nca_file = \"" + directory +
                          "/ca.crt\"\ncertificates_dir = \"" + directory +
                          "\"\n[[peer]]\nregion = \"eu\"\naddress = \"127.0.0.1:1\"\n";
  ASSERT_TRUE(node_.Start());
  MakeCertificate("second");
  WriteFile(directory + "/us.crt", "no certificate");
  node_.Signal(SIGHUP);
  EXPECT_TRUE(WaitUntil([&] { return node_.Logged("reload-failed"); }));
  EXPECT_EQ(HttpClient(node_.port(), kTls).ServerSubject(), "/CN=first");
}

}  // namespace
}  // namespace once
