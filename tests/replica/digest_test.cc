#include "replica/api/digest.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace once {
namespace {

std::string HexOf(std::string_view bytes) {
  return Hex(Bytes(Sha256(bytes)));
}

TEST(Digest, Fips180Vectors) {
  EXPECT_EQ(HexOf(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(HexOf("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(HexOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Digest, StreamsThatOverlapDoNotShareState) {
  Sha256Stream outer;
  outer.Update("a");
  EXPECT_EQ(HexOf("xyz"), Hex(Bytes(Sha256("xyz"))));
  {
    Sha256Stream inner;
    inner.Update("zzz");
  }
  outer.Update("bc");
  EXPECT_EQ(outer.Finish(), Sha256("abc"));
}

TEST(Digest, PartsAreHashedAsTheyAreAppended) {
  std::string joined;
  AppendPart(joined, "one");
  AppendPart(joined, "");
  Sha256Stream stream;
  stream.UpdatePart("one");
  stream.UpdatePart("");
  EXPECT_EQ(stream.Finish(), Sha256(joined));
  EXPECT_EQ(joined.size(), 19u);
}

TEST(Digest, Rfc4648Base64Vectors) {
  EXPECT_EQ(Base64(""), "");
  EXPECT_EQ(Base64("f"), "Zg==");
  EXPECT_EQ(Base64("fo"), "Zm8=");
  EXPECT_EQ(Base64("foo"), "Zm9v");
  EXPECT_EQ(Base64("foob"), "Zm9vYg==");
  EXPECT_EQ(Base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(Base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(Base64("\xfb\xff"), "+/8=");
  EXPECT_EQ(Base64Url("\xfb\xff"), "-_8");
}

TEST(Digest, Base64DecodeIsStrict) {
  EXPECT_EQ(Base64Decode("Zm9vYg=="), "foob");
  EXPECT_EQ(Base64Decode(""), "");
  for (const char* text : {"Zg", "Zg=", "Zg===", "Z===", "====", "=", "Zm9v\n", "Zm 9v",
                           "-_8=", "Zh==", "Zm9=", "Zg==Zg==", "Zm=v"})
    EXPECT_FALSE(Base64Decode(text)) << text;
}

RC_GTEST_PROP(Digest, Base64RoundTrips, (const std::string& bytes)) {
  RC_ASSERT(Base64Decode(Base64(bytes)) == bytes);
}

TEST(Digest, OW_CK_01_PublicCacheKeyVector) {
  EXPECT_EQ(PublicCacheKey("tenant-a", "POST /v1/runs", "k1"),
            "1d3ac00f28a15eb371dbe2eebf9b6cf6962dc8c9f46fb48631d7cb19448e4542");
}

// AMB-07: joined by ':' the first two are one key.
TEST(Digest, OW_CK_01_SlotKeySeparatesWhatAJoinWouldNot) {
  EXPECT_EQ(PublicCacheKey("a:b", "c", "d"), PublicCacheKey("a", "b:c", "d"));
  EXPECT_NE(SlotKey(1, "a:b", "c", "d"), SlotKey(1, "a", "b:c", "d"));
  EXPECT_NE(SlotKey(1, "ab", "c", "d"), SlotKey(1, "a", "bc", "d"));
  EXPECT_NE(SlotKey(1, "a", "c", "d"), SlotKey(2, "a", "c", "d"));
  EXPECT_NE(SlotKey(1, "", "x", ""), SlotKey(1, "x", "", ""));
  EXPECT_EQ(SlotKey(1, "a", "c", "d").size(), 32u);
}

// Records on disk are found by it: it must not change between releases.
TEST(Digest, OW_CK_01_SlotKeyIsADigestOfTenantEndpointAndKeyAndFixed) {
  EXPECT_EQ(SlotKey(1, "t", "e", "k"),
            std::string(Bytes(
                Sha256(std::string("\1\0\0\0\0\0\0\0\1t\0\0\0\0\0\0\0\1e\0\0\0\0\0\0\0\1k", 28)))));
}

}  // namespace
}  // namespace once
