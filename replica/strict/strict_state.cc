#include "replica/strict/strict_state.h"

#include <google/protobuf/arena.h>
#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "conflict/mutation.h"
#include "replica/api/digest.h"
#include "replica/limits.h"
#include "replica/strict/strict_routes.h"

namespace once {
namespace {

constexpr int kEntropyWords = 3;
// So much is stored when nobody waits: little, because the thread is held meanwhile.
constexpr std::size_t kChangesSome = 100;
constexpr std::size_t kUnstoredBytesSome = 128 << 10;
// So much is stored whoever waits; a start applies as much again.
constexpr std::size_t kChangesMax = 512;
constexpr std::size_t kUnstoredBytesMax = 1 << 20;
constexpr std::uint32_t kPieceFormat = 2;
constexpr int kPieceRecordsMax = 2048;  // the receiver's thread is held while it puts them

LedgerOptions OptionsFor(const LedgerTerms& terms) {
  LedgerOptions options;
  options.region = kStrictRegion;
  options.skew_ms = terms.skew_ms();
  options.slots_max = terms.slots_max();
  options.slot_bytes_max = terms.slot_bytes_max();
  options.run_retention_ms = terms.run_retention_ms();
  options.replicated = true;
  return options;
}

// The slot is where its tuple says, and of the tenant that the command is for.
bool IsSound(const Begin& begin, const std::string& tenant) {
  const SlotRef& slot = begin.slot();
  return slot.tenant() == tenant && begin.lease_ms() <= static_cast<std::uint64_t>(kLeaseMsMax) &&
         slot.hash() == SlotKey(static_cast<std::uint8_t>(slot.surface()), slot.tenant(),
                                slot.endpoint(), slot.key());
}

bool IsSound(const Mutation& mutation) {
  return mutation.effect_case() != Mutation::EFFECT_NOT_SET &&
         (!mutation.has_begin() || IsSound(mutation.begin(), mutation.tenant()));
}

bool IsSound(const Settle& settle) {
  const ClaimState state = settle.state();
  return state == COMPLETED || state == TERMINAL_FAILURE || state == RETRYABLE || state == RELEASED;
}

// Of a command of the leader's own, or of no valid place, nobody in particular.
const StrictAsker& AskerOf(const StrictBatch& batch, const StrictCommand& command) {
  const bool known =
      command.asker() > 0 && static_cast<int>(command.asker()) <= batch.askers_size();
  return known ? batch.askers(static_cast<int>(command.asker()) - 1)
               : StrictAsker::default_instance();
}

// A field of a later version is there instead of one that is known.
bool HoldsUnknown(const google::protobuf::Message& message) {
  return !message.GetReflection()->GetUnknownFields(message).empty();
}

bool IsOfLaterVersion(const Command& command) {
  const bool effect = command.has_mutation() &&
                      command.mutation().effect_case() == Mutation::EFFECT_NOT_SET &&
                      HoldsUnknown(command.mutation());
  return effect || (command.body_case() == Command::BODY_NOT_SET && HoldsUnknown(command));
}

bool IsOfLaterVersion(const StrictBatch& batch) {
  return batch.format() > kBatchFormat ||
         std::any_of(batch.commands().begin(), batch.commands().end(),
                     [](const StrictCommand& each) { return IsOfLaterVersion(each.command()); });
}

/// Every record of the strict ledger, read from a view of its store.
class FrozenLedger : public FrozenState {
 public:
  explicit FrozenLedger(std::unique_ptr<KvView> view) : view_(std::move(view)) {}

  Piece Read(const std::string& begin, std::size_t bytes_max) override {
    google::protobuf::Arena arena;
    LedgerPiece& ledger = *google::protobuf::Arena::CreateMessage<LedgerPiece>(&arena);
    ledger.set_format(kPieceFormat);
    Piece piece{.bytes = "", .end = "", .last = true};
    std::size_t bytes = 0;
    view_->Scan(begin, keys::kAfterTables, [&](std::string_view key, std::string_view value) {
      if (bytes >= bytes_max || ledger.keys_size() == kPieceRecordsMax) {
        piece.end = key;
        piece.last = false;
        return false;
      }
      bytes += key.size() + value.size();
      ledger.add_keys(key.data(), key.size());
      ledger.add_values(value.data(), value.size());
      return true;
    });
    ledger.set_last(piece.last);
    piece.bytes = ledger.SerializeAsString();
    return piece;
  }

 private:
  std::unique_ptr<KvView> view_;
};

}  // namespace

bool IsCallersCommand(const Command& command) {
  switch (command.body_case()) {
    case Command::kBegin:
      return IsSound(command.begin(), command.begin().slot().tenant());
    case Command::kSettle:
      return IsSound(command.settle());
    case Command::kRenew:
      return command.renew().lease_ms() <= static_cast<std::uint64_t>(kLeaseMsMax);
    case Command::kMutation:
      return IsSound(command.mutation());
    default:
      return false;
  }
}

StrictState::StrictState(Tables& outer, std::size_t hot_bytes_max)
    : generations_(outer),
      store_(outer, generations_.present()),
      tables_(store_, hot_bytes_max),
      requests_(tables_) {}

bool StrictState::Apply(std::uint64_t index, const std::string& batch, const Answered& answered) {
  google::protobuf::Arena arena;
  StrictBatch& parsed = *google::protobuf::Arena::CreateMessage<StrictBatch>(&arena);
  const bool parses = !batch.empty() && parsed.ParseFromString(batch);
  if (parses && IsOfLaterVersion(parsed)) return false;
  const bool whole = parses && parsed.format() == kBatchFormat && parsed.stamp_ms() >= 0;
  if (!whole) parsed.Clear();
  std::vector<Answer> answers;
  answers.reserve(static_cast<std::size_t>(parsed.commands_size()));
  if (whole) {
    Ledger ledger(tables_, OptionsFor(parsed.terms()));
    for (const StrictCommand& command : parsed.commands()) {
      Answer& answer = answers.emplace_back();
      const bool own = command.command().has_advance_run() || command.command().has_expire_due();
      if ((!own && !IsCallersCommand(command.command())) || command.entropy_size() != kEntropyWords)
        continue;
      const bool fresh = own || requests_.Add(AskerOf(parsed, command), command.request());
      const bool again = MutationOn("request-carried-out-twice") ||
                         (MutationOn("applied-twice-after-restart") && index <= applied());
      if (!fresh && !again) continue;
      Stamp stamp{parsed.stamp_ms(), {}};
      std::copy(command.entropy().begin(), command.entropy().end(), stamp.entropy.begin());
      if (MutationOn("entropy-of-its-own")) stamp.entropy[0] += unstored_bytes_;
      answer = ledger.Apply(command.command(), stamp);
    }
  }
  tables_.head().set_format(kRecordFormat);
  tables_.head().set_applied(index);
  tables_.TouchHead();
  unstored_bytes_ += batch.size();
  if (tables_.changes() >= kChangesMax || unstored_bytes_ >= kUnstoredBytesMax) Store();
  for (int i = 0; i < parsed.commands_size(); ++i)
    answered(AskerOf(parsed, parsed.commands(i)), parsed.commands(i),
             answers[static_cast<std::size_t>(i)]);
  return true;
}

bool StrictState::ShouldStore() const {
  return tables_.changes() >= kChangesSome || unstored_bytes_ >= kUnstoredBytesSome;
}

void StrictState::Store() {
  unstored_bytes_ = 0;
  if (!tables_.dirty()) return;
  requests_.Put();
  tables_.Flush();
  tables_.Synced(tables_.open_batch() - 1);  // what is decided is durable, whatever this disk does
}

// A clock that is behind the leader's by the bound still stops in time.
Answer StrictState::Recall(const Begin& begin, std::int64_t now_ms, std::int64_t skew_ms) {
  LedgerTerms terms;
  terms.set_skew_ms(skew_ms);
  return Ledger(tables_, OptionsFor(terms))
      .Recall(begin, MutationOn("recalled-for-ever") ? 0 : now_ms + 2 * skew_ms);
}

std::unique_ptr<FrozenState> StrictState::Freeze() {
  Store();
  return std::make_unique<FrozenLedger>(tables_.ViewRaw("", keys::kAfterTables));
}

bool StrictState::Stage(const std::string& bytes, bool first) {
  google::protobuf::Arena arena;
  LedgerPiece& piece = *google::protobuf::Arena::CreateMessage<LedgerPiece>(&arena);
  const bool whole = piece.ParseFromString(bytes) && piece.format() == kPieceFormat &&
                     piece.keys_size() > 0 && piece.keys_size() == piece.values_size();
  const bool follows = first || (generations_.arriving() && !staged_whole_);
  if (!whole || !follows) return false;
  std::string_view last = first ? std::string_view() : last_staged_;
  for (const std::string& key : piece.keys()) {
    if (key <= last || key >= keys::kAfterTables) return false;
    last = key;
  }
  last_staged_ = last;
  staged_whole_ = piece.last();
  if (first) generations_.Begin();
  for (int i = 0; i < piece.keys_size(); ++i)
    generations_.Put(piece.keys(i), std::move(*piece.mutable_values(i)));
  return true;
}

bool StrictState::Install(std::uint64_t index) {
  const bool whole = generations_.arriving() && staged_whole_;
  const auto bytes = whole ? generations_.Get(keys::Head()) : std::nullopt;
  Head head;
  if (!bytes || !head.ParseFromString(*bytes) || head.format() > kRecordFormat ||
      head.applied() != index)
    return false;
  // Again, so that Forget finds it in the open batch: from here on no read may fail.
  generations_.Put(keys::Head(), *bytes);
  generations_.Flip();
  Forget();
  return true;
}

void StrictState::Forget() {
  generations_.Load();
  store_.MoveTo(generations_.present());
  tables_.Rollback();
  requests_.Forget();
  unstored_bytes_ = 0;
}

}  // namespace once
