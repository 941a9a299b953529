// The events of a run: as a JSON list, or as a stream that follows the run to its end.
#include <boost/json.hpp>

#include "replica/api/accept.h"
#include "replica/api/api.h"
#include "replica/api/errors.h"
#include "replica/api/json_value.h"
#include "replica/api/timestamp.h"
#include "replica/ledger/event_page.h"
#include "replica/ledger/workflows.h"

namespace once {
namespace {

namespace json = boost::json;

json::object EventJson(const std::string& run_id, const RunEvent& event) {
  json::object body = {{"eventId", run_id + "-" + std::to_string(event.sequence())},
                       {"runId", run_id},
                       {"type", event.type()},
                       {"sequence", event.sequence()},
                       {"timestamp", Timestamp(event.time_ms())},
                       {"payload", StoredJson(event.payload())}};
  if (!event.node_id().empty()) body["nodeId"] = event.node_id();
  return body;
}

std::string EventText(const std::string& run_id, const RunEvent& event) {
  return "id: " + std::to_string(event.sequence()) + "\nevent: " + event.type() +
         "\ndata: " + json::serialize(EventJson(run_id, event)) + "\n\n";
}

// After Last-Event-ID, or from the start.
std::uint64_t FirstSequence(const HttpRequest& request) {
  const std::string_view last = request.Header("Last-Event-ID");
  if (last.empty() || last.size() > 18) return 0;
  std::uint64_t sequence = 0;
  for (const char c : last) {
    if (c < '0' || c > '9') return 0;
    sequence = sequence * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return sequence + 1;
}

HttpReply PageAsJson(const EventRequest& request, const EventPage& page, const std::string& home) {
  json::array events;
  for (const RunEvent& event : page.events())
    events.emplace_back(EventJson(request.run_id(), event));
  return JsonReply(
      200, {{"events", std::move(events)}, {"isComplete", page.complete()}, {"homeRegion", home}});
}

HttpReply EventStreamReply() {
  HttpReply reply;
  reply.status = 200;
  reply.headers.emplace_back("Content-Type", kEventStream);
  reply.headers.emplace_back("Cache-Control", "no-store");
  return reply;
}

// What there is now, and the end: a client of event streams comes back for more by itself.
HttpReply PageAsStream(const EventRequest& request, const EventPage& page) {
  HttpReply reply = EventStreamReply();
  reply.body = "retry: 1000\n\n";
  for (const RunEvent& event : page.events()) reply.body += EventText(request.run_id(), event);
  return reply;
}

}  // namespace

// Events stay with their run's home, so it is asked where that is another region.
void Api::GetEvents(Call& call) {
  const bool stream = PrefersToJson(call.request, kEventStream);
  EventRequest request;
  request.set_tenant(call.who.tenant);
  request.set_run_id(std::string(call.Parameter("runId")));
  request.set_from_sequence(FirstSequence(call.request));
  const auto not_found = [respond = call.respond, as_problem = call.as_problem] {
    respond(ErrorReply(404, "run_not_found", "No such run.", as_problem));
  };
  const auto unavailable = [respond = call.respond, as_problem = call.as_problem] {
    respond(CannotRead(as_problem));
  };
  const std::string home = forward_ ? homes_.OfRun(request.run_id()) : "";
  if (!home.empty()) {
    ForwardRequest question;
    *question.mutable_events() = request;
    return forward_(
        home, std::move(question),
        [request, home, stream, respond = call.respond, not_found,
         unavailable](const Answer& answer) {
          EventPage page;
          if (answer.kind == Answer::Kind::kNotFound) return not_found();
          if (answer.kind != Answer::Kind::kDone || !page.ParseFromString(answer.outcome.body()))
            return unavailable();
          respond(stream ? PageAsStream(request, page) : PageAsJson(request, page, home));
        });
  }
  const std::string region(IsStrictRunId(request.run_id()) ? kStrictRegion : config_.region);
  replica_.ReadAbout(
      request.run_id(),
      [this, stream, request, region, closings = stream_closings_, respond = call.respond,
       not_found](Tables& tables) {
        const auto page = PageOfEvents(tables, request, region);
        if (!page) return not_found();
        // Asked under a key that may be worthless by now: what there is, and the end.
        if (stream && closings != stream_closings_) return respond(PageAsStream(request, *page));
        if (stream) return StreamEvents(request.run_id(), request.from_sequence(), respond);
        respond(PageAsJson(request, *page, region));
      },
      unavailable);
}

void Api::StreamEvents(const std::string& run_id, std::uint64_t from, Respond respond) {
  HttpReply reply = EventStreamReply();
  reply.stream = [this, run_id, from](std::shared_ptr<EventSink> sink) {
    streams_[run_id].push_back({std::move(sink), from});
    PumpStreams(run_id);
  };
  respond(std::move(reply));
}

// Sends every stream of the run what it has not seen, and ends the streams of a run that ended.
void Api::PumpStreams(const std::string& run_id) {
  if (streams_.find(run_id) == streams_.end()) return;
  replica_.ReadAbout(
      run_id,
      [this, run_id](Tables& tables) {
        const auto at = streams_.find(run_id);
        if (at == streams_.end()) return;
        const auto run = tables.FindRun(run_id);
        const bool ended = !run || IsTerminal(run->status());
        std::erase_if(at->second, [&](Stream& stream) {
          for (const RunEvent& event : tables.Events(run_id, stream.next, kEventsPerPageMax)) {
            if (!stream.sink->Send(EventText(run_id, event))) return true;
            stream.next = event.sequence() + 1;
          }
          if (ended) stream.sink->Close();
          return ended;
        });
        if (at->second.empty()) streams_.erase(at);
      },
      [] {});
}

// A comment now and then: proxies keep the connection, and a client that went away is noticed.
void Api::KeepStreamsAlive() {
  replica_.scheduler().After(config_.limits.stream_keep_alive_ms, [this] {
    for (auto& [run_id, list] : streams_)
      std::erase_if(list, [](Stream& stream) { return !stream.sink->Send(": keep-alive\n\n"); });
    std::erase_if(conflict_streams_,
                  [](ConflictStream& stream) { return !stream.sink->Send(": keep-alive\n\n"); });
    std::erase_if(streams_, [](const auto& entry) { return entry.second.empty(); });
    KeepStreamsAlive();
  });
}

void Api::CloseStreams() {
  ++stream_closings_;
  for (auto& [run_id, list] : streams_)
    for (Stream& stream : list) stream.sink->Close();
  streams_.clear();
  for (ConflictStream& stream : conflict_streams_) stream.sink->Close();
  conflict_streams_.clear();
}

}  // namespace once
