// What the connections of one listener share: who is there, how many may be, and a coarse clock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "replica/api/http.h"
#include "replica/io/send_ring.h"
#include "replica/limits.h"

namespace once {

struct HttpCounters {
  std::uint64_t accepted = 0;      // connections taken from the kernel, refused ones included
  std::uint64_t refused = 0;       // over a limit on connections, all bodies or all answers
  std::uint64_t open = 0;          // now
  std::uint64_t bodies_bytes = 0;  // now: of requests whose bodies are still arriving
  std::uint64_t unsent_bytes = 0;  // now: of answers and events that clients have not taken
  std::uint64_t bad_requests = 0;  // answered by the listener because they could not be served
  std::uint64_t timeouts = 0;      // a started request, handshake or answer that took too long
};

/// One connection, seen by the listener. Every call may remove the session from its table, so the
/// caller holds a reference of its own. Deadlines run on the table's clock.
class HttpSession {
 public:
  virtual ~HttpSession() = default;
  virtual void Start() = 0;
  /// Instead of Start: says 503 and closes.
  virtual void StartRefused() = 0;
  /// Acts on a deadline that has passed.
  virtual void Sweep() = 0;
  /// The answers that were gathered and are to be sent now; empty if they have gone already.
  virtual std::string_view TakeUp() = 0;
  /// What came of sending that, as in SendRing.
  virtual void Sent(int result) = 0;
  virtual int socket_handle() = 0;
  /// Reads on, after that.
  virtual void Resume() = 0;
  /// Closes after the current answer; when there is none, after that to a request that begins
  /// within stop_grace_ms. A stream is ended.
  virtual void Finish() = 0;
  /// Closes now.
  virtual void Abort() = 0;

 private:
  friend class HttpConnections;
  std::string address_;
  bool refused_ = false;
  std::list<std::shared_ptr<HttpSession>>::iterator place_;
};

class HttpConnections {
 public:
  static constexpr std::int64_t kSweepMs = 250;
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  enum class Admission { kServe, kRefuse, kDrop };

  HttpConnections(const Limits& limits, HttpService& service) : limits(limits), service(service) {}

  /// Counts an accepted connection. kRefuse: over a limit, one of the few that are told so; kDrop:
  /// too many of those. Whoever is not dropped must be added.
  Admission Admit(const std::string& address);
  void Add(std::shared_ptr<HttpSession> session, std::string address, Admission admission);
  void Remove(HttpSession& session);

  /// Sets the clock and lets every session look at its deadline.
  void Sweep(std::int64_t monotonic_ms, std::int64_t unix_seconds);
  /// No answer keeps its connection alive from now on.
  void Finish();
  /// Calls `empty` once, when there is no connection: now, perhaps.
  void WhenEmpty(std::function<void()> empty);
  void Abort();

  /// Counts `wanted` bytes of an arriving body instead of `held`, unless all of them together would
  /// then exceed the bound.
  bool HoldBody(std::size_t& held, std::size_t wanted);
  void LetBodyGo(std::size_t& held);

  /// Notes that `session` has an answer to send. True for the first since the last FlushGathered:
  /// the caller sees to it that one follows when the event loop has handled what it holds. Sent
  /// together, answers wake a client once; sent one by one, each may wake it anew. Its session
  /// reads on only when all are sent: the first clients have then said what is next, and reading
  /// earlier would mostly find nothing.
  bool Gather(std::shared_ptr<HttpSession> session);
  void FlushGathered();

  /// The end of a span that starts now; late by at most two sweeps, never early.
  std::int64_t DeadlineIn(std::int64_t span_ms) const { return now_ms_ + kSweepMs + span_ms; }
  bool Passed(std::int64_t deadline_ms) const { return now_ms_ >= deadline_ms; }
  const std::string& date() const { return date_; }
  bool finishing() const { return finishing_; }

  const Limits& limits;
  HttpService& service;
  HttpCounters counters;
  /// Where bytes go that nobody wants; shared, because nobody reads them.
  std::array<char, 16 * 1024> waste;

 private:
  template <class Action>
  void ForEach(Action action);

  std::list<std::shared_ptr<HttpSession>> sessions_;
  std::vector<std::shared_ptr<HttpSession>> gathered_;
  SendRing send_ring_;
  std::unordered_map<std::string, std::size_t> per_address_;  // served ones only
  std::size_t served_ = 0;
  std::size_t refusing_ = 0;
  std::int64_t now_ms_ = 0;
  std::int64_t unix_seconds_ = -1;
  std::string date_;
  bool finishing_ = false;
  std::function<void()> on_empty_;
};

}  // namespace once
