// A whole node in the simulated world, asked by HTTP values: no socket, no thread, no real clock.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "replica/api/api.h"
#include "replica/api/digest.h"
#include "replica/env/random.h"
#include "replica/replica.h"
#include "simulator/memory_store.h"
#include "simulator/virtual_scheduler.h"

namespace once {

/// What a caller sees. Status 0: no answer yet.
struct Reply {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::function<void(std::shared_ptr<EventSink>)> stream;

  std::string Header(std::string_view name) const {
    for (const auto& [key, value] : headers)
      if (key == name) return value;
    return "";
  }
  bool Replayed() const { return Header("openwop-Idempotent-Replay") == "true"; }
  boost::json::value Json() const { return boost::json::parse(body); }
  /// The value at a JSON pointer; null when there is none.
  boost::json::value At(std::string_view pointer) const {
    boost::json::error_code ec;
    const boost::json::value document = Json();
    const boost::json::value* found = document.find_pointer(pointer, ec);
    return found ? *found : boost::json::value();
  }
  std::string Text(std::string_view pointer) const {
    const boost::json::value found = At(pointer);
    return found.is_string() ? std::string(found.as_string()) : "";
  }
  std::int64_t Number(std::string_view pointer) const {
    const boost::json::value found = At(pointer);
    return found.is_int64() ? found.as_int64() : -1;
  }
};

using Headers = std::vector<std::pair<std::string, std::string>>;

class ApiWorld : public testing::Test {
 protected:
  ApiWorld() {
    config_.region = "eu";
    Boot();
  }

  /// Changes the configuration and starts anew on the same disk.
  void Configure(const std::function<void(Config&)>& change) {
    change(config_);
    Restart();
  }
  /// A clean stop and a start; the calendar goes on, monotonic time starts over.
  void Restart() {
    bool drained = false;
    replica_->Stop([&] { drained = true; });
    scheduler_->RunUntilIdle();
    EXPECT_TRUE(drained);
    Boot();
  }
  /// The process dies with every unsynced byte.
  void CrashAndRestart() {
    disk_.CrashLosingUnsynced();
    Boot();
  }
  void Advance(std::int64_t duration_ms) { scheduler_->RunFor(duration_ms); }
  void RunUntilIdle() { scheduler_->RunUntilIdle(); }

  /// Who the next requests come from: "acme" and "globex" are tenants, "admin" may administrate,
  /// "claims-only" is an actor of acme without the scope for runs.
  void As(std::string who) { who_ = std::move(who); }

  /// Sends without waiting. The reply is filled in when it comes.
  std::shared_ptr<Reply> Send(std::string method, std::string target, Headers headers = {},
                              std::string body = "") {
    auto reply = std::make_shared<Reply>();
    if (!who_.empty()) headers.emplace_back("Authorization", "Bearer " + KeyOf(who_));
    const bool typed = std::any_of(headers.begin(), headers.end(), [](const auto& header) {
      return header.first == "Content-Type";
    });
    if (!body.empty() && !typed) headers.emplace_back("Content-Type", "application/json");
    HttpRequest request;
    request.method = method;
    request.target = target;
    for (const auto& [name, value] : headers) request.headers.emplace_back(name, value);
    request.body = body;
    api_->Serve(request, [reply](HttpReply given) {
      EXPECT_EQ(reply->status, 0) << "answered twice";
      *reply = {given.status, std::move(given.headers), std::move(given.body),
                std::move(given.stream)};
    });
    return reply;
  }
  /// Sends and runs until nothing is left to do now.
  Reply Ask(std::string method, std::string target, Headers headers = {}, std::string body = "") {
    const auto reply = Send(std::move(method), std::move(target), std::move(headers), body);
    RunUntilIdle();
    return *reply;
  }
  Reply Get(std::string target, Headers headers = {}) { return Ask("GET", target, headers); }
  /// `key` empty: without one.
  Reply Post(std::string target, std::string key, std::string body, Headers headers = {}) {
    if (!key.empty()) headers.emplace_back("Idempotency-Key", key);
    return Ask("POST", target, headers, body);
  }
  std::shared_ptr<Reply> SendPost(std::string target, std::string key, std::string body,
                                  Headers headers = {}) {
    headers.emplace_back("Idempotency-Key", key);
    return Send("POST", target, headers, body);
  }
  Reply Delete(std::string target, std::string key, Headers headers = {}) {
    if (!key.empty()) headers.emplace_back("Idempotency-Key", key);
    return Ask("DELETE", target, headers);
  }
  /// The run id of a new run.
  std::string Run(std::string body) {
    const Reply reply = Post("/v1/runs", "", body);
    EXPECT_EQ(reply.status, 201) << reply.body;
    return reply.Text("/runId");
  }

  /// Records of one table that reads see: 'r' runs, 'e' events, 'w' webhooks, 's' slots.
  std::size_t Records(char table) const {
    return static_cast<std::size_t>(
        std::count_if(disk_.visible().begin(), disk_.visible().end(),
                      [table](const auto& record) { return record.first[0] == table; }));
  }
  /// All that requests have done to the world outside the store of keys.
  std::map<std::string, std::string> Effects() const {
    std::map<std::string, std::string> effects;
    for (const auto& [key, value] : disk_.visible())
      if (std::string_view("reiw").find(key[0]) != std::string_view::npos)
        effects.emplace(key, value);
    return effects;
  }

  std::string MetricsPage() {
    const std::string before = std::exchange(who_, "admin");
    const Reply reply = Get("/metrics");
    who_ = before;
    EXPECT_EQ(reply.status, 200);
    return reply.body;
  }
  /// The sum over all series of a metric whose line holds `labels`.
  double Metric(const std::string& name, const std::string& labels = "") {
    const std::string page = MetricsPage();
    double sum = 0;
    for (std::size_t at = 0; at < page.size();) {
      const std::size_t end = page.find('\n', at);
      const std::string line = page.substr(at, end - at);
      at = end + 1;
      const bool ours = line.starts_with(name + "{") || line.starts_with(name + " ");
      if (ours && line.find(labels) != std::string::npos)
        sum += std::stod(line.substr(line.rfind(' ') + 1));
    }
    return sum;
  }

  static std::string KeyOf(const std::string& who) { return "key-of-" + who; }

  Config config_;
  MemoryDisk disk_;
  std::vector<std::string> log_;
  int warnings_ = 0;  // of these
  std::unique_ptr<VirtualScheduler> scheduler_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<Replica> replica_;
  std::unique_ptr<Metrics> metrics_;

 private:
  static Credentials Known() {
    Credentials credentials;
    const auto add = [&](const std::string& name, const std::string& tenant,
                         std::vector<std::string> scopes) {
      credentials.Add(
          {name, tenant, name, std::move(scopes), Hex(Bytes(Sha256(KeyOf(name)))), 0, false});
    };
    add("acme", "acme", {"runs", "claims"});
    add("globex", "globex", {"runs", "claims"});
    add("admin", "operators", {"admin"});
    add("claims-only", "acme", {"claims"});
    return credentials;
  }

  // Timers of the process before must never fire into the new one, so each process has its own
  // scheduler; the calendar is what they share.
  void Boot() {
    const std::int64_t wall_ms = scheduler_ ? scheduler_->WallMillis() : 1'700'000'000'000;
    api_.reset();
    replica_.reset();
    store_.reset();
    metrics_ = std::make_unique<Metrics>(config_.limits.metric_label_values_max);
    scheduler_ = std::make_unique<VirtualScheduler>(wall_ms);
    store_ = std::make_unique<MemoryStore>(disk_, *scheduler_);
    replica_ = std::make_unique<Replica>(
        World{*scheduler_, *store_, [this] { return random_.Next(); }}, config_, *metrics_);
    api_ = std::make_unique<Api>(
        *replica_, config_, Known(), *metrics_,
        [this](Severity severity, std::string_view event, std::string_view detail) {
          if (severity == Severity::kWarning) ++warnings_;
          log_.push_back(std::string(event) + " " + std::string(detail));
        });
    replica_->Start([](bool started) { EXPECT_TRUE(started); });
    RunUntilIdle();
  }

  Random random_{42};
  std::string who_ = "acme";
  std::unique_ptr<MemoryStore> store_;
};

inline constexpr const char* kReplayHeader = "openwop-Idempotent-Replay";
inline constexpr const char* kNoop = R"({"workflowId":"noop"})";

}  // namespace once
