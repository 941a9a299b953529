// One unary gRPC call at a time on an HTTP/2 connection, as bytes: what a call costs this client is
// a copy and eight bytes, so that what differs between two systems is not their client library.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/bench/phase.h"

namespace once::load {

/// Calls of one method with messages of one size. The headers of the first call on a connection
/// are put into HPACK's table; later calls refer to them.
class GrpcMethod {
 public:
  /// `path` as in "/etcdserverpb.KV/Txn".
  GrpcMethod(const std::string& path, const std::string& authority);

  /// What a new connection begins with: preface, settings, and a call with `message`.
  std::string Open(std::string_view message) const;
  /// A later call; its stream is still to be numbered.
  std::string Call(std::string_view message) const;
  /// Makes `call` the one with that ordinal on its connection, from 0 on, after Open.
  static void Number(std::uint64_t ordinal, std::string* call);

 private:
  std::string first_headers_;
  std::string later_headers_;
};

/// The answer's message as the body, empty when the call failed. Complete when the stream has ended
/// and no part of another frame is there.
Reply ParseGrpc(std::string_view input);

/// Protobuf, written by hand: field numbers and values.
std::string BytesField(int number, std::string_view value);
std::string NumberField(int number, std::uint64_t value);
/// The last varint with that number at the top of a message; 0 when there is none.
std::uint64_t FindNumber(std::string_view message, int number);

}  // namespace once::load
