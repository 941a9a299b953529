#include "replica/io/data_directory.h"

#include <fcntl.h>
#include <openssl/rand.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "replica/env/check.h"
#include "replica/env/kv_store.h"
#include "replica/storage/keys.h"

namespace once {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIdentityFile = "IDENTITY";
constexpr const char* kNewIdentityFile = "IDENTITY.new";
constexpr const char* kLockFile = "LOCK";
constexpr const char* kEmptyFile = "EMPTY";  // there until the first Confirm

/// What makes Open answer with a sentence. Does not leave this file.
class Refused : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn]] void RefuseErrno(const std::string& what) {
  const int error = errno;
  throw Refused(what + ": " + std::strerror(error));
}

class Fd {
 public:
  Fd(const std::string& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {
    if (fd_ < 0) RefuseErrno("cannot open " + path);
  }
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

FileOrigin OriginOf(const std::string& path) {
  struct statx stat = {};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_INO | STATX_BTIME, &stat) != 0) {
    RefuseErrno("cannot inspect " + path);
  }
  const bool has_birth = (stat.stx_mask & STATX_BTIME) != 0;
  return {stat.stx_ino, has_birth ? stat.stx_btime.tv_sec * 1'000'000'000 + stat.stx_btime.tv_nsec
                                  : std::int64_t{0}};
}

std::string MintId() {
  unsigned char bytes[16];
  Check(RAND_bytes(bytes, sizeof bytes) == 1, "the system has random bytes");
  std::string hex;
  for (const unsigned char byte : bytes) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

DirectoryIdentity ReadIdentity(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  auto parsed = ParseIdentity(text.str(), file.string());
  if (const auto* error = std::get_if<std::string>(&parsed)) throw Refused(*error);
  return std::get<DirectoryIdentity>(parsed);
}

void RefuseIf(const std::string& why) {
  if (!why.empty()) throw Refused(why);
}

void SyncPath(const std::string& path, int flags) {
  const Fd fd(path, flags);
  if (::fsync(fd.get()) != 0) RefuseErrno("cannot sync " + path);
}

/// Makes the file anew. Durable when it returns; before that the old file, or none, is there.
DirectoryIdentity WriteIdentity(const fs::path& directory, const std::string& region,
                                const std::string& id, const std::string& mark) {
  const fs::path fresh = directory / kNewIdentityFile;
  fs::remove(fresh);
  const Fd file(fresh, O_WRONLY | O_CREAT | O_EXCL);
  const DirectoryIdentity identity{region, id, OriginOf(fresh), mark};
  const std::string bytes = ToText(identity);
  if (::write(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
      ::fsync(file.get()) != 0) {
    RefuseErrno("cannot write " + fresh.string());
  }
  fs::rename(fresh, directory / kIdentityFile);
  SyncPath(directory, O_RDONLY | O_DIRECTORY);
  return identity;
}

int Lock(const fs::path& directory) {
  Fd fd(directory / kLockFile, O_RDWR | O_CREAT);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    throw Refused(directory.string() + " is in use by another process");
  }
  return fd.release();
}

bool HoldsData(const fs::path& directory) {
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename();
    if (name != kLockFile && name != kNewIdentityFile && name != kEmptyFile && name != "lost+found")
      return true;
  }
  return false;
}

}  // namespace

std::variant<DataDirectory, std::string> DataDirectory::Open(const std::string& path,
                                                             const std::string& region) try {
  Check(!region.empty() && region.find_first_of(" \t\r\n") == std::string::npos,
        "a region's name is one word");
  if (fs::create_directories(path)) {
    SyncPath(fs::absolute(path).lexically_normal().parent_path(), O_RDONLY | O_DIRECTORY);
  }
  DataDirectory directory;
  directory.path_ = path;
  directory.lock_fd_ = Lock(path);
  if (fs::exists(fs::path(path) / kIdentityFile)) {
    const fs::path file = fs::path(path) / kIdentityFile;
    directory.identity_ = ReadIdentity(file);
    RefuseIf(WhyNotStart(directory.identity_, OriginOf(file), region, path));
  } else if (HoldsData(path)) {
    return path +
           " holds files but no IDENTITY: restore the file, or rejoin with an empty directory";
  } else {
    Fd(fs::path(path) / kEmptyFile, O_WRONLY | O_CREAT);
    SyncPath(path, O_RDONLY | O_DIRECTORY);
    directory.identity_ = WriteIdentity(path, region, MintId(), MintId());
  }
  directory.empty_ = fs::exists(fs::path(path) / kEmptyFile);
  return directory;
} catch (const Refused& refused) {
  return std::string(refused.what());
} catch (const fs::filesystem_error& error) {
  return std::string(error.what());
}

std::variant<DataDirectory, std::string> DataDirectory::Adopt(const std::string& path,
                                                              const std::string& region) try {
  if (!fs::exists(fs::path(path) / kIdentityFile)) {
    return path + " has no IDENTITY: there is nothing to adopt";
  }
  DataDirectory directory;
  directory.path_ = path;
  directory.lock_fd_ = Lock(path);
  RefuseIf(WhyNotAdopt(ReadIdentity(fs::path(path) / kIdentityFile), region, path));
  directory.identity_ = WriteIdentity(path, region, MintId(), MintId());
  directory.adopted_ = true;
  return directory;
} catch (const Refused& refused) {
  return std::string(refused.what());
} catch (const fs::filesystem_error& error) {
  return std::string(error.what());
}

std::string DataDirectory::Match(KvStore& store) {
  if (!empty_ && !adopted_) {
    const auto marks = store.Get(keys::DirectoryMarks());
    if (std::string why = WhyNotWithStore(identity_, marks, path_); !why.empty()) return why;
  }
  next_mark_ = MintId();
  KvBatch batch;
  batch.Put(keys::DirectoryMarks(), ToText(DirectoryMarks{identity_.mark, next_mark_}));
  const KvStatus status = store.Write(std::move(batch));
  if (status == KvStatus::kOk) return "";
  return std::string("the store refused the first write") +
         (status == KvStatus::kFull ? ": the disk is full" : "");
}

std::string DataDirectory::Confirm() {
  Check(!next_mark_.empty(), "the store was matched");
  try {
    identity_ = WriteIdentity(path_, identity_.region, identity_.id, next_mark_);
    fs::remove(fs::path(path_) / kEmptyFile);
    SyncPath(path_, O_RDONLY | O_DIRECTORY);
  } catch (const std::exception& error) {
    return error.what();
  }
  empty_ = false;
  return "";
}

DataDirectory::DataDirectory(DataDirectory&& other) noexcept {
  *this = std::move(other);
}

DataDirectory& DataDirectory::operator=(DataDirectory&& other) noexcept {
  // By swap: the lock that this object held is let go of when `other` is.
  std::swap(path_, other.path_);
  std::swap(identity_, other.identity_);
  std::swap(next_mark_, other.next_mark_);
  std::swap(empty_, other.empty_);
  std::swap(adopted_, other.adopted_);
  std::swap(lock_fd_, other.lock_fd_);
  return *this;
}

DataDirectory::~DataDirectory() {
  if (lock_fd_ >= 0) ::close(lock_fd_);
}

}  // namespace once
