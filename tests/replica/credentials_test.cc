#include "replica/credentials.h"

#include <gtest/gtest.h>

#include "replica/api/digest.h"

namespace once {
namespace {

std::string DigestOf(const std::string& key) {
  return Hex(Bytes(Sha256(key)));
}

Credential Make(const std::string& id, const std::string& key) {
  Credential credential;
  credential.id = id;
  credential.tenant = "acme";
  credential.actor = "alice";
  credential.scopes = {"runs", "claims"};
  credential.sha256 = DigestOf(key);
  credential.created_ms = 42;
  return credential;
}

std::string CredentialsErrorOf(const std::string& text) {
  const auto parsed = Credentials::Parse(text);
  const auto* error = std::get_if<std::string>(&parsed);
  return error ? *error : "";
}

std::string Entry(const std::string& more) {
  return R"([{"id":"k","tenant":"acme","sha256":")" + DigestOf("secret") + "\"" + more + "}]";
}

TEST(Credentials, FindsByTheKeyAndNeverStoresIt) {
  Credentials credentials;
  credentials.Add(Make("k1", "secret"));
  const Credential* found = credentials.Find("secret");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->tenant, "acme");
  EXPECT_TRUE(found->May("runs"));
  EXPECT_FALSE(found->May("admin"));
  EXPECT_EQ(credentials.Find("Secret"), nullptr);
  EXPECT_EQ(credentials.Find(""), nullptr);
  EXPECT_EQ(credentials.Find(DigestOf("secret")), nullptr) << "the stored hash is no key";
  EXPECT_EQ(credentials.Serialize().find("\"secret\""), std::string::npos);
}

TEST(Credentials, ATenantIsANameThatNoSeparatorEnds) {
  const auto error = [](const std::string& tenant) {
    return CredentialsErrorOf(R"([{"id":"k","tenant":")" + tenant + R"(","sha256":")" +
                              DigestOf("secret") + "\"}]");
  };
  for (const std::string& tenant :
       {std::string("a"), std::string("Acme-2.eu_west"), std::string(kTenantBytesMax, 't')})
    EXPECT_EQ(error(tenant), "") << tenant;
  for (const std::string& tenant :
       {std::string("a:b"), std::string("*"), std::string("a b"), std::string("a/b"),
        std::string("\u00e9"), std::string("a\\nb"), std::string(kTenantBytesMax + 1, 't')})
    EXPECT_EQ(error(tenant), "credentials: the tenant of k must be " + std::string(kTenantRule))
        << tenant;
}

TEST(Credentials, TwoActiveKeysMakeRotationPossible) {
  Credentials credentials;
  credentials.Add(Make("old", "first"));
  credentials.Add(Make("new", "second"));
  EXPECT_EQ(credentials.Find("first")->id, "old");
  EXPECT_EQ(credentials.Find("second")->id, "new");
  EXPECT_TRUE(credentials.Revoke("old"));
  EXPECT_EQ(credentials.Find("first"), nullptr);
  EXPECT_NE(credentials.Find("second"), nullptr);
  EXPECT_FALSE(credentials.Revoke("old")) << "already revoked";
  EXPECT_FALSE(credentials.Revoke("nobody"));
}

TEST(Credentials, TheFileReadsBackAsWritten) {
  Credentials credentials;
  credentials.Add(Make("a", "1"));
  credentials.Add(Make("b \"quoted\"", "2"));
  credentials.Revoke("a");
  const auto parsed = Credentials::Parse(credentials.Serialize());
  const auto* again = std::get_if<Credentials>(&parsed);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->Serialize(), credentials.Serialize());
  EXPECT_EQ(again->all().size(), 2u);
  EXPECT_EQ(again->all()[0].created_ms, 42);
  EXPECT_EQ(again->Find("1"), nullptr);
  EXPECT_EQ(again->Find("2")->id, "b \"quoted\"");
}

TEST(Credentials, AnEmptyListIsNobody) {
  const auto parsed = Credentials::Parse("[]");
  ASSERT_TRUE(std::holds_alternative<Credentials>(parsed));
  EXPECT_EQ(std::get<Credentials>(parsed).Find("secret"), nullptr);
}

TEST(Credentials, WhatCannotBeTrustedIsRefused) {
  EXPECT_EQ(CredentialsErrorOf(Entry("")), "");
  for (const char* text : {"", "{}", "null", "[1]", "[{}]", "[", R"([{"id":"k","id":"k"}])"})
    EXPECT_NE(CredentialsErrorOf(text), "") << text;
  EXPECT_NE(CredentialsErrorOf(R"([{"id":"k","tenant":"t","sha256":"abc"}])").find("sha256"),
            std::string::npos);
  std::string upper = Entry("");
  for (char& c : upper)
    if (c >= 'a' && c <= 'f') c = static_cast<char>(c - 'a' + 'A');
  EXPECT_NE(CredentialsErrorOf(upper), "") << "it would never match";
}

TEST(Credentials, AMemberOfTheWrongTypeIsRefusedNotIgnored) {
  EXPECT_NE(CredentialsErrorOf(Entry(R"(,"revoked":"true")")).find("revoked"), std::string::npos);
  EXPECT_NE(CredentialsErrorOf(Entry(R"(,"scopes":"runs")")).find("scopes"), std::string::npos);
  EXPECT_NE(CredentialsErrorOf(Entry(R"(,"scopes":[1])")).find("scopes"), std::string::npos);
  EXPECT_NE(CredentialsErrorOf(Entry(R"(,"createdMs":"now")")).find("createdMs"),
            std::string::npos);
}

}  // namespace
}  // namespace once
