// A request written once, with a hole for the key and one for the amount: making the next request
// costs one copy and 38 bytes, whatever the protocol.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace once::load {

inline constexpr std::string_view kKeyHole = "{key-of-thirty-two-hex-digits..}";
inline constexpr std::string_view kAmountHole = "{amnt}";
static_assert(kKeyHole.size() == 32 && kAmountHole.size() == 6);

class RequestTemplate {
 public:
  /// `text` holds kKeyHole once or twice and kAmountHole at most once.
  RequestTemplate(std::string text, std::uint64_t seed);

  /// Replaces `out`. The same seed and index give the same bytes; keys are spread like random
  /// ones, so that no index under test profits from their order.
  void Write(std::uint64_t index, std::string* out) const;

 private:
  std::string text_;
  std::uint64_t seed_;
  std::size_t key_at_;
  std::size_t key_again_at_;
  std::size_t amount_at_;
};

}  // namespace once::load
