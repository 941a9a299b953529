#include "replica/ledger/run_id.h"

#include <array>

#include "replica/env/check.h"
#include "replica/limits.h"

namespace once {
namespace {

constexpr std::string_view kAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

constexpr std::array<std::int8_t, 256> kDigits = [] {
  std::array<std::int8_t, 256> digits{};
  digits.fill(-1);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i)
    digits[static_cast<std::uint8_t>(kAlphabet[i])] = static_cast<std::int8_t>(i);
  return digits;
}();

void Append(std::string& out, std::uint64_t value, int characters) {
  for (int i = characters - 1; i >= 0; --i) out += kAlphabet[value >> (5 * i) & 31];
}

}  // namespace

std::string RegionCode(std::string_view region) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : region) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3u;
  std::string code;
  Append(code, (hash ^ hash >> 20 ^ hash >> 40) & 0xfffff, 4);
  return code;
}

std::string MintRunId(std::int64_t created_ms, std::string_view region, std::uint64_t entropy) {
  Check(created_ms >= 0 && created_ms < std::int64_t{1} << 50, "a stamp fits ten characters");
  std::string id;
  id.reserve(kRunIdBytes);
  Append(id, static_cast<std::uint64_t>(created_ms), 10);
  id += RegionCode(region);
  Append(id, entropy, 12);
  return id;
}

std::int64_t RunIdMillis(std::string_view run_id) {
  if (run_id.size() != kRunIdBytes) return -1;
  std::int64_t ms = 0;
  for (std::size_t i = 0; i < run_id.size(); ++i) {
    const std::int8_t digit = kDigits[static_cast<std::uint8_t>(run_id[i])];
    if (digit < 0) return -1;
    if (i < 10) ms = ms << 5 | digit;
  }
  return ms;
}

std::string_view RunIdCode(std::string_view run_id) {
  constexpr std::size_t kTimeChars = 10;
  constexpr std::size_t kCodeChars = 4;
  return RunIdMillis(run_id) < 0 ? "" : run_id.substr(kTimeChars, kCodeChars);
}

}  // namespace once
