// Every key encoding on disk, in one place. The first byte is the table; integers are big-endian,
// so byte order is number order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace once::keys {

inline std::string Big64(std::uint64_t n) {
  std::string out(8, '\0');
  for (int i = 7; i >= 0; --i, n >>= 8)
    out[static_cast<std::size_t>(i)] = static_cast<char>(n & 0xff);
  return out;
}
inline std::uint64_t ReadBig64(std::string_view bytes) {
  std::uint64_t n = 0;
  for (int i = 0; i < 8; ++i)
    n = n << 8 | static_cast<std::uint8_t>(bytes[static_cast<std::size_t>(i)]);
  return n;
}
/// Length first, so that no part can pose as the border of the next.
inline void AppendPart(std::string& out, std::string_view text) {
  for (int shift = 24; shift >= 0; shift -= 8)
    out += static_cast<char>(text.size() >> shift & 0xff);
  out += text;
}
inline std::string Part(std::string_view text) {
  std::string out;
  AppendPart(out, text);
  return out;
}
/// Takes one part off the front; nothing when there is none.
inline std::optional<std::string_view> TakePart(std::string_view& bytes) {
  constexpr std::size_t kLengthBytes = 4;
  if (bytes.size() < kLengthBytes) return std::nullopt;
  std::size_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    length = length << 8 | static_cast<std::uint8_t>(bytes[i]);
  if (bytes.size() - kLengthBytes < length) return std::nullopt;
  const std::string_view part = bytes.substr(kLengthBytes, length);
  bytes.remove_prefix(kLengthBytes + length);
  return part;
}

inline std::string Head() {
  return "h";
}
/// `hash` is the slot's 32-byte SlotKey.
inline std::string Slot(std::string_view hash) {
  return "s" + std::string(hash);
}
inline std::string Run(std::string_view run_id) {
  return "r" + std::string(run_id);
}
/// Runs that are not at their end; value empty.
inline std::string ActiveRun(std::string_view run_id) {
  return "a" + std::string(run_id);
}
inline std::string Event(std::string_view run_id, std::uint64_t sequence) {
  return "e" + std::string(run_id) + Big64(sequence);
}
inline std::string Interrupt(std::string_view token) {
  return "i" + std::string(token);
}
inline constexpr const char* kWebhooks = "w";
inline std::string Webhook(std::string_view tenant, std::string_view id) {
  return kWebhooks + Part(tenant) + std::string(id);
}
inline std::string Policy(std::string_view tenant, std::string_view route) {
  return "p" + Part(tenant) + std::string(route);
}

inline std::string Conflict(std::uint64_t sequence) {
  return "c" + Big64(sequence);
}
/// The place in the list of what a run has on record; `kind` is a ConflictKind.
inline std::string ConflictOf(int kind, std::string_view run_id) {
  return "k" + std::string(1, static_cast<char>(kind)) + std::string(run_id);
}
/// How many conflict records a tenant has; and each, in their order, with its place in the list of
/// all.
inline std::string TenantConflicts(std::string_view tenant) {
  return "n" + std::string(tenant);
}
inline std::string TenantConflict(std::string_view tenant, std::uint64_t tenant_sequence) {
  return "t" + Part(tenant) + Big64(tenant_sequence);
}
/// Frames of one origin and incarnation, in order of their first sequence.
inline std::string Frames(std::string_view origin, std::uint64_t incarnation) {
  return "j" + Part(origin) + Big64(incarnation);
}
inline std::string Frame(std::string_view origin, std::uint64_t incarnation,
                         std::uint64_t first_sequence) {
  return Frames(origin, incarnation) + Big64(first_sequence);
}
/// How far an origin's incarnation has been merged here.
inline std::string Seen(std::string_view origin, std::uint64_t incarnation) {
  return "v" + Part(origin) + Big64(incarnation);
}
/// How far an own incarnation that is closed had come.
inline std::string Closed(std::string_view origin, std::uint64_t incarnation) {
  return "o" + Part(origin) + Big64(incarnation);
}

/// The strict group's log, entry by entry; what its member promised; what its log begins after.
inline std::string LogEntry(std::uint64_t index) {
  return "L" + Big64(index);
}
inline std::string LogPromises() {
  return "V";
}
inline std::string LogBeginning() {
  return "B";
}
/// The first bytes of all tables are below this one.
inline constexpr const char* kAfterTables = "\x80";

/// The strict group's ledger has all the tables of the other one, behind this. A state that came as
/// a snapshot is of another generation than the one it replaced; generation 0 has no number.
inline std::string Strict(std::uint64_t generation) {
  return generation == 0 ? "S" : "S" + Big64(generation | std::uint64_t{1} << 63);
}
/// The first key after all of that generation.
inline std::string AfterStrict(std::uint64_t generation) {
  return Strict(generation) + kAfterTables;
}
inline std::uint64_t GenerationOf(std::string_view strict_key) {
  constexpr std::size_t kNumberedBytes = 1 + 8;
  const bool numbered = strict_key.size() >= kNumberedBytes && (strict_key[1] & 0x80) != 0;
  return numbered ? ReadBig64(strict_key.substr(1)) & ~(std::uint64_t{1} << 63) : 0;
}
/// Which generation is the present one.
inline std::string StrictGeneration() {
  return "G";
}
/// Which requests of a member the strict group has carried out.
inline std::string Asker(std::string_view member) {
  return "q" + std::string(member);
}
/// The marks of the directory that the store is in; see DirectoryMarks.
inline std::string DirectoryMarks() {
  return "D";
}
/// Which routes were strict at the last start.
inline std::string StrictRoutes() {
  return "R";
}

/// What an expiry entry points at.
enum class Expiring : char { kSlot = 's', kRun = 'r' };
/// Per kind in order of time. The value names the ids; with an id behind the time it is empty.
inline std::string ExpiryTime(Expiring kind, std::int64_t at_ms) {
  return std::string("x") + static_cast<char>(kind) + Big64(static_cast<std::uint64_t>(at_ms));
}
inline constexpr std::size_t kExpiryKindBytes = 1 + 1;
inline constexpr std::size_t kExpiryPrefixBytes = kExpiryKindBytes + 8;

/// The first key after every key that starts with `prefix` (which must not be all 0xff).
inline std::string After(std::string prefix) {
  while (static_cast<std::uint8_t>(prefix.back()) == 0xff) prefix.pop_back();
  prefix.back() = static_cast<char>(static_cast<std::uint8_t>(prefix.back()) + 1);
  return prefix;
}

}  // namespace once::keys
