// Commands about a run go to the region that the run belongs to: it alone changes it.
#include "conflict/mutation.h"
#include "conflict/probe.h"
#include "replica/api/digest.h"
#include "replica/gossip/gossip.h"
#include "replica/ledger/command.pb.h"
#include "replica/ledger/event_page.h"
#include "replica/limits.h"

namespace once {
namespace {

// What another region may ask for in a caller's name: never the making of something new.
bool IsAboutARun(const Mutation& mutation) {
  return mutation.has_cancel_run() || mutation.has_resolve_approval() ||
         mutation.has_resolve_interrupt();
}

// The slot is where its tuple says, and of the tenant that the command is for.
bool IsItsOwnSlot(const Mutation& mutation) {
  if (mutation.admitted_fence() != 0 || mutation.reserve_only()) return false;
  if (!mutation.has_begin()) return true;
  const SlotRef& slot = mutation.begin().slot();
  return slot.tenant() == mutation.tenant() &&
         slot.hash() == SlotKey(static_cast<std::uint8_t>(slot.surface()), slot.tenant(),
                                slot.endpoint(), slot.key());
}

// A message that is too large would count as a wrong one, and its sender be held off.
bool Fits(const google::protobuf::Message& part, const GossipOptions& options) {
  constexpr std::size_t kEnvelopeBytes = 1024;
  return part.ByteSizeLong() + kEnvelopeBytes <= options.message_bytes_max;
}

}  // namespace

void Gossip::SendAlone(const std::string& name, GossipMessage message) {
  message.set_format(kGossipFormat);
  message.set_from(options_.region);
  message.set_stamp_ms(replica_.NowMillis());
  transport_.Send(name, message.SerializeAsString());
}

void Gossip::Forward(const std::string& peer, ForwardRequest request, std::int64_t timeout_ms,
                     Replica::Done done) {
  if (!peers_.count(peer) || forwards_.size() >= kForwardsMax || !Fits(request, options_))
    return done(Unavailable(false));
  const std::uint64_t id = ++last_forward_;
  forwards_.emplace(id, Forwarded{peer, std::move(done)});
  GossipMessage message;
  request.set_id(id);
  request.set_incarnation(journal_.own().second);
  request.set_until_ms(replica_.NowMillis() + timeout_ms);
  *message.mutable_forward() = std::move(request);
  SendAlone(peer, std::move(message));
  replica_.scheduler().After(timeout_ms, [this, id, alive = alive_] {
    if (!*alive) return;
    const auto at = forwards_.find(id);
    if (at == forwards_.end()) return;
    const Replica::Done waiting = std::move(at->second.done);
    forwards_.erase(at);
    waiting(Unavailable(false));
  });
}

void Gossip::Reply(const Asker& to, const Answer& answer) {
  GossipMessage message;
  ForwardReply& reply = *message.mutable_forwarded();
  reply.set_id(to.id);
  reply.set_incarnation(to.incarnation);
  reply.set_kind(static_cast<std::uint32_t>(answer.kind));
  *reply.mutable_outcome() = answer.outcome;
  *reply.mutable_claim() = answer.claim;
  reply.set_retry_after_ms(answer.retry_after_ms);
  reply.set_mismatched(answer.mismatched);
  if (!Fits(reply, options_)) return Reply(to, Unavailable(false));
  SendAlone(to.region, std::move(message));
}

void Gossip::TellEvents(const Asker& asker, const EventRequest& events) {
  replica_.Read(
      [this, asker, events, alive = alive_](Tables& tables) {
        if (!*alive) return;
        const auto page = PageOfEvents(tables, events, options_.region);
        Answer answer;
        answer.kind = page ? Answer::Kind::kDone : Answer::Kind::kNotFound;
        if (page) answer.outcome.set_body(page->SerializeAsString());
        Reply(asker, answer);
      },
      [this, asker, alive = alive_] {
        if (*alive) Reply(asker, Unavailable(false));
      });
}

void Gossip::CarryOut(const std::string& from, const ForwardRequest& request) {
  // Its caller was told that it may have happened, and may have gone another way since.
  if (request.until_ms() + options_.skew_bound_ms < replica_.NowMillis()) {
    Reached("a forwarded command came after its caller had given up");
    if (!MutationOn("given-up-carried-out")) return;
  }
  const Asker asker{from, request.incarnation(), request.id()};
  if (request.has_events()) return TellEvents(asker, request.events());
  Command command;
  if (!command.ParseFromString(request.command()) || !IsAboutARun(command.mutation()) ||
      !IsItsOwnSlot(command.mutation()))
    return Refuse(from);
  if (command.mutation().has_begin() && MutationOn("forwarded-without-key"))
    command.mutable_mutation()->clear_begin();
  replica_.Submit(std::move(command), [this, asker, alive = alive_](const Answer& answer) {
    if (*alive) Reply(asker, answer);
  });
}

void Gossip::TakeReply(const std::string& from, const ForwardReply& reply) {
  const auto at = forwards_.find(reply.id());
  // It came too late, or twice, or to the node that was here before.
  const bool ours = reply.incarnation() == journal_.own().second;
  if (ours && at == forwards_.end()) Reached("a reply came when nobody waited for it any more");
  if (!ours && at != forwards_.end()) Reached("a reply came to a later start of its asker");
  if (at == forwards_.end() || (!ours && !MutationOn("reply-to-former-self"))) return;
  if (at->second.peer != from) return Refuse(from);
  const Replica::Done waiting = std::move(at->second.done);
  forwards_.erase(at);
  Answer answer = Unavailable(false);
  if (reply.kind() <= static_cast<std::uint32_t>(Answer::Kind::kCrowded))
    answer.kind = static_cast<Answer::Kind>(reply.kind());
  answer.outcome = reply.outcome();
  answer.claim = reply.claim();
  answer.retry_after_ms = reply.retry_after_ms();
  answer.mismatched = reply.mismatched();
  waiting(answer);
}

}  // namespace once
