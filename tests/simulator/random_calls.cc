#include "tests/simulator/random_calls.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace once {
namespace {

using Kind = Operation::Kind;
using Heard = Operation::Answer;

/// A slot that is asked one thing after the other, and the calls around it.
class RandomSlot {
 public:
  explicit RandomSlot(Random& random) : random_(random) {}

  std::vector<Operation> Run(std::size_t count) {
    while (calls_.size() < count) {
      now_ms_ += static_cast<std::int64_t>(random_.Below(3));
      if (random_.OneIn(6)) gone_ = true;
      Operation call;
      call.id = calls_.size() + 1;
      call.invoked_ms = now_ms_ - static_cast<std::int64_t>(random_.Below(5));
      call.returned_ms = now_ms_ + static_cast<std::int64_t>(random_.Below(5));
      call.strict = true;
      const bool unheard = random_.OneIn(5);
      if (unheard && random_.OneIn(3)) {
        Forget(call);  // and it never arrived
        call.refused = call.answer == Heard::kUnavailable && random_.OneIn(2);
      } else {
        Ask(call);
        if (unheard) Forget(call);
      }
      calls_.push_back(std::move(call));
    }
    return std::move(calls_);
  }

 private:
  struct Claim {
    std::string run_id;
    std::uint64_t fence = 0;
    bool pending = false;
    std::uint32_t status = 0;
    std::string body;
  };

  void Forget(Operation& call) {
    if (random_.OneIn(2)) {
      call.answer = Heard::kUnavailable;
    } else {
      call.answer = Heard::kNone;
      call.returned_ms = -1;
    }
    if (call.kind != Kind::kBegin) return;
    call.run_id.clear();
    call.fence = call.status = 0;
    call.answer_body.clear();
  }

  void Ask(Operation& call) {
    const std::uint64_t what = random_.Below(10);
    if (what < 5 || claims_.empty())
      Begin(call);
    else if (what < 7)
      Settle(call);
    else if (what < 8)
      Renew(call);
    else
      LookUp(call);
  }

  bool There() const { return !claims_.empty() && !gone_; }

  void Begin(Operation& call) {
    if (There()) {
      const Claim& present = claims_.back();
      const bool final = !present.pending && present.status > 0 && present.status < 500;
      if (final && random_.OneIn(4)) return Show(call, Heard::kMismatch);
      if (final && !random_.OneIn(4)) return Show(call, Heard::kReplay);
      if (present.pending && random_.OneIn(2)) return Show(call, Heard::kInFlight);
      const bool open = present.pending || present.status >= 500;
      if (!open || random_.OneIn(4)) gone_ = true;
    }
    Claim claim;
    claim.run_id = There() ? claims_.back().run_id : std::string(1, next_run_++);
    claim.fence = fence_ += 1 + random_.Below(2);
    claim.pending = true;
    claims_.push_back(claim);
    gone_ = false;
    Show(call, Heard::kExecute);
    if (!random_.OneIn(5)) return;
    Draw(claims_.back());
    Show(call, Heard::kDone);
  }

  void Settle(Operation& call) {
    call.kind = Kind::kSettle;
    Claim wanted = claims_[random_.Below(claims_.size())];
    if (wanted.pending || random_.OneIn(3)) Draw(wanted);
    call.run_id = wanted.run_id;
    call.fence = wanted.fence;
    call.status = wanted.status;
    call.answer_body = wanted.body;
    const auto last = std::find_if(claims_.rbegin(), claims_.rend(), [&](const Claim& claim) {
      return claim.run_id == wanted.run_id;
    });
    const bool current = &*last == &claims_.back() && !gone_;
    if (!current && random_.OneIn(4)) {
      call.answer = Heard::kNotFound;
    } else if (last->fence != wanted.fence) {
      call.answer = Heard::kStaleFence;
    } else if (last->pending && current) {
      *last = wanted;
      call.answer = Heard::kDone;
    } else {
      const bool repeated =
          !last->pending && last->status == wanted.status && last->body == wanted.body;
      call.answer = repeated ? Heard::kReplay : Heard::kStaleFence;
    }
  }

  void Renew(Operation& call) {
    call.kind = Kind::kRenew;
    const Claim& wanted = claims_[random_.Below(claims_.size())];
    call.run_id = wanted.run_id;
    call.fence = wanted.fence;
    const bool present = wanted.fence == claims_.back().fence && !gone_;
    const bool last = wanted.run_id != claims_.back().run_id || gone_;
    call.answer = present && wanted.pending  ? Heard::kDone
                  : last && random_.OneIn(4) ? Heard::kNotFound
                                             : Heard::kStaleFence;
  }

  void LookUp(Operation& call) {
    call.kind = Kind::kLookUp;
    if (There())
      Show(call, claims_.back().pending ? Heard::kInFlight : Heard::kReplay);
    else
      call.answer = Heard::kNotFound;
  }

  void Show(Operation& call, Heard answer) {
    const Claim& claim = claims_.back();
    call.answer = answer;
    call.run_id = claim.run_id;
    call.fence = claim.fence;
    if (answer != Heard::kReplay && answer != Heard::kDone) return;
    call.status = claim.status;
    call.answer_body = claim.body;
  }

  void Draw(Claim& claim) {
    static const std::array<std::pair<std::uint32_t, const char*>, 4> kOutcomes = {
        {{200, "x"}, {200, "y"}, {503, "busy"}, {0, ""}}};
    const auto& outcome = kOutcomes[random_.Below(kOutcomes.size())];
    claim.pending = false;
    claim.status = outcome.first;
    claim.body = outcome.second;
  }

  Random& random_;
  std::vector<Operation> calls_;
  std::vector<Claim> claims_;
  bool gone_ = false;  // the last of them
  std::uint64_t fence_ = 0;
  char next_run_ = 'A';
  std::int64_t now_ms_ = 10;
};

Heard AnyAnswer(Random& random, Kind kind) {
  const std::vector<Heard> answers =
      kind == Kind::kBegin ? std::vector{Heard::kExecute, Heard::kReplay, Heard::kInFlight,
                                         Heard::kMismatch, Heard::kDone}
      : kind == Kind::kSettle
          ? std::vector{Heard::kDone, Heard::kReplay, Heard::kStaleFence, Heard::kNotFound}
      : kind == Kind::kRenew ? std::vector{Heard::kDone, Heard::kStaleFence, Heard::kNotFound}
                             : std::vector{Heard::kReplay, Heard::kInFlight, Heard::kNotFound};
  return answers[random.Below(answers.size())];
}

}  // namespace

std::vector<Operation> RandomCalls(Random& random, std::size_t count) {
  return RandomSlot(random).Run(count);
}

void Corrupt(Random& random, std::vector<Operation>& operations) {
  for (std::uint64_t changes = 1 + random.Below(2); changes > 0; --changes) {
    Operation& call = operations[random.Below(operations.size())];
    Operation& other = operations[random.Below(operations.size())];
    const bool heard = call.answer != Heard::kNone && call.answer != Heard::kUnavailable;
    const auto shift_ms = static_cast<std::int64_t>(random.Below(13)) - 6;
    switch (random.Below(7)) {
      case 0:
        call.fence += random.Below(3);
        call.fence -= std::min<std::uint64_t>(call.fence, random.Below(3));
        break;
      case 1:
        call.run_id = other.run_id;
        break;
      case 2:
        if (heard) call.answer = AnyAnswer(random, call.kind);
        break;
      case 3:
        call.answer_body = random.OneIn(2) ? "x" : "y";
        break;
      case 4:
        call.invoked_ms += shift_ms;
        if (call.returned_ms >= 0) call.returned_ms += shift_ms;
        break;
      case 5:
        if (heard) call.returned_ms = call.invoked_ms;
        break;
      default:
        if (operations.size() > 1)
          operations.erase(operations.begin() +
                           static_cast<std::ptrdiff_t>(random.Below(operations.size())));
        break;
    }
  }
}

}  // namespace once
