// The events of a run: as a JSON list, or as a stream that follows the run to its end.
#include <boost/json.hpp>

#include "replica/api/api.h"
#include "replica/api/errors.h"
#include "replica/api/json_value.h"
#include "replica/api/timestamp.h"
#include "replica/ledger/workflows.h"

namespace once {
namespace {

namespace json = boost::json;

constexpr std::size_t kEventsPerPage = 1000;
constexpr std::int64_t kKeepAliveMs = 15'000;

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

}  // namespace

void Api::GetEvents(Call& call) {
  const bool stream =
      call.request.Header("Accept").find("text/event-stream") != std::string_view::npos;
  replica_.Read(
      [this, stream, from = FirstSequence(call.request), respond = call.respond,
       id = std::string(call.Parameter("runId")), tenant = call.who.tenant,
       as_problem = call.as_problem](Tables& tables) {
        const auto run = tables.FindRun(id);
        if (!run || run->tenant() != tenant)
          return respond(ErrorReply(404, "run_not_found", "No such run.", as_problem));
        if (stream) return StreamEvents(id, from, respond);
        json::array events;
        for (const RunEvent& event : tables.Events(id, from, kEventsPerPage))
          events.emplace_back(EventJson(id, event));
        // Events stay with their run's home; elsewhere only its snapshot is known.
        const bool here = run->region() == config_.region;
        respond(JsonReply(200, {{"events", std::move(events)},
                                {"isComplete", here && IsTerminal(run->status())},
                                {"homeRegion", run->region()}}));
      },
      [this, respond = call.respond, as_problem = call.as_problem] {
        respond(Refusal({}, as_problem));
      });
}

void Api::StreamEvents(const std::string& run_id, std::uint64_t from, Respond respond) {
  HttpReply reply;
  reply.status = 200;
  reply.headers.emplace_back("Content-Type", "text/event-stream");
  reply.headers.emplace_back("Cache-Control", "no-store");
  reply.stream = [this, run_id, from](std::shared_ptr<EventSink> sink) {
    streams_[run_id].push_back({std::move(sink), from});
    PumpStreams(run_id);
  };
  respond(std::move(reply));
}

// Sends every stream of the run what it has not seen, and ends the streams of a run that ended.
void Api::PumpStreams(const std::string& run_id) {
  if (streams_.find(run_id) == streams_.end()) return;
  replica_.Read(
      [this, run_id](Tables& tables) {
        const auto at = streams_.find(run_id);
        if (at == streams_.end()) return;
        const auto run = tables.FindRun(run_id);
        const bool ended = !run || IsTerminal(run->status());
        std::erase_if(at->second, [&](Stream& stream) {
          for (const RunEvent& event : tables.Events(run_id, stream.next, kEventsPerPage)) {
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
  replica_.scheduler().After(kKeepAliveMs, [this] {
    for (auto& [run_id, list] : streams_)
      std::erase_if(list, [](Stream& stream) { return !stream.sink->Send(": keep-alive\n\n"); });
    std::erase_if(conflict_streams_, [](ConflictStream& stream) {
      return !stream.sink->Send(": keep-alive\n\n");
    });
    std::erase_if(streams_, [](const auto& entry) { return entry.second.empty(); });
    KeepStreamsAlive();
  });
}

void Api::CloseStreams() {
  for (auto& [run_id, list] : streams_)
    for (Stream& stream : list) stream.sink->Close();
  streams_.clear();
  for (ConflictStream& stream : conflict_streams_) stream.sink->Close();
  conflict_streams_.clear();
}

}  // namespace once
