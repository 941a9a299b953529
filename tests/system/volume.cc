#include "tests/system/volume.h"

#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/system/program.h"

namespace once {
namespace {

namespace fs = std::filesystem;

bool Run(const std::vector<std::string>& arguments, std::string& why) {
  const ProgramResult result = RunProgram(arguments);
  if (result.exit_code == 0) return true;
  why = arguments[0] + " failed: " + result.out + result.err;
  return false;
}

// Mounts of this process and its children only: they end with it, however it ends.
bool EnterOwnMounts(std::string& why) {
  static const int error = [] {
    const bool own = ::unshare(CLONE_NEWNS) == 0 &&
                     ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    return own ? 0 : errno;
  }();
  if (error != 0) why = std::string("no mount namespace: ") + std::strerror(error);
  return error == 0;
}

// The device that is mounted at `path`, as in /dev/loop3.
std::string DeviceAt(const std::string& path) {
  std::ifstream mounts("/proc/thread-self/mounts");
  std::string device, where, rest;
  while (mounts >> device >> where && std::getline(mounts, rest))
    if (where == path) return device;
  return "";
}

}  // namespace

std::unique_ptr<Volume> Volume::Ext4(std::size_t megabytes, std::string& why) {
  if (!EnterOwnMounts(why)) return nullptr;
  std::unique_ptr<Volume> volume(new Volume);
  WriteFile(volume->image(), "");
  fs::resize_file(volume->image(), megabytes << 20);
  if (!Run({"mkfs.ext4", "-q", "-F", volume->image()}, why) || !volume->Mount(why)) return nullptr;
  return volume;
}

std::unique_ptr<Volume> Volume::Memory(std::size_t megabytes, std::string& why) {
  if (!EnterOwnMounts(why)) return nullptr;
  std::unique_ptr<Volume> volume(new Volume);
  fs::create_directory(volume->path());
  const std::string size = "size=" + std::to_string(megabytes) + "m";
  if (!Run({"mount", "-t", "tmpfs", "-o", size, "none", volume->path()}, why)) return nullptr;
  return volume;
}

Volume::~Volume() {
  // Lazily: a process that still has a file open must not keep the mount.
  ::umount2(path().c_str(), MNT_DETACH);
}

bool Volume::Mount(std::string& why) {
  fs::create_directory(path());
  return Run({"mount", "-o", "loop", image(), path()}, why);
}

std::string Volume::WritesDone() const {
  const std::string device = fs::path(DeviceAt(path())).filename();
  return ReadFile("/sys/block/" + device + "/stat");
}

std::unique_ptr<Volume> Volume::AfterPowerCut(std::string& why) const {
  std::unique_ptr<Volume> copy(new Volume);
  // A copy is one moment of the disk only if nothing reached it meanwhile; the kernel writes back
  // when it likes.
  const bool still = WaitUntil([&] {
    const std::string before = WritesDone();
    return Run({"cp", "--sparse=always", image(), copy->image()}, why) && WritesDone() == before;
  });
  if (!still) return why += " (the disk never stood still)", nullptr;
  const ProgramResult checked = RunProgram({"e2fsck", "-fy", copy->image()});
  // 1: errors were corrected, as a journal that had to be replayed.
  if (checked.exit_code < 0 || checked.exit_code > 1) {
    why = "e2fsck: " + checked.out + checked.err;
    return nullptr;
  }
  return copy->Mount(why) ? std::move(copy) : nullptr;
}

}  // namespace once
