#include "replica/io/http_request_reader.h"

#include <algorithm>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <cstdint>
#include <limits>
#include <optional>

namespace once {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr std::size_t kBufferBytes = 8 * 1024;
constexpr std::size_t kBodyStepBytes = 64 * 1024;
// The end of a chunked body, the shortest thing that can be missing. Beast asserts on less.
constexpr std::size_t kLastChunkBytes = 5;

HttpFault Invalid(std::string_view message) {
  return {400, "validation_error", message};
}

HttpFault FaultOf(beast::error_code error) {
  if (error == http::error::body_limit)
    return {413, "payload_too_large", "the body is larger than this server accepts"};
  if (error == http::error::bad_method) return Invalid("malformed method");
  if (error == http::error::bad_target) return Invalid("malformed request target");
  if (error == http::error::bad_version) return Invalid("malformed request line or HTTP version");
  if (error == http::error::bad_field) return Invalid("malformed header name");
  if (error == http::error::bad_value) return Invalid("malformed header value");
  if (error == http::error::bad_line_ending) return Invalid("lines must end with CRLF");
  if (error == http::error::bad_content_length || error == http::error::multiple_content_length)
    return Invalid("bad Content-Length");
  if (error == http::error::bad_transfer_encoding) return Invalid("bad Transfer-Encoding");
  if (error == http::error::bad_chunk || error == http::error::bad_chunk_extension)
    return Invalid("malformed chunk");
  return Invalid("malformed request");
}

/// A part of the head by place, because the buffer moves while the head is incomplete.
struct Place {
  std::size_t offset = 0;
  std::size_t size = 0;
  std::string_view In(std::string_view head) const { return head.substr(offset, size); }
};

/// Beast's push parser, without the field container it would fill: it notes where things are and
/// counts what decides framing.
class HeadParser final : public http::basic_parser<true> {
 public:
  struct Notes {
    Place method, target;
    std::vector<std::pair<Place, Place>> fields;
    Place host;
    int hosts = 0, lengths = 0, codings = 0, version = 0;
    bool expects_continue = false;
    std::optional<HttpFault> fault;
    std::string* body = nullptr;  // of a chunked request
  };

  explicit HeadParser(Notes& notes) : notes_(notes) {}

  /// Where the bytes given to put() lie; offsets count from there.
  void set_window(std::string_view window) { window_ = window; }

 private:
  using string_view = beast::string_view;
  using error_code = beast::error_code;

  Place PlaceOf(string_view text) const {
    return {static_cast<std::size_t>(text.data() - window_.data()), text.size()};
  }
  bool Inside(string_view text) const {
    return text.data() >= window_.data() && text.data() <= window_.data() + window_.size();
  }
  void Refuse(HttpFault fault, error_code& ec) {
    notes_.fault = fault;
    ec = http::error::bad_field;
  }

  void on_request_impl(http::verb, string_view method, string_view target, int version,
                       error_code&) override {
    notes_.method = PlaceOf(method);
    notes_.target = PlaceOf(target);
    notes_.version = version;
  }

  void on_field_impl(http::field field, string_view name, string_view value,
                     error_code& ec) override {
    if (is_header_done()) return;  // a trailer
    // Beast joins folded lines: into a buffer of its own, or by starting the value on a later line.
    if (!Inside(value) || std::find(name.end(), value.begin(), '\r') != value.begin())
      return Refuse(Invalid("folded header lines are not accepted"), ec);
    notes_.fields.emplace_back(PlaceOf(name), PlaceOf(value));
    NoteFraming(field, value, ec);
  }

  void NoteFraming(http::field field, string_view value, error_code& ec) {
    switch (field) {
      case http::field::host:
        notes_.host = PlaceOf(value);
        if (++notes_.hosts > 1) Refuse(Invalid("more than one Host"), ec);
        break;
      case http::field::content_length:
        if (++notes_.lengths > 1 || value.find(',') != string_view::npos)
          Refuse(Invalid("more than one Content-Length"), ec);
        break;
      case http::field::transfer_encoding:
        if (++notes_.codings > 1) Refuse(Invalid("more than one Transfer-Encoding"), ec);
        if (!beast::iequals(value, "chunked"))
          Refuse({501, "not_implemented", "the only transfer coding is chunked"}, ec);
        break;
      case http::field::expect:
        if (!beast::iequals(value, "100-continue"))
          Refuse({417, "expectation_failed", "the only expectation is 100-continue"}, ec);
        notes_.expects_continue = true;
        break;
      default:
        break;
    }
  }

  std::size_t on_chunk_body_impl(std::uint64_t, string_view bytes, error_code&) override {
    notes_.body->append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_chunk_header_impl(std::uint64_t, string_view extensions, error_code& ec) override {
    if (!extensions.empty()) Refuse(Invalid("chunk extensions are not accepted"), ec);
  }

  void on_response_impl(int, string_view, int, error_code&) override {}
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(boost::optional<std::uint64_t> const&, error_code&) override {}
  // Bodies with a length are taken from the buffer without the parser.
  std::size_t on_body_impl(string_view bytes, error_code&) override { return bytes.size(); }
  void on_finish_impl(error_code&) override {}

  Notes& notes_;
  std::string_view window_;
};

/// True when `text[from..]` holds what no head may hold. Beast stops looking until the end of the
/// head once it has seen a part of it; this answers garbage at once instead of by deadline.
bool HasStrayControl(std::string_view text, std::size_t from) {
  for (std::size_t i = from; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '\n') {
      if (i == 0 || text[i - 1] != '\r') return true;
    } else if (c == '\r') {
      if (i + 1 < text.size() && text[i + 1] != '\n') return true;
    } else if ((c < 0x20 && c != '\t') || c == 0x7f) {
      return true;
    }
  }
  return false;
}

bool IsPlainTarget(std::string_view target) {
  return std::all_of(target.begin(), target.end(),
                     [](char c) { return c > 0x20 && c < 0x7f && c != '#'; });
}

bool IsHost(std::string_view host) {
  return host.find_first_of(" \t/?#@\\,\"<>") == std::string_view::npos &&
         std::all_of(host.begin(), host.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

class RequestReader::Impl {
 public:
  explicit Impl(const Limits& limits) : limits_(limits) {
    buffer_.reserve(kBufferBytes);
    Begin();
  }

  std::span<char> Space() {
    const auto room = buffer_.prepare(SpaceWanted());
    return {static_cast<char*>(room.data()), room.size()};
  }
  void Commit(std::size_t bytes) { buffer_.commit(bytes); }

  Step Read() {
    if (stage_ != Stage::kBody) return ReadHead();
    return parser_->chunked() ? ReadChunks() : ReadBody();
  }

  void Next() {
    buffer_.consume(chunked_ ? parsed_ : parsed_ + body_bytes_);
    if (buffer_.size() == 0 && buffer_.capacity() > kBodyStepBytes) {
      buffer_.shrink_to_fit();
      buffer_.reserve(kBufferBytes);
    }
    Begin();
  }

  bool TakeContinue() {
    const bool waits = stage_ == Stage::kBody && notes_.expects_continue && notes_.version >= 11 &&
                       buffer_.size() == parsed_;
    if (stage_ == Stage::kBody) notes_.expects_continue = false;
    return waits;
  }

  Stage stage() const { return stage_; }
  std::size_t held_bytes() const { return buffer_.size() + chunks_.size() + SpaceWanted(); }
  const HttpRequest& request() const { return request_; }
  bool keep_alive() const { return parser_->keep_alive(); }
  bool http_1_0() const { return notes_.version == 10; }
  const HttpFault& fault() const { return *notes_.fault; }

 private:
  std::string_view Buffered() const {
    return {static_cast<const char*>(buffer_.cdata().data()), buffer_.size()};
  }

  void Begin() {
    notes_.fields.clear();
    notes_.hosts = notes_.lengths = notes_.codings = notes_.version = 0;
    notes_.expects_continue = false;
    notes_.body = &chunks_;
    if (chunks_.capacity() > kBodyStepBytes) chunks_ = {};
    chunks_.clear();
    parsed_ = scanned_ = body_bytes_ = 0;
    chunked_ = line_skipped_ = false;
    stage_ = Stage::kIdle;
    parser_.emplace(notes_);
    // The bounds on the head are ours: Beast counts only what it has not yet consumed.
    parser_->header_limit(std::numeric_limits<std::uint32_t>::max());
    parser_->body_limit(limits_.body_bytes_max);
  }

  std::size_t SpaceWanted() const {
    const std::size_t held = buffer_.size();
    if (stage_ == Stage::kBody && !chunked_)
      return std::clamp<std::size_t>(parsed_ + body_bytes_ - held, 1, kBodyStepBytes);
    if (stage_ == Stage::kBody) return kBodyStepBytes;
    if (held < kBufferBytes) return kBufferBytes - held;
    return std::max(limits_.header_bytes_max, held + 1) - held;
  }

  Step Fail(HttpFault fault) {
    notes_.fault = fault;
    return Step::kFault;
  }

  Step ReadHead() {
    SkipEmptyLine();
    const std::string_view bytes = Buffered();
    if (bytes.empty()) return Step::kNeedMore;
    stage_ = Stage::kHead;
    if (bytes == "\r" && !line_skipped_) return Step::kNeedMore;

    beast::error_code error;
    parser_->set_window(bytes);
    parsed_ += parser_->put({bytes.data() + parsed_, bytes.size() - parsed_}, error);
    const bool incomplete = error == http::error::need_more;
    if (notes_.fault) return Step::kFault;
    if ((incomplete ? bytes.size() : parsed_) >= limits_.header_bytes_max + !incomplete)
      return Fail({431, "header_too_large", "the head is larger than this server accepts"});
    if (incomplete) {
      if (HasStrayControl(bytes, scanned_)) return Fail(Invalid("malformed request head"));
      scanned_ = bytes.size() - 1;
      return Step::kNeedMore;
    }
    if (error) return Fail(FaultOf(error));
    return EndHead(bytes);
  }

  void SkipEmptyLine() {
    if (parsed_ != 0 || line_skipped_ || !Buffered().starts_with("\r\n")) return;
    buffer_.consume(2);
    line_skipped_ = true;
  }

  Step EndHead(std::string_view bytes) {
    if (const auto fault = CheckHead(bytes)) return Fail(*fault);
    stage_ = Stage::kBody;
    if (!parser_->chunked()) {
      body_bytes_ = static_cast<std::size_t>(parser_->content_length().value_or(0));
      return ReadBody();
    }
    // Chunks are taken out of the buffer as they come, so the head must not stay in it.
    chunked_ = true;
    head_.assign(bytes.substr(0, parsed_));
    buffer_.consume(parsed_);
    parsed_ = 0;
    parser_->eager(true);
    return ReadChunks();
  }

  std::optional<HttpFault> CheckHead(std::string_view head) {
    const std::string_view method = notes_.method.In(head);
    const std::string_view host = notes_.hosts ? notes_.host.In(head) : std::string_view();
    if (method.size() > kMethodBytesMax) return Invalid("the method is too long");
    if (std::any_of(method.begin(), method.end(), [](char c) { return c >= 'a' && c <= 'z'; }))
      return Invalid("methods are upper case");
    if (notes_.version >= 11 && notes_.hosts == 0) return Invalid("Host is missing");
    if (!IsHost(host)) return Invalid("malformed Host");
    if (notes_.version < 11 && notes_.codings > 0)
      return Invalid("HTTP/1.0 has no Transfer-Encoding");
    return CheckTarget(method, notes_.target.In(head), host);
  }

  /// Leaves the path and query in target_.
  std::optional<HttpFault> CheckTarget(std::string_view method, std::string_view target,
                                       std::string_view host) {
    if (!IsPlainTarget(target)) return Invalid("malformed request target");
    if (target.front() == '/' || (target == "*" && method == "OPTIONS")) return std::nullopt;
    std::size_t skip = 0;
    for (const std::string_view scheme : {"http://", "https://"})
      if (beast::iequals(beast::string_view(target.substr(0, scheme.size())),
                         beast::string_view(scheme)))
        skip = scheme.size();
    if (skip == 0) return Invalid("the request target must be a path");
    const std::size_t path = target.find('/', skip);
    if (path == std::string_view::npos) return Invalid("the request target has no path");
    if (!beast::iequals(beast::string_view(target.substr(skip, path - skip)),
                        beast::string_view(host)))
      return Invalid("the request target names another host than Host");
    notes_.target.offset += path;
    notes_.target.size -= path;
    return std::nullopt;
  }

  Step ReadBody() {
    const std::string_view bytes = Buffered();
    if (bytes.size() - parsed_ < body_bytes_) return Step::kNeedMore;
    return Complete(bytes, bytes.substr(parsed_, body_bytes_));
  }

  Step ReadChunks() {
    const std::string_view bytes = Buffered();
    if (bytes.size() < kLastChunkBytes) return Step::kNeedMore;
    beast::error_code error;
    buffer_.consume(parser_->put({bytes.data(), bytes.size()}, error));
    if (notes_.fault) return Step::kFault;
    if (error && error != http::error::need_more) return Fail(FaultOf(error));
    if (parser_->is_done()) return Complete(head_, chunks_);
    if (error && buffer_.size() > limits_.header_bytes_max)
      return Fail(Invalid("a chunk line or the trailers are too long"));
    return Step::kNeedMore;
  }

  Step Complete(std::string_view head, std::string_view body) {
    request_.method = notes_.method.In(head);
    request_.target = notes_.target.In(head);
    request_.headers.clear();
    for (const auto& [name, value] : notes_.fields)
      request_.headers.emplace_back(name.In(head), value.In(head));
    request_.body = body;
    return Step::kRequest;
  }

  const Limits& limits_;
  beast::flat_buffer buffer_;  // from the first byte of the current request
  HeadParser::Notes notes_;
  std::optional<HeadParser> parser_;
  Stage stage_ = Stage::kIdle;
  std::size_t parsed_ = 0;      // bytes of the buffer that the parser took
  std::size_t scanned_ = 0;     // bytes of an incomplete head that HasStrayControl saw
  std::size_t body_bytes_ = 0;  // by Content-Length
  bool chunked_ = false;
  bool line_skipped_ = false;
  std::string head_;    // of a chunked request
  std::string chunks_;  // its body
  HttpRequest request_;
};

RequestReader::RequestReader(const Limits& limits) : impl_(std::make_unique<Impl>(limits)) {}
RequestReader::~RequestReader() = default;

std::span<char> RequestReader::Space() {
  return impl_->Space();
}
void RequestReader::Commit(std::size_t bytes) {
  impl_->Commit(bytes);
}
RequestReader::Step RequestReader::Read() {
  return impl_->Read();
}
RequestReader::Stage RequestReader::stage() const {
  return impl_->stage();
}
std::size_t RequestReader::held_bytes() const {
  return impl_->held_bytes();
}
bool RequestReader::TakeContinue() {
  return impl_->TakeContinue();
}
const HttpRequest& RequestReader::request() const {
  return impl_->request();
}
bool RequestReader::keep_alive() const {
  return impl_->keep_alive();
}
bool RequestReader::http_1_0() const {
  return impl_->http_1_0();
}
const HttpFault& RequestReader::fault() const {
  return impl_->fault();
}
void RequestReader::Next() {
  impl_->Next();
}

}  // namespace once
