// The closed loop: one thread, one epoll set, a fixed number of connections with one request in
// flight on each. With a rate, requests start when they are due instead. It is the same code for
// every protocol, so what differs between two results is the system under load.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/bench/histogram.h"
#include "tests/bench/phase.h"

namespace once::load {

struct Limits {
  std::size_t connections = 1;
  double seconds = 0;            ///< how long to measure; not used when `requests` is given
  double warm_up_seconds = 0;    ///< load before the measurement starts
  std::uint64_t requests = 0;    ///< how many requests, all measured; 0: as many as fit
  std::uint64_t population = 0;  ///< as in Workload
  double rate = 0;               ///< requests started per second; 0: the next follows the answer
};

struct Measurement {
  double seconds = 0;
  std::uint64_t unexpected = 0;  ///< answers that `accept` refused; not in the histogram
  std::string first_unexpected;  ///< the first of them, as received
  Histogram latency;             ///< from when a request was due to start to the end of its answer
};

/// Opens the connections to `host`:`port`, runs the phase within the limits and closes them.
/// Throws std::runtime_error when a connection fails or ends, an opening is refused, the protocol
/// is broken, or nothing is answered for 30 seconds.
Measurement Run(const std::string& host, const std::string& port, ParseReply parse,
                const Phase& phase, const Limits& limits);

}  // namespace once::load
