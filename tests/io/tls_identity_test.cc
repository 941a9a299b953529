// Who may speak between regions: the certificate decides, and nothing else gets in.
#include <gtest/gtest.h>

#include <boost/asio/read.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>

#include "tests/io/regions.h"

namespace once {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

/// A hand-made client of a transport's port: TLS with what `context` says, then `bytes`.
struct Stranger {
  Stranger(Regions& regions, const std::string& at, asio::ssl::context& context, std::string bytes)
      : stream(regions.context, context), said(std::move(bytes)) {
    stream.next_layer().connect({asio::ip::address_v4::loopback(), regions[at].port()});
    stream.async_handshake(asio::ssl::stream_base::client, [this](error_code error) {
      handshaken = !error;
      if (error) return void(ended = true);
      asio::async_write(stream, asio::buffer(said), [](error_code, std::size_t) {});
      asio::async_read(stream, asio::buffer(answer),
                       [this](error_code, std::size_t) { ended = true; });
    });
  }

  asio::ssl::stream<asio::ip::tcp::socket> stream;
  std::string said;
  std::array<char, 1000> answer;
  bool handshaken = false;
  bool ended = false;
};

const std::string kHeartbeat(4, '\0');

asio::ssl::context ClientOf(Regions& regions, const std::string& region) {
  asio::ssl::context context(asio::ssl::context::tls_client);
  if (!region.empty()) {
    regions.authority.IssueRegion(region, regions.directory / region);
    context.use_certificate_chain_file(regions.directory / (region + ".crt"));
    context.use_private_key_file(regions.directory / (region + ".key"), asio::ssl::context::pem);
  }
  return context;
}

TEST(TlsIdentity, APeerByHandGetsIn) {
  Regions regions;
  ASSERT_EQ(regions.Open("us", {"eu"}), "");
  auto context = ClientOf(regions, "eu");
  std::string frames = kHeartbeat;
  AppendFrame(frames, "hello");
  Stranger eu(regions, "us", context, frames);
  ASSERT_TRUE(regions.Until([&] { return !regions.Heard("eu", "us").empty(); }));
  EXPECT_EQ(regions.Heard("eu", "us")[0], "hello");
}

TEST(TlsIdentity, AnAnnouncedLengthBeyondTheBoundEndsTheConnection) {
  Regions regions;
  ASSERT_EQ(regions.Open("us", {"eu"}), "");
  auto context = ClientOf(regions, "eu");
  Stranger eu(regions, "us", context, kHeartbeat + std::string(4, '\xff') + "rest");
  ASSERT_TRUE(regions.Until([&] { return eu.ended; }));
  EXPECT_EQ(regions["us"].CountersOf("eu").oversize, 1u);
  EXPECT_TRUE(regions.Heard("eu", "us").empty());
}

TEST(TlsIdentity, S_14_OlderThanTls13IsRefused) {
  Regions regions;
  ASSERT_EQ(regions.Open("us", {"eu"}), "");
  auto context = ClientOf(regions, "eu");
  SSL_CTX_set_max_proto_version(context.native_handle(), TLS1_2_VERSION);
  Stranger eu(regions, "us", context, kHeartbeat);
  ASSERT_TRUE(regions.Until([&] { return eu.ended && regions["us"].strangers() == 1; }));
  EXPECT_FALSE(eu.handshaken);
}

TEST(TlsIdentity, S_14_WithoutACertificateNobodyGetsIn) {
  Regions regions;
  ASSERT_EQ(regions.Open("us", {"eu"}), "");
  auto context = ClientOf(regions, "");
  std::string frames = kHeartbeat;
  AppendFrame(frames, "hello");
  Stranger nobody(regions, "us", context, frames);
  ASSERT_TRUE(regions.Until([&] { return nobody.ended && regions["us"].strangers() == 1; }));
  EXPECT_TRUE(regions.Heard("eu", "us").empty());
}

TEST(TlsIdentity, S_14_PlaintextIsRefused) {
  Regions regions;
  ASSERT_EQ(regions.Open("us", {"eu"}), "");
  asio::ip::tcp::socket socket(regions.context);
  socket.connect({asio::ip::address_v4::loopback(), regions["us"].port()});
  std::string frames = kHeartbeat;
  AppendFrame(frames, "hello");
  asio::write(socket, asio::buffer(frames));
  bool closed = false;
  std::array<char, 1000> answer;
  asio::async_read(socket, asio::buffer(answer), [&](error_code, std::size_t) { closed = true; });
  ASSERT_TRUE(regions.Until([&] { return closed && regions["us"].strangers() == 1; }));
  EXPECT_TRUE(regions.heard.empty());
}

TEST(TlsIdentity, AnUnknownAuthorityIsRefusedByBothSides) {
  Regions regions;
  Authority other("another authority");
  other.Write(regions.directory / "other.crt");
  other.IssueRegion("eu", regions.directory / "eu");
  ASSERT_EQ(regions.Open("us", {"eu"}), "");
  ASSERT_EQ(regions.Open("eu", {"us"}),
            "");  // trusts the same authority as us, is not signed by it
  regions["us"].Send("eu", "secret");
  regions["eu"].Send("us", "lie");
  ASSERT_TRUE(regions.Until([&] {
    return regions["us"].CountersOf("eu").refused >= 2 && regions["us"].strangers() >= 2;
  }));
  EXPECT_TRUE(regions.heard.empty());
  EXPECT_EQ(regions["us"].CountersOf("eu").connects, 0u);
  EXPECT_EQ(regions["eu"].CountersOf("us").connects, 0u);
}

TEST(TlsIdentity, S_15_AnotherRegionAtTheDialledAddressIsRefused) {
  Regions regions;
  ASSERT_EQ(regions.Open("us", {"eu", "ap"}), "");
  ASSERT_EQ(regions.Open("eu", {"us", "ap"}), "");
  ASSERT_TRUE(regions.Until([&] { return regions.Connected("us", "eu"); }));
  regions.Link("us", "ap").SetTarget(regions["eu"].port());
  regions["us"].Send("ap", "for ap only");
  ASSERT_TRUE(regions.Until([&] { return regions["us"].CountersOf("ap").refused >= 3; }));
  EXPECT_TRUE(regions.heard.empty());
  EXPECT_EQ(regions["us"].CountersOf("ap").connects, 0u);
  EXPECT_EQ(regions["us"].CountersOf("eu").connects, 1u);  // and the real link is not disturbed
}

TEST(TlsIdentity, S_15_ARegionThatIsNoPeerIsRefused) {
  Regions regions;
  ASSERT_EQ(regions.Open("us", {"ap"}), "");
  ASSERT_EQ(regions.Open("eu", {"us"}), "");
  regions["eu"].Send("us", "hello");
  ASSERT_TRUE(regions.Until([&] { return regions["us"].strangers() >= 2; }));
  EXPECT_TRUE(regions.heard.empty());
  EXPECT_FALSE(regions.Connected("eu", "us"));
}

TEST(TlsIdentity, S_15_ACertificateOfAHostIsNoRegion) {
  Regions regions;
  regions.authority.Issue({"DNS:us,URI:https://once/region/us"}, regions.directory / "us");
  EXPECT_NE(regions.Open("us", {"eu"}).find("not a certificate of region us"), std::string::npos);
  regions.authority.IssueRegion("eu", regions.directory / "us");
  EXPECT_NE(regions.Open("us", {"eu"}).find("not a certificate of region us"), std::string::npos);
}

TEST(TlsIdentity, S_14_AnExpiredCertificateIsRefusedUntilItIsRenewed) {
  Regions regions;
  regions.authority.IssueRegion("eu", regions.directory / "eu", -60);
  ASSERT_EQ(regions.Open("us", {"eu"}), "");
  ASSERT_EQ(regions.Open("eu", {"us"}), "");
  regions["us"].Send("eu", "patience");
  ASSERT_TRUE(regions.Until([&] {
    return regions["us"].CountersOf("eu").refused >= 1 && regions["us"].strangers() >= 1;
  }));
  EXPECT_EQ(regions["us"].CountersOf("eu").connects, 0u);
  regions.authority.IssueRegion("eu", regions.directory / "eu");
  ASSERT_EQ(regions["eu"].Reload(), std::nullopt);
  ASSERT_TRUE(regions.Until(
      [&] { return regions.Connected("eu", "us") && !regions.Heard("us", "eu").empty(); }));
}

TEST(TlsIdentity, S_14_RotationMidTrafficLosesNothingAndReachesNewConnections) {
  Regions regions;
  ASSERT_EQ(regions.Open("us", {"eu"}), "");
  ASSERT_EQ(regions.Open("eu", {"us"}), "");
  ASSERT_TRUE(regions.Until([&] { return regions.Connected("us", "eu"); }));
  regions.authority.IssueRegion("eu", regions.directory / "eu");
  ASSERT_EQ(regions["eu"].Reload(), std::nullopt);
  regions["us"].Send("eu", "on the old connection");
  ASSERT_TRUE(regions.Until([&] { return regions.Heard("us", "eu").size() == 1; }));
  EXPECT_EQ(regions["us"].CountersOf("eu").connects, 1u);
  regions.Link("us", "eu").HangUp();
  ASSERT_TRUE(regions.Until([&] { return regions["us"].CountersOf("eu").connects == 2; }));
  std::filesystem::resize_file(regions.directory / "eu.key", 10);
  EXPECT_NE(regions["eu"].Reload(), std::nullopt);  // nothing changes
  regions.Link("us", "eu").HangUp();
  ASSERT_TRUE(regions.Until([&] { return regions["us"].CountersOf("eu").connects == 3; }));
}

}  // namespace
}  // namespace once
