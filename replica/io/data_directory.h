// Whose data a directory holds, and that nobody else is using it.
#pragma once

#include <string>
#include <variant>

namespace once {

/// A directory that belongs to one region and has an identity of its own, kept in its file
/// IDENTITY. While the object lives, no other process can open the directory.
///
/// The identity is what the strict group counts as a voter, so a directory that is not what it says
/// must not start: a copy would vote twice, and one that lost its files would vote as if it still
/// had its log. A copy is told from the original by the inode and birth time of IDENTITY, which it
/// records about itself and which no copy keeps. (The device number would be no help: it may change
/// with a reboot.) An image of a whole volume keeps both and is not detected here.
class DataDirectory {
 public:
  /// Opens the directory of `region`, or makes it with a new identity if it is absent or empty.
  /// Otherwise a sentence for the operator: it is of another region, a copy, in use, without its
  /// IDENTITY, or of a format this program does not know. Nothing is changed then.
  static std::variant<DataDirectory, std::string> Open(const std::string& path,
                                                       const std::string& region);
  /// Makes an existing directory of `region`, a copy as a rule, a member of its own: mints a new
  /// identity and keeps the data. Errors as in Open, and there must be something to adopt.
  static std::variant<DataDirectory, std::string> Adopt(const std::string& path,
                                                        const std::string& region);

  DataDirectory(DataDirectory&& other) noexcept;
  DataDirectory& operator=(DataDirectory&& other) noexcept;
  ~DataDirectory();

  const std::string& path() const { return path_; }
  const std::string& region() const { return region_; }
  /// 128 random bits in hex, minted when the directory was made or adopted.
  const std::string& identity() const { return identity_; }
  /// True until Fill: the directory was made and nothing has been stored in it for sure. Only then
  /// may it lack what is stored in it. A crash on the first start leaves it so.
  bool empty() const { return empty_; }
  /// From now on a directory without its store is refused. Empty, or why it could not be noted.
  std::string Fill();

 private:
  DataDirectory() = default;

  std::string path_;
  std::string region_;
  std::string identity_;
  bool empty_ = false;
  int lock_fd_ = -1;
};

}  // namespace once
