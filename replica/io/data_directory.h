// Whose data a directory holds, and that nobody else is using it.
#pragma once

#include <string>
#include <variant>

#include "replica/directory_identity.h"

namespace once {

class KvStore;

/// A directory that belongs to one region and has an identity of its own, kept in its file
/// IDENTITY. While the object lives, no other process can open the directory.
///
/// The identity is what the strict group counts as a voter, so a directory that is not what it says
/// must not start: a copy would vote twice, and one that lost its files would vote as if it still
/// had its log. A copy is told from the original by the inode and birth time of IDENTITY, which it
/// records about itself and which no copy keeps. (The device number would be no help: it may change
/// with a reboot.) What is put back over the original keeps them; so every start makes the file
/// anew, with another random mark, and its store knows that mark:
///
///   1. Open and Match   IDENTITY is the file that was made, and the store knows its mark
///   2. the first sync   the store knows the mark that IDENTITY has, and the one it is to have
///   3. Confirm          IDENTITY is another file, with that mark; only now the node speaks
///
/// A crash after any step leaves a directory that starts again. An older IDENTITY is not the file
/// that it says, and an older store does not know the mark. An image of a whole volume keeps all
/// of it and is not detected here.
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
  const std::string& region() const { return identity_.region; }
  /// 128 random bits in hex, minted when the directory was made or adopted.
  const std::string& identity() const { return identity_.id; }
  /// True until Confirm: the directory was made and nothing has been stored in it for sure. Only
  /// then may it lack what is stored in it. A crash on the first start leaves it so.
  bool empty() const { return empty_; }
  /// Before anything is written to the store that was found in the directory: empty, or why it is
  /// not the one that belongs to it, or did not take the new mark. The store of a directory that is
  /// empty or was just adopted is any. May throw KvUnreadable.
  std::string Match(KvStore& store);
  /// What Match wrote is durable: from now on no other store is taken, nor a directory without one.
  /// Empty, or why it could not be noted.
  std::string Confirm();

 private:
  DataDirectory() = default;

  std::string path_;
  DirectoryIdentity identity_;  // as the file is
  std::string next_mark_;
  bool empty_ = false;
  bool adopted_ = false;
  int lock_fd_ = -1;
};

}  // namespace once
