#include "tests/system/region_network.h"

#include <unistd.h>

#include <atomic>
#include <map>

namespace once {
namespace {

// 127.0.0.0/8 has room for every process id and four networks in each.
class LoopbackNetwork final : public RegionNetwork {
 public:
  std::string HostOf(const std::string&) const override { return host_; }
  std::shared_ptr<void> Enter(const std::string&) const override { return nullptr; }

 private:
  static std::string NewHost() {
    static std::atomic<unsigned> made = 0;
    const unsigned number = static_cast<unsigned>(::getpid()) << 2 | (made++ & 3);
    return "127." + std::to_string(number >> 16 & 255) + "." + std::to_string(number >> 8 & 255) +
           "." + std::to_string(number & 255);
  }

  const std::string host_ = NewHost();
};

}  // namespace

std::unique_ptr<RegionNetwork> MakeLoopbackNetwork() {
  return std::make_unique<LoopbackNetwork>();
}

}  // namespace once
