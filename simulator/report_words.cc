#include "simulator/report_words.h"

#include <cstdio>

namespace once {
namespace {

/// Length of the well-formed sequence that starts the text, 0 when there is none (RFC 3629).
std::size_t SequenceLength(std::string_view text) {
  const auto byte = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xc2 && lead <= 0xdf   ? 2
                             : lead >= 0xe0 && lead <= 0xef ? 3
                             : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                            : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const unsigned char second = byte(1);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool no_character = (lead == 0xed && second >= 0xa0) || (lead == 0xf4 && second >= 0x90);
  return overlong || no_character ? 0 : length;
}

/// One decimal, none when it is a zero.
std::string Decimal(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", number);
  std::string out = text;
  if (out.ends_with(".0")) out.resize(out.size() - 2);
  return out;
}

}  // namespace

std::string_view Word(Operation::Kind kind) {
  switch (kind) {
    case Operation::Kind::kBegin:
      return "begin";
    case Operation::Kind::kSettle:
      return "settle";
    case Operation::Kind::kLookUp:
      return "look-up";
    case Operation::Kind::kRenew:
      return "renew";
    case Operation::Kind::kPolicy:
      return "policy";
    case Operation::Kind::kCreate:
      return "create";
    case Operation::Kind::kCancel:
      return "cancel";
    case Operation::Kind::kApprove:
      return "approve";
    case Operation::Kind::kInterrupt:
      return "interrupt";
    case Operation::Kind::kDelete:
      return "delete";
    case Operation::Kind::kGetRun:
      return "get-run";
    case Operation::Kind::kGetEvents:
      return "get-events";
  }
  return "unknown";
}

std::string_view Word(Operation::Mismatch mismatch) {
  switch (mismatch) {
    case Operation::Mismatch::kReject:
      return "reject";
    case Operation::Mismatch::kObserve:
      return "observe";
    case Operation::Mismatch::kOff:
      return "off";
  }
  return "unknown";
}

std::string_view Word(Operation::Answer answer) {
  switch (answer) {
    case Operation::Answer::kNone:
      return "none";
    case Operation::Answer::kExecute:
      return "execute";
    case Operation::Answer::kReplay:
      return "replay";
    case Operation::Answer::kInFlight:
      return "in-flight";
    case Operation::Answer::kMismatch:
      return "mismatch";
    case Operation::Answer::kDone:
      return "done";
    case Operation::Answer::kStaleFence:
      return "stale-fence";
    case Operation::Answer::kNotFound:
      return "not-found";
    case Operation::Answer::kFull:
      return "full";
    case Operation::Answer::kUnavailable:
      return "unavailable";
  }
  return "unknown";
}

std::string_view Word(Fault::Kind kind) {
  switch (kind) {
    case Fault::Kind::kCut:
      return "cut";
    case Fault::Kind::kClog:
      return "clog";
    case Fault::Kind::kCrash:
      return "crash";
    case Fault::Kind::kPause:
      return "pause";
    case Fault::Kind::kSlowDisk:
      return "slow-disk";
    case Fault::Kind::kSyncFailure:
      return "sync-failure";
    case Fault::Kind::kDiskFull:
      return "disk-full";
    case Fault::Kind::kClockJump:
      return "clock-jump";
    case Fault::Kind::kLossyLinks:
      return "lossy-links";
    case Fault::Kind::kEmptied:
      return "emptied-directory";
    case Fault::Kind::kRestored:
      return "restored-backup";
    case Fault::Kind::kTransfer:
      return "transfer";
    case Fault::Kind::kDismissed:
      return "dismissed-member";
    case Fault::Kind::kCloned:
      return "cloned-directory";
    case Fault::Kind::kSteppedStarts:
      return "stepped-starts";
    case Fault::Kind::kStopped:
      return "stopped-node";
  }
  return "unknown";
}

Meaning MeaningOf(const Operation& operation) {
  switch (operation.answer) {
    case Operation::Answer::kNone:
      return Meaning::kUnheard;
    case Operation::Answer::kExecute:
      return Meaning::kClaim;
    case Operation::Answer::kReplay:
      return Meaning::kReplay;
    case Operation::Answer::kDone:
      return Meaning::kPlain;
    case Operation::Answer::kInFlight:
    case Operation::Answer::kNotFound:
      return operation.kind >= Operation::Kind::kLookUp ? Meaning::kPlain : Meaning::kRefusal;
    case Operation::Answer::kMismatch:
    case Operation::Answer::kStaleFence:
    case Operation::Answer::kFull:
    case Operation::Answer::kUnavailable:
      return Meaning::kRefusal;
  }
  return Meaning::kPlain;
}

std::string Thousands(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string Duration(std::int64_t ms) {
  if (ms < 0) return "-" + Duration(-ms);
  if (ms < 1000) return std::to_string(ms) + "\u00a0ms";
  if (ms < 120'000) return Decimal(static_cast<double>(ms) / 1000) + "\u00a0s";
  const std::int64_t seconds = ms / 1000;
  std::string out;
  if (seconds >= 3600) out = Thousands(seconds / 3600) + "\u00a0h";
  if (seconds >= 3600 && seconds / 60 % 60 == 0) return out;
  if (seconds >= 3600) out += "\u00a0";
  out += std::to_string(seconds / 60 % 60) + "\u00a0min";
  if (seconds < 3600 && seconds % 60 != 0)
    out += "\u00a0" + std::to_string(seconds % 60) + "\u00a0s";
  return out;
}

std::string MomentText(std::int64_t ms) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3f s", static_cast<double>(ms) / 1000);
  return text;
}

std::string Bytes(std::uint64_t bytes) {
  const double number = static_cast<double>(bytes);
  if (number < 1e3) return std::to_string(bytes) + " B";
  if (number < 1e6) return Decimal(number / 1e3) + " kB";
  if (number < 1e9) return Decimal(number / 1e6) + " MB";
  return Decimal(number / 1e9) + " GB";
}

std::string Shortened(std::string_view text, std::size_t length) {
  if (text.size() <= length) return std::string(text);
  while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80) --length;
  return std::string(text.substr(0, length)) + "…";
}

std::string Utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = SequenceLength(bytes);
    out += length == 0 ? std::string_view("\xef\xbf\xbd") : bytes.substr(0, length);
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace once
