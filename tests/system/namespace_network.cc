#include "tests/system/namespace_network.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "replica/env/check.h"
#include "tests/system/program.h"

namespace once {
namespace {

int OpenCurrent() {
  return ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
}

// The thread is in another namespace while this lives.
class Stay {
 public:
  explicit Stay(int fd) : home_(OpenCurrent()) {
    Check(::setns(fd, CLONE_NEWNET) == 0, "a network namespace can be entered");
  }
  ~Stay() {
    Check(::setns(home_, CLONE_NEWNET) == 0, "and left again");
    ::close(home_);
  }
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;

 private:
  const int home_;
};

int MakeNamespace() {
  const int home = OpenCurrent();
  if (::unshare(CLONE_NEWNET) != 0) {
    const std::string why = std::strerror(errno);
    ::close(home);
    throw std::runtime_error("no network namespace can be made: " + why);
  }
  const int made = OpenCurrent();
  Check(::setns(home, CLONE_NEWNET) == 0, "the first namespace can be entered again");
  ::close(home);
  return made;
}

void RunIn(int space, const std::vector<std::string>& command) {
  const Stay stay(space);
  const ProgramResult result = RunProgram(command);
  if (result.exit_code == 0) return;
  std::string text;
  for (const std::string& word : command) text += word + " ";
  throw std::runtime_error(text + "failed: " + result.err);
}

}  // namespace

NamespaceNetwork::NamespaceNetwork(const std::vector<std::string>& regions) {
  try {
    bridge_ = MakeNamespace();
    RunIn(bridge_, {"ip", "link", "add", "bridge", "type", "bridge"});
    RunIn(bridge_, {"ip", "link", "set", "bridge", "up"});
    for (const std::string& region : regions) Attach(region);
  } catch (...) {
    Close();
    throw;
  }
}

NamespaceNetwork::~NamespaceNetwork() {
  Close();
}

void NamespaceNetwork::Close() {
  for (const auto& [region, space] : regions_) ::close(space);
  if (bridge_ >= 0) ::close(bridge_);
}

void NamespaceNetwork::Attach(const std::string& region) {
  const int space = regions_[region] = MakeNamespace();
  hosts_[region] = "10.99.0." + std::to_string(regions_.size());
  RunIn(bridge_, {"ip", "link", "add", region, "type", "veth", "peer", "name", "uplink", "netns",
                  "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(space)});
  RunIn(bridge_, {"ip", "link", "set", region, "master", "bridge", "up"});
  RunIn(space, {"ip", "addr", "add", hosts_[region] + "/24", "dev", "uplink"});
  RunIn(space, {"ip", "link", "set", "uplink", "up"});
  RunIn(space, {"ip", "link", "set", "lo", "up"});
  RunIn(space, {"nft",
                "add table inet once; add chain inet once cut { type filter hook input "
                "priority 0; }"});
}

std::string NamespaceNetwork::HostOf(const std::string& region) const {
  return hosts_.at(region);
}

std::shared_ptr<void> NamespaceNetwork::Enter(const std::string& region) const {
  return std::make_shared<Stay>(regions_.at(region));
}

void NamespaceNetwork::DropFrom(const std::string& region, const std::string& peer) {
  RunIn(regions_.at(region), {"nft", "add rule inet once cut ip saddr " + HostOf(peer) + " drop"});
}

void NamespaceNetwork::DropNothing() {
  for (const auto& [region, space] : regions_) RunIn(space, {"nft", "flush chain inet once cut"});
}

void NamespaceNetwork::LimitTo(const std::string& region, const std::string& rate) {
  RunIn(bridge_, {"tc", "qdisc", "add", "dev", region, "root", "tbf", "rate", rate, "burst", "16kb",
                  "latency", "100ms"});
}

void NamespaceNetwork::LimitNothing(const std::string& region) {
  RunIn(bridge_, {"tc", "qdisc", "del", "dev", region, "root"});
}

}  // namespace once
