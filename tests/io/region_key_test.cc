#include "replica/io/region_key.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/io/certificates.h"
#include "tests/io/scratch_directory.h"

namespace once {
namespace {

class RegionKeys : public testing::Test {
 protected:
  void SetUp() override {
    authority_.Write(directory_ / "ca.crt");
    for (const char* region : {"us", "eu", "ap"})
      authority_.IssueRegion(region, directory_ / region);
  }
  std::variant<std::unique_ptr<RegionKey>, std::string> Load(const std::string& region,
                                                             std::vector<std::string> peers) {
    return RegionKey::Load({region, directory_ / (region + ".key"), directory_ / "ca.crt",
                            directory_.path().string(), std::move(peers)});
  }
  std::unique_ptr<RegionKey> Loaded(const std::string& region, std::vector<std::string> peers) {
    auto loaded = Load(region, std::move(peers));
    if (auto* error = std::get_if<std::string>(&loaded)) ADD_FAILURE() << *error;
    return std::move(std::get<0>(loaded));
  }
  std::string Refusal(std::vector<std::string> peers) {
    auto loaded = Load("us", std::move(peers));
    return loaded.index() == 1 ? std::get<1>(loaded) : "";
  }
  static std::string Contents(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  ScratchDirectory directory_;
  Authority authority_;
};

TEST_F(RegionKeys, APeerVerifiesWhatARegionSigned) {
  const auto us = Loaded("us", {"eu", "ap"}), eu = Loaded("eu", {"us", "ap"});
  const std::string frame(100'000, 'f');
  const std::string signature = us->Sign(frame);
  EXPECT_TRUE(eu->Verify("us", frame, signature));
  EXPECT_TRUE(eu->Verify("us", "", us->Sign("")));
}

TEST_F(RegionKeys, TamperedBytesOrSignaturesAreRefused) {
  const auto us = Loaded("us", {"eu"}), eu = Loaded("eu", {"us"});
  const std::string signature = us->Sign("frame");
  for (std::size_t i = 0; i < signature.size(); ++i) {
    std::string bent = signature;
    bent[i] = static_cast<char>(bent[i] ^ 1);
    EXPECT_FALSE(eu->Verify("us", "frame", bent));
  }
  EXPECT_FALSE(eu->Verify("us", "framf", signature));
  EXPECT_FALSE(eu->Verify("us", "frame", signature + "x"));
  EXPECT_FALSE(eu->Verify("us", "frame", signature.substr(1)));
  EXPECT_FALSE(eu->Verify("us", "frame", ""));
}

TEST_F(RegionKeys, ARegionSpeaksOnlyForItself) {
  const auto us = Loaded("us", {"eu", "ap"}), eu = Loaded("eu", {"us", "ap"});
  EXPECT_FALSE(eu->Verify("ap", "frame", us->Sign("frame")));
  EXPECT_TRUE(eu->Verify("eu", "frame", eu->Sign("frame"))) << "its own words, come back to it";
  EXPECT_FALSE(eu->Verify("eu", "frame", us->Sign("frame")));
  EXPECT_FALSE(eu->Verify("sa", "frame", us->Sign("frame")));
}

TEST_F(RegionKeys, OnlyCertificatesOfTheAuthorityForThatRegionCount) {
  EXPECT_EQ(Refusal({"eu"}), "");
  authority_.IssueRegion("ap", directory_ / "eu");
  EXPECT_NE(Refusal({"eu"}).find("not a certificate of region eu"), std::string::npos);
  Authority("another authority").IssueRegion("eu", directory_ / "eu");
  EXPECT_NE(Refusal({"eu"}).find("eu.crt"), std::string::npos);
  Authority().IssueRegion("eu", directory_ / "eu");  // the same name, another key
  EXPECT_NE(Refusal({"eu"}).find("eu.crt"), std::string::npos);
  authority_.Issue({"URI:once://region/us,URI:once://region/eu"}, directory_ / "eu");
  EXPECT_NE(Refusal({"eu"}).find("not a certificate of region eu"), std::string::npos);
  authority_.Issue({"DNS:eu"}, directory_ / "eu");
  EXPECT_NE(Refusal({"eu"}).find("not a certificate of region eu"), std::string::npos);
  authority_.Issue({"URI:once://region/eu", 3600, "ED448"}, directory_ / "eu");
  EXPECT_NE(Refusal({"eu"}).find("Ed25519"), std::string::npos);
}

TEST_F(RegionKeys, MissingAndBrokenFilesAreNamed) {
  EXPECT_NE(Refusal({"sa"}).find("sa.crt"), std::string::npos);
  std::ofstream(directory_ / "sa.crt") << "nothing";
  EXPECT_NE(Refusal({"sa"}).find("sa.crt holds no certificate"), std::string::npos);
  std::filesystem::resize_file(directory_ / "eu.crt", 100);
  EXPECT_NE(Refusal({"eu"}).find("eu.crt"), std::string::npos);
  std::filesystem::remove(directory_ / "us.key");
  EXPECT_NE(Refusal({"ap"}).find("us.key"), std::string::npos);
}

TEST_F(RegionKeys, S_14_WhatWasSignedOutlivesTheCertificate) {
  authority_.IssueRegion("us", directory_ / "us", -60);
  EXPECT_TRUE(Loaded("eu", {"us"})->Verify("us", "frame", Loaded("us", {"eu"})->Sign("frame")));
}

TEST_F(RegionKeys, S_14_DuringAChangeOfKeysBothCount) {
  const std::string before = Loaded("us", {"eu"})->Sign("frame");
  const auto eu = Loaded("eu", {"us"});
  const std::string old = Contents(directory_ / "us.crt");
  authority_.IssueRegion("us", directory_ / "us");
  const std::string after = Loaded("us", {"eu"})->Sign("frame");
  EXPECT_FALSE(eu->Verify("us", "frame", after));
  std::ofstream(directory_ / "us.crt", std::ios::app) << old;
  EXPECT_EQ(eu->Reload(), std::nullopt);
  EXPECT_TRUE(eu->Verify("us", "frame", before));
  EXPECT_TRUE(eu->Verify("us", "frame", after));
}

TEST_F(RegionKeys, AFailedReloadChangesNothing) {
  const auto us = Loaded("us", {"eu"}), eu = Loaded("eu", {"us"});
  std::filesystem::remove(directory_ / "us.crt");
  EXPECT_NE(eu->Reload(), std::nullopt);
  EXPECT_TRUE(eu->Verify("us", "frame", us->Sign("frame")));
}

}  // namespace
}  // namespace once
