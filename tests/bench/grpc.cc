#include "tests/bench/grpc.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace once::load {
namespace {

constexpr std::size_t kFrameHead = 9;
constexpr std::size_t kMessageHead = 5;  // not compressed, length
constexpr char kData = 0, kHeaders = 1, kReset = 3, kSettings = 4, kGoAway = 7, kWindowUpdate = 8;
constexpr char kEndStream = 1, kAcknowledge = 1, kEndHeaders = 4;

std::string Big(std::uint64_t value, int bytes) {
  std::string out;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    out += static_cast<char>(value >> shift & 0xff);
  return out;
}

std::uint64_t ReadBig(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

std::string Frame(char type, char flags, std::uint32_t stream, std::string_view payload) {
  return Big(payload.size(), 3) + type + flags + Big(stream, 4) + std::string(payload);
}

// HPACK (RFC 7541): a literal that is put into the table, with a name that may be in it already.
std::string Remembered(int name, std::string_view value) {
  return std::string{static_cast<char>(0x40 | name), static_cast<char>(value.size())} +
         std::string(value);
}

std::string Message(std::uint32_t stream, std::string_view message) {
  return Frame(kData, kEndStream, stream, '\0' + Big(message.size(), 4) + std::string(message));
}

std::string Varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}

std::uint64_t TakeVarint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (int shift = 0; !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes[0]);
    bytes.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  throw std::runtime_error("a protobuf message ends in the middle");
}

}  // namespace

GrpcMethod::GrpcMethod(const std::string& path, const std::string& authority) {
  const std::string fixed = "\x83\x86";  // :method POST, :scheme http
  const std::string te = std::string("\x40\x02te", 4) + '\x08' + "trailers";
  first_headers_ = fixed + Remembered(4, path) + Remembered(1, authority) +
                   Remembered(31, "application/grpc") + te;
  later_headers_ = fixed + "\xc1\xc0\xbf\xbe";  // the same four, by their places in the table
}

std::string GrpcMethod::Open(std::string_view message) const {
  constexpr std::uint32_t kWindow = 0x7fff0000;  // never to be thought of again
  return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(kSettings, 0, 0, "") +
         Frame(kSettings, kAcknowledge, 0, "") + Frame(kWindowUpdate, 0, 0, Big(kWindow, 4)) +
         Frame(kHeaders, kEndHeaders, 1, first_headers_) + Message(1, message);
}

std::string GrpcMethod::Call(std::string_view message) const {
  return Frame(kHeaders, kEndHeaders, 0, later_headers_) + Message(0, message);
}

void GrpcMethod::Number(std::uint64_t ordinal, std::string* call) {
  const std::string stream = Big(2 * ordinal + 3, 4);
  const std::size_t headers = kFrameHead + ReadBig(std::string_view(*call).substr(0, 3));
  call->replace(kFrameHead - 4, 4, stream);
  call->replace(headers + kFrameHead - 4, 4, stream);
}

Reply ParseGrpc(std::string_view input) {
  Reply reply;
  bool ended = false;
  std::size_t at = 0;
  while (input.size() - at >= kFrameHead) {
    const std::size_t bytes = ReadBig(input.substr(at, 3));
    if (input.size() - at - kFrameHead < bytes) break;
    const char type = input[at + 3];
    const char flags = input[at + 4];
    const std::string_view payload = input.substr(at + kFrameHead, bytes);
    // A server that answered before it saw the end of the request adds a reset without an error.
    const bool reset = type == kReset && ReadBig(payload) != 0;
    if (type == kGoAway || reset)
      throw std::runtime_error(
          (reset ? "the server ended a call, error " : "the server ended the connection, error ") +
          std::to_string(ReadBig(payload.substr(reset ? 0 : 4, 4))));
    if (type == kData && bytes >= kMessageHead) reply.body = payload.substr(kMessageHead);
    if ((type == kData || type == kHeaders) && (flags & kEndStream)) ended = true;
    at += kFrameHead + bytes;
  }
  if (ended && at == input.size()) reply.bytes = at;
  return reply;
}

std::string BytesField(int number, std::string_view value) {
  return Varint(static_cast<unsigned>(number) << 3 | 2) + Varint(value.size()) + std::string(value);
}

std::string NumberField(int number, std::uint64_t value) {
  return Varint(static_cast<unsigned>(number) << 3) + Varint(value);
}

std::uint64_t FindNumber(std::string_view message, int number) {
  std::uint64_t found = 0;
  while (!message.empty()) {
    const std::uint64_t tag = TakeVarint(message);
    const std::uint64_t value = TakeVarint(message);  // or the length
    if ((tag & 7) == 2) message.remove_prefix(std::min<std::size_t>(value, message.size()));
    if ((tag & 7) == 0 && tag >> 3 == static_cast<unsigned>(number)) found = value;
  }
  return found;
}

}  // namespace once::load
