#include "tests/bench/request_template.h"

#include <algorithm>
#include <stdexcept>

#include "replica/env/random.h"

namespace once::load {
namespace {

void WriteHex(std::uint64_t value, char* out) {
  for (int digit = 0; digit < 16; ++digit)
    out[digit] = "0123456789abcdef"[value >> (60 - 4 * digit) & 15];
}

}  // namespace

RequestTemplate::RequestTemplate(std::string text, std::uint64_t seed)
    : text_(std::move(text)),
      seed_(seed),
      key_at_(text_.find(kKeyHole)),
      key_again_at_(key_at_ == std::string::npos ? key_at_ : text_.find(kKeyHole, key_at_ + 1)),
      amount_at_(text_.find(kAmountHole)) {
  if (key_at_ == std::string::npos) throw std::logic_error("a request template without a key");
}

void RequestTemplate::Write(std::uint64_t index, std::string* out) const {
  *out = text_;
  WriteHex(Random(seed_ ^ index).Next(), out->data() + key_at_);
  WriteHex(Random(index).Next(), out->data() + key_at_ + 16);
  if (key_again_at_ != std::string::npos)
    std::copy_n(out->data() + key_at_, kKeyHole.size(), out->data() + key_again_at_);
  if (amount_at_ == std::string::npos) return;
  std::uint64_t amount = 100'000 + index % 900'000;
  for (std::size_t at = amount_at_ + kAmountHole.size(); at-- > amount_at_; amount /= 10) {
    (*out)[at] = static_cast<char>('0' + amount % 10);
  }
}

}  // namespace once::load
