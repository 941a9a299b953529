// Who may speak as a region: only who has a certificate for it from the cluster's authority.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "replica/config.h"
#include "tests/system/cluster_process.h"

namespace once {
namespace {

class PeerIdentity : public testing::Test {
 protected:
  // Starts eu and ap, and somebody in the place of us, who admits a run.
  std::string StartWithImpostor(const std::string& certificates, const std::string& shown_region) {
    cluster_.UseCertificates("us", certificates, shown_region);
    for (const std::string& region : cluster_.regions()) EXPECT_TRUE(cluster_.Start(region));
    return Member(cluster_.Acme("us").CreateRun("order", "approval"), "runId");
  }

  void ExpectKeptOut(const std::string& run_id) {
    for (const std::string region : {"eu", "ap"}) {
      NodeProcess& node = cluster_.node(region);
      EXPECT_TRUE(WaitUntil([&] { return node.Logged("peer-refused"); })) << node.Log();
      EXPECT_TRUE(WaitUntil([&] { return node.Logged("peer-unreachable peer=us"); })) << node.Log();
    }
    EXPECT_TRUE(ReachesTheOther("eu", "ap"));
    EXPECT_TRUE(ReachesTheOther("ap", "eu"));
    for (const std::string region : {"eu", "ap"}) {
      Caller caller = cluster_.Acme(region);
      EXPECT_EQ(caller.Get("/v1/runs/" + run_id).status, 404) << region;
      EXPECT_FALSE(caller.CreateRun("order-" + region, "approval").replayed());
    }
  }

  bool ReachesTheOther(const std::string& from, const std::string& to) {
    const std::string run_id = Member(cluster_.Acme(from).CreateRun("hello-" + from), "runId");
    Caller caller = cluster_.Acme(to);
    return WaitUntil([&] { return caller.Get("/v1/runs/" + run_id).status == 200; });
  }

  ClusterProcess cluster_;
};

TEST_F(PeerIdentity, S_15_AnotherAuthoritysCertificateNeverGetsIn) {
  ExpectKeptOut(StartWithImpostor(ForeignCertificates(), "us"));
}

TEST_F(PeerIdentity, S_15_AnotherRegionsCertificateNeverGetsIn) {
  ExpectKeptOut(StartWithImpostor(SharedCertificates(), "sa"));
  EXPECT_TRUE(cluster_.node("eu").Logged("dialled us, found sa")) << cluster_.node("eu").Log();
}

TEST_F(PeerIdentity, S_14_AnExpiredCertificateIsRefusedUntilItIsRenewed) {
  const ScratchDirectory scratch;
  const std::string directory = scratch / "certs";
  std::filesystem::copy(SharedCertificates(), directory);
  const ProgramResult asked =
      RunProgram({"openssl", "req", "-new", "-key", "us.key", "-subj", "/CN=Once region us",
                  "-addext", "subjectAltName=URI:once://region/us", "-out", "us.csr"},
                 directory);
  ASSERT_EQ(asked.exit_code, 0) << asked.err;
  const ProgramResult expired = RunProgram(
      {"openssl", "x509", "-req", "-in", "us.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-days",
       "-1", "-set_serial", "7", "-copy_extensions", "copyall", "-out", "us.old"},
      directory);
  ASSERT_EQ(expired.exit_code, 0) << expired.err;
  std::filesystem::rename(directory + "/us.old", directory + "/us.crt");
  const std::string run_id = StartWithImpostor(directory, "us");
  ExpectKeptOut(run_id);

  const ProgramResult renewed = RunProgram(
      {std::string(ONCE_SOURCE_DIR) + "/ops/certs", "--dir", directory, "--renew", "us"});
  ASSERT_EQ(renewed.exit_code, 0) << renewed.err;
  cluster_.node("us").Signal(SIGHUP);
  EXPECT_TRUE(cluster_.IsEverywhere(run_id)) << "what was said meanwhile is not lost";
}

TEST_F(PeerIdentity, S_14_PlaintextIsEndedAndChangesNothing) {
  ASSERT_TRUE(cluster_.StartAll());
  ASSERT_TRUE(cluster_.IsQuiet());
  const auto where = ParseAddress(cluster_.PeerAddressOf("eu"));
  ASSERT_TRUE(where);
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(where->port);
  ASSERT_EQ(::inet_pton(AF_INET, where->host.c_str(), &address.sin_addr), 1);
  ASSERT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const std::string plain = "PUT /v1/admin/cut HTTP/1.1\r\nContent-Length: 0\r\n\r\n";
  ASSERT_EQ(::send(fd, plain.data(), plain.size(), MSG_NOSIGNAL), static_cast<long>(plain.size()));
  std::string answer;
  char bytes[256];
  for (long got = 1; got > 0;) {
    got = ::recv(fd, bytes, sizeof bytes, 0);
    if (got > 0) answer.append(bytes, static_cast<std::size_t>(got));
  }
  ::close(fd);
  EXPECT_LE(answer.size(), 7u) << "a TLS alert at most";
  EXPECT_TRUE(WaitUntil([&] { return cluster_.node("eu").Logged("peer-refused"); }));
  EXPECT_GE(cluster_.Metric("eu", "once_peer_strangers_total"), 1);
  EXPECT_TRUE(cluster_.IsQuiet());
}

}  // namespace
}  // namespace once
