// A TCP connection with at most one request in flight.
#pragma once

#include <cstdint>
#include <string>

#include "tests/bench/phase.h"

namespace once::load {

class Connection {
 public:
  /// Connects, waiting for it. Throws std::runtime_error on failure.
  Connection(const std::string& host, const std::string& port);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Sends all of `request`, waiting if the socket is full, which one request in flight does not
  /// make it.
  void Send(const std::string& request);

  /// Reads what has arrived without waiting; returns an incomplete Reply when more is to come. The
  /// reply's views are valid until the next call on any connection. Throws std::runtime_error when
  /// the peer closed or sent more than the answer.
  Reply Receive(ParseReply parse);

  /// Send, then wait for the whole answer.
  Reply Exchange(const std::string& request, ParseReply parse);

  int Descriptor() const { return descriptor_; }

  std::uint64_t index = 0;      ///< of the request in flight
  std::int64_t started_ns = 0;  ///< when that request was begun
  std::uint64_t begun = 0;      ///< requests, without the opening

 private:
  int descriptor_ = -1;
  std::string partial_;  // the first part of an answer that came in pieces
  bool complete_ = false;
};

}  // namespace once::load
