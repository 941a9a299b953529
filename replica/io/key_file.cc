#include "replica/io/key_file.h"

#include <fcntl.h>
#include <openssl/rand.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "replica/api/digest.h"
#include "replica/env/check.h"

namespace once {
namespace {

std::string RandomBytes(std::size_t count) {
  std::string bytes(count, '\0');
  Check(RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(count)) == 1,
        "the system gives random bytes");
  return bytes;
}

/// The folder of a file that is replaced, which is never replaced itself.
class Folder {
 public:
  explicit Folder(const std::string& file) {
    const std::string path = std::filesystem::path(file).parent_path();
    fd_ = ::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }
  ~Folder() {
    if (fd_ >= 0) ::close(fd_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  /// Until *this is gone nobody else has it.
  bool Lock() { return fd_ >= 0 && ::flock(fd_, LOCK_EX) == 0; }
  bool Sync() { return fd_ >= 0 && ::fsync(fd_) == 0; }

 private:
  int fd_;
};

bool WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return ::fsync(fd) == 0;
}

// A node that could read the file must be able to read the next.
bool TakeAfter(int fd, const std::string& path) {
  struct stat before {};
  struct stat made {};
  if (::stat(path.c_str(), &before) != 0) return errno == ENOENT && ::fchmod(fd, 0600) == 0;
  if (::fstat(fd, &made) != 0) return false;
  const bool same = before.st_uid == made.st_uid && before.st_gid == made.st_gid;
  return (same || ::fchown(fd, before.st_uid, before.st_gid) == 0) &&
         ::fchmod(fd, before.st_mode & 07777) == 0;
}

std::string WriteWhole(const std::string& path, const std::string& text) {
  const std::string draft = path + ".new";
  const int fd = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return "cannot write " + draft + ": " + std::strerror(errno);
  const bool good = TakeAfter(fd, path) && WriteAll(fd, text);
  const std::string why = good ? "" : std::strerror(errno);
  ::close(fd);
  if (!good) return "cannot write " + draft + " like " + path + ": " + why;
  if (std::rename(draft.c_str(), path.c_str()) != 0 || !Folder(path).Sync())
    return "cannot write " + path + ": " + std::strerror(errno);
  return "";
}

}  // namespace

NewKey MakeKey(std::string tenant, std::string actor, std::vector<std::string> scopes) {
  NewKey made;
  made.key = "once_" + Base64Url(RandomBytes(32));
  made.credential.id = "key_" + Base64Url(RandomBytes(9));
  made.credential.tenant = std::move(tenant);
  made.credential.actor = std::move(actor);
  made.credential.scopes = std::move(scopes);
  made.credential.sha256 = Hex(Bytes(Sha256(made.key)));
  made.credential.created_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                                   std::chrono::system_clock::now().time_since_epoch())
                                   .count();
  return made;
}

std::variant<Credentials, std::string> LoadCredentials(const std::string& path) {
  std::ifstream file(path);
  if (!file && !std::filesystem::exists(path)) return Credentials();
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || std::filesystem::is_directory(path)) return "cannot read the file " + path;
  auto parsed = Credentials::Parse(text.str());
  if (auto* error = std::get_if<std::string>(&parsed)) return path + ": " + *error;
  return parsed;
}

std::string SaveCredentials(const std::string& path, const Credentials& credentials) {
  return WriteWhole(path, credentials.Serialize());
}

std::string ChangeCredentials(const std::string& path,
                              const std::function<std::string(Credentials&)>& change) {
  Folder folder(path);
  if (!folder.Lock()) return "cannot lock the folder of " + path + ": " + std::strerror(errno);
  auto loaded = LoadCredentials(path);
  if (const auto* error = std::get_if<std::string>(&loaded)) return *error;
  auto& credentials = std::get<Credentials>(loaded);
  if (std::string why = change(credentials); !why.empty()) return why;
  return SaveCredentials(path, credentials);
}

std::string EnsureDevelopmentKeys(const std::string& directory) {
  namespace fs = std::filesystem;
  namespace json = boost::json;
  const std::string shown = directory + "/credentials.json";
  const std::string kept = directory + "/keys.json";
  if (fs::exists(shown) && fs::exists(kept)) return "";
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return "cannot make " + directory + ": " + error.message();
  Credentials credentials;
  std::string list = "[\n";
  const auto add = [&](const char* tenant, const char* actor, std::vector<std::string> scopes) {
    NewKey made = MakeKey(tenant, actor, scopes);
    const json::array scope_list(scopes.begin(), scopes.end());
    if (list.size() > 2) list += ",\n";
    list += "  " +
            json::serialize(json::object{
                {"tenant", tenant}, {"actor", actor}, {"scopes", scope_list}, {"key", made.key}});
    credentials.Add(std::move(made.credential));
  };
  for (const char* tenant : {"acme", "globex", "vault"})
    add(tenant, "developer", {"runs", "claims"});
  add("admin", "admin", {"admin"});
  if (std::string why = SaveCredentials(kept, credentials); !why.empty()) return why;
  return WriteWhole(shown, list + "\n]\n");
}

}  // namespace once
