#include "replica/io/data_directory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/io/store_worlds.h"

namespace once {
namespace {

namespace fs = std::filesystem;

using Opened = std::variant<DataDirectory, std::string>;

std::string ErrorOf(const Opened& opened) {
  const auto* error = std::get_if<std::string>(&opened);
  return error ? *error : "";
}

/// Opens, closes, and returns the identity.
std::string IdentityOf(Opened opened) {
  if (const auto* error = std::get_if<std::string>(&opened)) return "refused: " + *error;
  return std::get<DataDirectory>(opened).identity();
}

TEST(DataDirectory, ANewDirectoryGetsAnIdentityAndKeepsIt) {
  ScratchDirectory scratch;
  std::string identity;
  {
    const Opened opened = DataDirectory::Open(scratch / "deep/data", "eu");
    ASSERT_EQ(ErrorOf(opened), "");
    const auto& directory = std::get<DataDirectory>(opened);
    EXPECT_TRUE(directory.empty());
    EXPECT_EQ(directory.region(), "eu");
    identity = directory.identity();
  }
  EXPECT_EQ(identity.size(), 32u);
  EXPECT_EQ(identity.find_first_not_of("0123456789abcdef"), std::string::npos);
  Opened again = DataDirectory::Open(scratch / "deep/data", "eu");
  ASSERT_EQ(ErrorOf(again), "");
  EXPECT_TRUE(std::get<DataDirectory>(again).empty()) << "nothing was stored in it";
  MemoryWorld world;
  EXPECT_EQ(std::get<DataDirectory>(again).Match(world.store()), "");
  EXPECT_EQ(std::get<DataDirectory>(again).Confirm(), "");
  EXPECT_FALSE(std::get<DataDirectory>(again).empty());
  EXPECT_EQ(std::get<DataDirectory>(again).identity(), identity);
  EXPECT_NE(IdentityOf(DataDirectory::Open(scratch / "other", "eu")), identity);
}

TEST(DataDirectory, S_28_AnotherRegionIsRefusedByName) {
  ScratchDirectory scratch;
  const std::string identity = IdentityOf(DataDirectory::Open(scratch / "data", "eu"));
  const std::string error = ErrorOf(DataDirectory::Open(scratch / "data", "us"));
  EXPECT_NE(error.find("'eu'"), std::string::npos) << error;
  EXPECT_NE(error.find("'us'"), std::string::npos) << error;
  EXPECT_NE(ErrorOf(DataDirectory::Adopt(scratch / "data", "us")), "");
  EXPECT_EQ(IdentityOf(DataDirectory::Open(scratch / "data", "eu")), identity);
}

TEST(DataDirectory, S_29_ACopyIsRefusedUntilItIsAdopted) {
  ScratchDirectory scratch;
  const std::string identity = IdentityOf(DataDirectory::Open(scratch / "data", "eu"));
  std::ofstream(scratch / "data/store") << "claims";
  ASSERT_EQ(std::system(("cp -a " + scratch / "data" + " " + scratch / "copy").c_str()), 0);

  const std::string error = ErrorOf(DataDirectory::Open(scratch / "copy", "eu"));
  EXPECT_NE(error.find("--adopt-data"), std::string::npos) << error;

  const std::string adopted = IdentityOf(DataDirectory::Adopt(scratch / "copy", "eu"));
  EXPECT_EQ(adopted.size(), 32u);
  EXPECT_NE(adopted, identity);
  EXPECT_EQ(IdentityOf(DataDirectory::Open(scratch / "copy", "eu")), adopted);
  EXPECT_TRUE(fs::exists(scratch / "copy/store"));
  EXPECT_EQ(IdentityOf(DataDirectory::Open(scratch / "data", "eu")), identity);
}

TEST(DataDirectory, AMovedDirectoryIsStillTheOriginal) {
  ScratchDirectory scratch;
  const std::string identity = IdentityOf(DataDirectory::Open(scratch / "data", "eu"));
  fs::rename(scratch / "data", scratch / "moved");
  EXPECT_EQ(IdentityOf(DataDirectory::Open(scratch / "moved", "eu")), identity);
}

TEST(DataDirectory, S_49_FilesWithoutAnIdentityAreRefused) {
  ScratchDirectory scratch;
  IdentityOf(DataDirectory::Open(scratch / "data", "eu"));
  std::ofstream(scratch / "data/store") << "claims";
  fs::remove(scratch / "data/IDENTITY");
  EXPECT_NE(ErrorOf(DataDirectory::Open(scratch / "data", "eu")), "");
  EXPECT_NE(ErrorOf(DataDirectory::Adopt(scratch / "data", "eu")), "");
  EXPECT_FALSE(fs::exists(scratch / "data/IDENTITY"));
}

TEST(DataDirectory, S_49_AnEmptiedDirectoryIsAnotherMember) {
  ScratchDirectory scratch;
  const std::string identity = IdentityOf(DataDirectory::Open(scratch / "data", "eu"));
  fs::remove_all(scratch / "data");
  fs::create_directory(scratch / "data");
  const Opened opened = DataDirectory::Open(scratch / "data", "eu");
  ASSERT_EQ(ErrorOf(opened), "");
  EXPECT_TRUE(std::get<DataDirectory>(opened).empty());
  EXPECT_NE(std::get<DataDirectory>(opened).identity(), identity);
}

TEST(DataDirectory, ACrashWhileItIsMadeLeavesNothingInTheWay) {
  ScratchDirectory scratch;
  fs::create_directory(scratch / "data");
  std::ofstream(scratch / "data/LOCK");
  std::ofstream(scratch / "data/IDENTITY.new") << "once-da";
  EXPECT_EQ(IdentityOf(DataDirectory::Open(scratch / "data", "eu")).size(), 32u);
}

TEST(DataDirectory, S_48_ADamagedOrUnknownIdentityIsRefused) {
  ScratchDirectory scratch;
  IdentityOf(DataDirectory::Open(scratch / "data", "eu"));
  fs::resize_file(scratch / "data/IDENTITY", 30);
  EXPECT_NE(ErrorOf(DataDirectory::Open(scratch / "data", "eu")).find("damaged"),
            std::string::npos);
  std::ofstream(scratch / "data/IDENTITY") << "once-data-9\n";
  EXPECT_NE(ErrorOf(DataDirectory::Open(scratch / "data", "eu")).find("once-data-9"),
            std::string::npos);
}

TEST(DataDirectory, TwoProcessesNeverShareIt) {
  ScratchDirectory scratch;
  {
    // A lock of flock belongs to the open file, so a second open in this process is a second owner.
    Opened first = DataDirectory::Open(scratch / "data", "eu");
    ASSERT_EQ(ErrorOf(first), "");
    DataDirectory moved = std::get<DataDirectory>(std::move(first));
    EXPECT_NE(ErrorOf(DataDirectory::Open(scratch / "data", "eu")).find("in use"),
              std::string::npos);
    EXPECT_NE(ErrorOf(DataDirectory::Adopt(scratch / "data", "eu")).find("in use"),
              std::string::npos);
  }
  EXPECT_EQ(ErrorOf(DataDirectory::Open(scratch / "data", "eu")), "");
}

TEST(DataDirectory, APathThatCannotBeMadeIsASentenceNotACrash) {
  EXPECT_NE(ErrorOf(DataDirectory::Open("/proc/nowhere/data", "eu")), "");
}

}  // namespace
}  // namespace once
