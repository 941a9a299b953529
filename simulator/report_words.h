// How the report spells things: one spelling of every kind and answer for all its files, and
// numbers for people.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "simulator/history.h"

namespace once {

inline constexpr std::array kOperationKinds = {
    Operation::Kind::kBegin,  Operation::Kind::kSettle,  Operation::Kind::kLookUp,
    Operation::Kind::kRenew,  Operation::Kind::kPolicy,  Operation::Kind::kCreate,
    Operation::Kind::kCancel, Operation::Kind::kApprove, Operation::Kind::kInterrupt,
    Operation::Kind::kDelete, Operation::Kind::kGetRun,  Operation::Kind::kGetEvents};
inline constexpr std::array kAnswers = {
    Operation::Answer::kExecute,  Operation::Answer::kReplay,   Operation::Answer::kDone,
    Operation::Answer::kInFlight, Operation::Answer::kMismatch, Operation::Answer::kStaleFence,
    Operation::Answer::kNotFound, Operation::Answer::kFull,     Operation::Answer::kUnavailable,
    Operation::Answer::kNone};
inline constexpr std::array kFaultKinds = {
    Fault::Kind::kCut,       Fault::Kind::kClog,      Fault::Kind::kCrash,
    Fault::Kind::kPause,     Fault::Kind::kSlowDisk,  Fault::Kind::kSyncFailure,
    Fault::Kind::kDiskFull,  Fault::Kind::kClockJump, Fault::Kind::kLossyLinks,
    Fault::Kind::kEmptied,   Fault::Kind::kRestored,  Fault::Kind::kTransfer,
    Fault::Kind::kDismissed, Fault::Kind::kCloned,    Fault::Kind::kSteppedStarts,
    Fault::Kind::kStopped};

/// The kebab-case names of the files, as in "look-up" or "stale-fence".
std::string_view Word(Operation::Kind kind);
std::string_view Word(Operation::Mismatch mismatch);
std::string_view Word(Operation::Answer answer);
std::string_view Word(Fault::Kind kind);

/// What an answer meant to its caller.
enum class Meaning {
  kClaim,    // execute it
  kReplay,   // the answer of an earlier execution
  kRefusal,  // nothing was admitted or changed
  kUnheard,  // no answer
  kPlain,    // a settlement accepted, a look-up that found no outcome
};
Meaning MeaningOf(const Operation& operation);

/// 12,345 for 12345.
std::string Thousands(std::int64_t number);
/// "340 ms", "12.5 s", "3 min 20 s": for reading; the spaces do not break.
std::string Duration(std::int64_t ms);
/// "12.034 s": exact, for pointing at a moment.
std::string MomentText(std::int64_t ms);
/// "1.5 MB".
std::string Bytes(std::uint64_t bytes);
/// At most `length` bytes of the text and an ellipsis when something was left out; never cuts
/// inside a character.
std::string Shortened(std::string_view text, std::size_t length);

/// The text with every byte that is not part of well-formed UTF-8 replaced by U+FFFD. Bodies are
/// bytes, and the files must stay readable whatever is in them.
std::string Utf8(std::string_view bytes);

}  // namespace once
