#include "replica/strict/strict_group.h"

#include <algorithm>
#include <set>
#include <utility>

#include "conflict/mutation.h"
#include "conflict/probe.h"

namespace once {
namespace {

constexpr std::uint32_t kStrictMessageFormat = 1;
constexpr std::size_t kStrictMessageBytesMax = 8u << 20;
constexpr std::int64_t kStopUs = 1'000'000;
constexpr std::int64_t kStopLookMs = 5;

NativeEngineOptions EngineOptionsFor(const StrictOptions& options, std::uint64_t seed) {
  NativeEngineOptions engine = options.engine;
  engine.member = options.member;
  engine.seed = seed;
  return engine;
}

}  // namespace

bool MayAdmit(const Command& command) {
  return command.has_begin() ||
         (command.has_mutation() && command.mutation().admitted_fence() == 0);
}

StrictGroup::StrictGroup(StrictWorld world, StrictOptions options)
    : world_(std::move(world)),
      options_(std::move(options)),
      region_(RegionOfMember(options_.member)),
      state_(world_.tables, options_.hot_bytes_max),
      sweep_(world_.scheduler, world_.tables, world_.commit, state_.generations()),
      clocks_(world_.clock, options_.terms.skew_ms()),
      engine_(std::make_unique<NativeEngine>(
          EngineWorld{world_.scheduler, world_.tables, world_.commit,
                      [this](const std::string& region, std::string bytes) {
                        StrictMessage message;
                        message.set_engine(std::move(bytes));
                        Send(region, std::move(message));
                      }},
          EngineOptionsFor(options_, world_.entropy()), static_cast<StateMachine&>(*this))),
      requests_(world_.scheduler, options_.answer_ms, options_.resend_ms,
                MutationOn("request-numbers-reused") ? 0 : world_.entropy() >> 1,
                [this](const std::vector<const StrictRequest*>& all) { return SendToLeader(all); }),
      proposals_(world_.scheduler, world_.clock, *engine_, world_.entropy, options_.terms),
      reads_(world_.scheduler, options_.answer_ms, options_.resend_ms, world_.entropy() >> 1,
             [this](std::uint64_t read) { return AskLeader(read); }),
      duties_(world_.scheduler, world_.clock, *engine_, state_, proposals_,
              options_.terms.skew_ms()),
      rules_differ_(options_.rules_changed) {
  world_.transport.SetReceiver(
      [this](const std::string& from, const std::string& bytes) { Receive(from, bytes); });
}

StrictGroup::~StrictGroup() {
  *alive_ = false;
}

void StrictGroup::Start() {
  engine_->Start();
  duties_.Start();
  sweep_.Begin();
}

void StrictGroup::Stop(std::function<void()> stopped) {
  StopBy(world_.scheduler.MonotonicMicros() + kStopUs, engine_->Leads(), std::move(stopped));
}

void StrictGroup::StopBy(std::int64_t deadline_us, bool led, std::function<void()> stopped) {
  if (!MutationOn("stopped-without-handover")) engine_->GiveWay();
  // One that is known to lead has been elected, and does not need this node's vote any more.
  const bool succeeded = !led || (!engine_->Leads() && !engine_->LeaderRegion().empty());
  const bool late =
      world_.scheduler.MonotonicMicros() >= deadline_us && !MutationOn("stop-waits-for-majority");
  const bool answered = requests_.size() == 0 || MutationOn("waiters-given-up-at-stop");
  if (late || (succeeded && answered)) {
    requests_.GiveUp();
    try {
      state_.Store();  // the next start has less to apply
    } catch (const KvUnreadable&) {
      // It has the log.
    }
    return stopped();
  }
  world_.scheduler.After(kStopLookMs, [this, alive = alive_, deadline_us, led, stopped] {
    if (*alive) StopBy(deadline_us, led, stopped);
  });
}

std::vector<Command> StrictGroup::Unapplied() const {
  std::vector<Command> commands;
  engine_->VisitUnapplied([&commands](const std::string& bytes) {
    StrictBatch batch;
    if (!batch.ParseFromString(bytes)) return;
    for (StrictCommand& command : *batch.mutable_commands())
      commands.push_back(std::move(*command.mutable_command()));
  });
  return commands;
}

void StrictGroup::Submit(Command command, Done done) {
  try {
    const Answer known = Recall(command);
    if (known.kind != Answer::Kind::kUnavailable) return done(known);
  } catch (const KvUnreadable&) {
    // The leader may be able to.
  }
  if (RulesDiffer() && MayAdmit(command)) return done(Unavailable(true));
  requests_.Ask(std::move(command), world_.clock.NowMillis() + options_.answer_ms, std::move(done));
}

bool StrictGroup::MayRecall() {
  const bool safe = world_.clock.Safe() || MutationOn("recalled-while-unsafe");
  return safe && !ClockDiffers();
}

Answer StrictGroup::Recall(const Command& command) {
  const Begin* const begin = BeginOf(command);
  if (!begin || !MayRecall()) return {};
  return state_.Recall(*begin, world_.clock.NowMillis(), options_.terms.skew_ms());
}

void StrictGroup::Read(std::function<void(Tables&)> read, std::function<void()> failed) {
  reads_.Read(
      [this, read = std::move(read), failed] {
        try {
          read(state_.tables());
        } catch (const KvUnreadable&) {
          failed();
        }
      },
      failed);
}

bool StrictGroup::Apply(std::uint64_t index, const std::string& batch) {
  const bool applied = state_.Apply(
      index, batch,
      [this](const StrictAsker& asker, const StrictCommand& command, const Answer& answer) {
        if (on_applied) on_applied(answer);
        if (!answer.run_id.empty()) duties_.Consider(answer.run_id);
        if (answer.more && engine_->Leads()) duties_.ExpireMore();
        if (asker.member() != options_.member) return;
        // At the size bound the group can promise nothing new, as without a majority.
        requests_.Applied(command.request(),
                          answer.kind == Answer::Kind::kFull ? Unavailable(true) : answer);
      });
  if (!applied) return false;
  proposals_.Decided();
  reads_.Applied(index);
  if (batch.empty()) JudgeItself();  // the voters may be others now
  return true;
}

bool StrictGroup::Stage(const std::string& piece, bool first) {
  if (first) sweep_.Begin();
  return state_.Stage(piece, first);
}

void StrictGroup::Unstage() {
  state_.Unstage();
  sweep_.Begin();
}

void StrictGroup::RolledBack() {
  state_.Forget();
  sweep_.Begin();
}

bool StrictGroup::Install(std::uint64_t index) {
  if (!state_.Install(index)) return false;
  sweep_.Begin();
  // What this node asked for may be among what the snapshot stands for, and its answer with it.
  requests_.SendAgain();
  reads_.Applied(index);
  return true;
}

void StrictGroup::LeaderChanged() {
  const bool leads = engine_->Leads();
  if (!engine_->LeaderRegion().empty()) ++leaders_;
  leaders_rules_ = speaker_.region == engine_->LeaderRegion() ? speaker_.rules : 0;
  proposals_.Forget();
  JudgeItself();
  if (leads && !led_) duties_.TakeOver();
  led_ = leads;
  requests_.SendAgain();
  reads_.AskAgain();
}

void StrictGroup::JudgeItself() {
  const bool differed = RulesDiffer();
  engine_->Leads() ? JudgeAsLeader() : JudgeAsFollower(engine_->LeaderRegion());
  if (clock_standing_ != ClockStanding::kUnheard || MutationOn("clock-forgotten-unheard"))
    clock_differs_ = clock_standing_ == ClockStanding::kDiffers;
  if (RulesDiffer() && !differed) requests_.GiveUp(MayAdmit);
  proposals_.Heed(clock_standing_);
}

void StrictGroup::JudgeAsLeader() {
  std::set<std::string> voters;
  for (const EngineMember& member : engine_->Status().members)
    if (member.voter) voters.insert(RegionOfMember(member.name));
  clock_standing_ = clocks_.Among(voters);
  rules_differ_ = MostHaveOtherRules(voters) && !MutationOn("outvoted-rules-lead");
  const bool clock_differs = clock_standing_ == ClockStanding::kDiffers;
  if (clock_differs) Reached("a leader gave way because its clock differs from most");
  if (clock_differs || RulesDiffer()) engine_->GiveWay();
}

// Followers hear only the leader, and its clock and rules are those of a majority or it would not
// stay. What it said last stands when it is not heard any more. Its rules are those that it led
// with: the same region, started again with others, leads no more, though it may still be taken for
// the leader, or be heard late as the one that it was.
void StrictGroup::JudgeAsFollower(const std::string& leader) {
  clock_standing_ = clocks_.With(leader);
  std::uint64_t in_force = leaders_rules_;
  const auto said = rules_of_.find(leader);
  if (in_force != 0 && said != rules_of_.end() && said->second != in_force) {
    Reached("the rules of who is taken for the leader are not those that it led with");
    if (MutationOn("former-leader-believed")) in_force = said->second;
  }
  if (in_force != 0)
    rules_differ_ = in_force != options_.rules;
  else if (MutationOn(rules_differ_ ? "rules-forgotten-unheard" : "unheard-rules-differ"))
    rules_differ_ = !rules_differ_;
}

bool StrictGroup::MostHaveOtherRules(const std::set<std::string>& voters) const {
  std::map<std::uint64_t, std::size_t> regions;  // with those rules
  for (const auto& [region, rules] : rules_of_)
    if (rules != options_.rules && voters.count(region)) ++regions[rules];
  return std::any_of(regions.begin(), regions.end(),
                     [&voters](const auto& each) { return 2 * each.second > voters.size(); });
}

StrictCounts StrictGroup::counts() const {
  return {leaders_, proposals_.entries(), proposals_.commands(), forwarded_,
          requests_.unavailable()};
}

std::vector<std::string> StrictGroup::RegionsWithOtherRules() const {
  // Followers do not hear each other, and nobody hears who has left: what they once said would
  // stand for ever.
  std::set<std::string> heard = {engine_->LeaderRegion()};
  if (engine_->Leads())
    for (const EngineMember& member : engine_->Status().members)
      heard.insert(RegionOfMember(member.name));
  std::vector<std::string> regions;
  for (const auto& [region, rules] : rules_of_)
    if (rules != options_.rules && heard.count(region)) regions.push_back(region);
  return regions;
}

void StrictGroup::Send(const std::string& region, StrictMessage message) {
  message.set_format(kStrictMessageFormat);
  message.set_rules(options_.rules);
  *message.mutable_clock() = clocks_.WordFor(region);
  world_.transport.Send(region, message.SerializeAsString());
}

bool StrictGroup::SendToLeader(const std::vector<const StrictRequest*>& requests) {
  StrictMessage message;
  StrictAsker& asker = *message.mutable_asker();
  asker.set_member(options_.member);
  asker.set_boot(world_.tables.head().boot());
  asker.set_oldest(requests_.oldest());
  if (engine_->Leads()) {
    for (const StrictRequest* request : requests) proposals_.Take(asker, *request);
    return true;
  }
  const std::string leader = engine_->LeaderRegion();
  if (leader.empty()) return false;
  for (const StrictRequest* request : requests) *message.add_requests() = *request;
  forwarded_ += requests.size();
  Send(leader, std::move(message));
  return true;
}

bool StrictGroup::AskLeader(std::uint64_t read) {
  if (engine_->Leads()) {
    AnswerRead(region_, read);
    return true;
  }
  const std::string leader = engine_->LeaderRegion();
  if (leader.empty()) return false;
  StrictMessage message;
  message.add_reads(read);
  Send(leader, std::move(message));
  return true;
}

void StrictGroup::AnswerRead(const std::string& region, std::uint64_t read) {
  engine_->ReadIndex([this, alive = alive_, region, read](std::optional<std::uint64_t> index) {
    if (!*alive || !index) return;  // the next leader is asked, or nobody
    if (region == region_) return reads_.Known(read, *index, state_.applied());
    StrictMessage message;
    ReadReply& reply = *message.add_read_replies();
    reply.set_read(read);
    reply.set_index(*index);
    Send(region, std::move(message));
  });
}

// An earlier start of that node may have had others, and what it said may come late.
void StrictGroup::HearRules(const std::string& from, const StrictMessage& message) {
  if (message.rules() == 0) return;
  std::uint64_t& rules = rules_of_.try_emplace(from, message.rules()).first->second;
  if (rules == message.rules()) return;
  if (clocks_.IsLatest(from, message.clock()))
    rules = message.rules();
  else
    Reached("the rules of an earlier start of a node were heard late");
}

void StrictGroup::Receive(const std::string& from, const std::string& bytes) {
  StrictMessage message;
  if (bytes.size() > kStrictMessageBytesMax || !message.ParseFromString(bytes) ||
      message.format() == 0) {
    ++refused_;
    return;
  }
  HearRules(from, message);
  clocks_.Hear(from, message.clock());
  speaker_ = {from, message.rules()};
  if (!message.engine().empty()) engine_->Receive(from, message.engine());
  speaker_ = {};
  JudgeItself();
  const bool true_asker = RegionOfMember(message.asker().member()) == from;
  for (const StrictRequest& request : message.requests()) {
    if (!true_asker || request.request() == 0 || !IsCallersCommand(request.command()) ||
        request.command().ByteSizeLong() > kCommandBytesMax)
      ++refused_;
    else if (engine_->Leads() && MayTake(message, request))
      proposals_.Take(message.asker(), request);
  }
  for (const std::uint64_t read : message.reads())
    if (engine_->Leads()) AnswerRead(from, read);
  for (const ReadReply& reply : message.read_replies())
    reads_.Known(reply.read(), reply.index(), state_.applied());
}

// What an asker with other rules takes for strict may be best-effort here. It will hear that its
// rules differ.
bool StrictGroup::MayTake(const StrictMessage& message, const StrictRequest& request) const {
  const bool differ = message.rules() != 0 && message.rules() != options_.rules;
  if (differ) Reached("a leader was asked by a node with other rules");
  return !(differ || RulesDiffer()) || !MayAdmit(request.command());
}

}  // namespace once
