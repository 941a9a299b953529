// Disks of our own making. They need the right to mount; a test skips itself without it.
#pragma once

#include <memory>
#include <string>

#include "tests/io/scratch_directory.h"

namespace once {

/// A mounted file system that only this process and its children see, unmounted by the destructor
/// and by the end of the process.
class Volume {
 public:
  /// An empty ext4 in a file; nullptr and `why` when this machine does not allow it.
  static std::unique_ptr<Volume> Ext4(std::size_t megabytes, std::string& why);
  /// An empty file system in memory, likewise.
  static std::unique_ptr<Volume> Memory(std::size_t megabytes, std::string& why);
  ~Volume();
  Volume(const Volume&) = delete;
  Volume& operator=(const Volume&) = delete;

  /// Where it is mounted.
  std::string path() const { return scratch_ / "mounted"; }

  /// What a power cut now would leave of an Ext4, repaired and mounted. Nobody may be writing to
  /// the volume (stop its writers); what they wrote and did not sync is not in the copy.
  std::unique_ptr<Volume> AfterPowerCut(std::string& why) const;

 private:
  Volume() = default;
  std::string image() const { return scratch_ / "image"; }
  bool Mount(std::string& why);
  std::string WritesDone() const;

  ScratchDirectory scratch_;
};

}  // namespace once
