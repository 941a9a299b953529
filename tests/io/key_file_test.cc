// The credentials file while several people change it.
#include "replica/io/key_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "tests/io/scratch_directory.h"

namespace once {
namespace {

std::string AddKeyTo(const std::string& path, const std::string& actor) {
  return ChangeCredentials(path, [&actor](Credentials& credentials) {
    credentials.Add(MakeKey("acme", actor, {"runs"}).credential);
    return "";
  });
}

struct stat StatusOf(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status;
}

TEST(KeyFile, AChangeKeepsOwnerAndMode) {
  const ScratchDirectory scratch;
  const std::string path = scratch / "keys.json";
  ASSERT_EQ(AddKeyTo(path, "first"), "");
  EXPECT_EQ(StatusOf(path).st_mode & 07777u, 0600u);
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  const bool root = ::geteuid() == 0;
  if (root) {
    ASSERT_EQ(::chown(path.c_str(), 12345, 23456), 0);
  }
  const struct stat before = StatusOf(path);
  ASSERT_EQ(AddKeyTo(path, "second"), "");
  const struct stat after = StatusOf(path);
  EXPECT_NE(after.st_ino, before.st_ino) << "replaced as a whole";
  EXPECT_EQ(after.st_mode & 07777u, 0640u);
  EXPECT_EQ(after.st_uid, before.st_uid);
  EXPECT_EQ(after.st_gid, before.st_gid);
}

TEST(KeyFile, ChangesAtTheSameTimeLoseNoKey) {
  constexpr int kPeople = 4;
  constexpr int kKeys = 10;
  const ScratchDirectory scratch;
  const std::string path = scratch / "keys.json";
  std::vector<std::thread> people;
  for (int i = 0; i < kPeople; ++i)
    people.emplace_back([&path, i] {
      for (int k = 0; k < kKeys; ++k) EXPECT_EQ(AddKeyTo(path, std::to_string(i)), "");
    });
  for (std::thread& person : people) person.join();
  EXPECT_EQ(std::get<Credentials>(LoadCredentials(path)).all().size(),
            std::size_t{kPeople * kKeys});
}

TEST(KeyFile, AChangeThatFailsLeavesTheFileAsItWas) {
  const ScratchDirectory scratch;
  const std::string path = scratch / "keys.json";
  ASSERT_EQ(AddKeyTo(path, "first"), "");
  const ino_t before = StatusOf(path).st_ino;
  EXPECT_EQ(ChangeCredentials(path, [](Credentials&) { return "no such key"; }), "no such key");
  EXPECT_EQ(StatusOf(path).st_ino, before);
  EXPECT_NE(AddKeyTo(scratch / "none/keys.json", "first"), "");
}

}  // namespace
}  // namespace once
