#include "tests/bench/loop.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <stdexcept>

#include "replica/env/random.h"
#include "tests/bench/connection.h"

namespace once::load {
namespace {

constexpr std::int64_t kPatienceNs = 30'000'000'000;

std::int64_t NowNs() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

class Loop {
 public:
  Loop(ParseReply parse, const Phase& phase, const Limits& limits)
      : parse_(parse), phase_(phase), limits_(limits), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    if (epoll_ < 0) throw std::runtime_error("epoll_create1 failed");
  }
  ~Loop() { close(epoll_); }

  void Open(const std::string& host, const std::string& port);
  Measurement Run();

 private:
  bool Wanted(std::int64_t now_ns) const {
    return limits_.requests > 0 ? issued_ < limits_.requests : now_ns < end_ns_;
  }
  /// When the next request is to start; now or earlier without a rate.
  std::int64_t DueNs() const {
    return limits_.rate > 0 ? start_ns_ + static_cast<std::int64_t>(issued_ * 1e9 / limits_.rate)
                            : start_ns_;
  }
  void BeginDue();
  void Begin(Connection* connection, std::int64_t now_ns);
  void OnReadable(Connection* connection);
  void Record(const Connection& connection, const Reply& reply, std::int64_t now_ns);

  const ParseReply parse_;
  const Phase& phase_;
  const Limits limits_;
  const int epoll_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<Connection*> idle_;
  Random random_{0};
  std::string request_;
  std::uint64_t issued_ = 0;
  std::size_t in_flight_ = 0;
  std::int64_t start_ns_ = 0;
  std::int64_t begin_ns_ = 0;
  std::int64_t end_ns_ = 0;
  std::int64_t last_reply_ns_ = 0;
  Measurement measurement_;
};

void Loop::Open(const std::string& host, const std::string& port) {
  for (std::size_t count = 0; count < limits_.connections; ++count) {
    auto connection = std::make_unique<Connection>(host, port);
    for (const std::string& request : phase_.opening) {
      const Reply reply = connection->Exchange(request, parse_);
      if (reply.error) throw std::runtime_error("refused: " + std::string(reply.head));
    }
    epoll_event interest{EPOLLIN, {.ptr = connection.get()}};
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, connection->Descriptor(), &interest) < 0) {
      throw std::runtime_error("epoll_ctl failed");
    }
    connections_.push_back(std::move(connection));
  }
}

Measurement Loop::Run() {
  start_ns_ = NowNs();
  const double warm_up_seconds = limits_.requests > 0 ? 0 : limits_.warm_up_seconds;
  begin_ns_ = start_ns_ + static_cast<std::int64_t>(warm_up_seconds * 1e9);
  end_ns_ = begin_ns_ + static_cast<std::int64_t>(limits_.seconds * 1e9);
  last_reply_ns_ = start_ns_;
  for (const auto& connection : connections_) idle_.push_back(connection.get());
  std::array<epoll_event, 256> events;
  for (BeginDue(); in_flight_ > 0 || Wanted(NowNs()); BeginDue()) {
    const bool waits = !idle_.empty() && Wanted(NowNs());  // for the next request to be due
    const int ready = epoll_wait(epoll_, events.data(), events.size(), waits ? 1 : 1'000);
    if (ready < 0 && errno != EINTR) throw std::runtime_error("epoll_wait failed");
    if (ready <= 0 && NowNs() - last_reply_ns_ > kPatienceNs) {
      throw std::runtime_error("no answer for 30 seconds");
    }
    for (int at = 0; at < ready; ++at) OnReadable(static_cast<Connection*>(events[at].data.ptr));
  }
  const std::int64_t stop_ns = limits_.requests > 0 ? last_reply_ns_ : end_ns_;
  measurement_.seconds = static_cast<double>(stop_ns - begin_ns_) / 1e9;
  return std::move(measurement_);
}

void Loop::BeginDue() {
  for (std::int64_t now_ns = NowNs(); !idle_.empty() && Wanted(now_ns) && DueNs() <= now_ns;
       now_ns = NowNs()) {
    Connection* const connection = idle_.back();
    idle_.pop_back();
    // A request that had to wait for a free connection has been waiting since it was due.
    Begin(connection, limits_.rate > 0 ? DueNs() : now_ns);
  }
}

void Loop::Begin(Connection* connection, std::int64_t now_ns) {
  connection->index = limits_.population > 0 ? random_.Below(limits_.population) : issued_;
  connection->started_ns = now_ns;
  phase_.write(connection->index, &request_);
  if (phase_.number) phase_.number(connection->begun, &request_);
  ++connection->begun;
  connection->Send(request_);
  ++issued_;
  ++in_flight_;
}

void Loop::OnReadable(Connection* connection) {
  const Reply reply = connection->Receive(parse_);
  if (reply.bytes == 0) return;
  const std::int64_t now_ns = NowNs();
  last_reply_ns_ = now_ns;
  --in_flight_;
  Record(*connection, reply, now_ns);
  idle_.push_back(connection);
  BeginDue();
}

void Loop::Record(const Connection& connection, const Reply& reply, std::int64_t now_ns) {
  if (!phase_.accept(connection.index, reply)) {
    if (measurement_.unexpected++ == 0) {
      measurement_.first_unexpected = std::string(reply.head) + " " + std::string(reply.body);
    }
    return;
  }
  const bool in_time = limits_.requests > 0 || (now_ns >= begin_ns_ && now_ns < end_ns_);
  if (in_time) measurement_.latency.Record(now_ns - connection.started_ns);
}

}  // namespace

Measurement Run(const std::string& host, const std::string& port, ParseReply parse,
                const Phase& phase, const Limits& limits) {
  Loop loop(parse, phase, limits);
  loop.Open(host, port);
  return loop.Run();
}

}  // namespace once::load
