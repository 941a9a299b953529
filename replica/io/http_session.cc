#include "replica/io/http_session.h"

#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <optional>
#include <type_traits>
#include <utility>

#include "replica/env/check.h"
#include "replica/io/http_answer.h"
#include "replica/io/http_request_reader.h"
#include "replica/io/outgoing_bytes.h"

namespace once {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
// The executor by type: the type-erased default costs an indirect call and a copy per operation.
using Socket = asio::basic_stream_socket<asio::ip::tcp, asio::io_context::executor_type>;
using TlsStream = asio::ssl::stream<Socket>;

constexpr std::size_t kSmallBytesMax = 16 * 1024;

template <class Stream>
class Session final : public HttpSession,
                      public EventSink,
                      public std::enable_shared_from_this<Session<Stream>> {
 public:
  template <class... Args>
  explicit Session(std::shared_ptr<HttpConnections> connections, Args&&... args)
      : connections_(std::move(connections)),
        stream_(std::forward<Args>(args)...),
        reader_(connections_->limits),
        out_(connections_->counters.unsent_bytes) {}

  void Start() override;
  void StartRefused() override;
  void Sweep() override;
  std::string_view TakeUp() override {
    gathered_ = false;
    return phase_ == Phase::kClosed || out_.writing() ? std::string_view() : out_.next();
  }
  void Sent(int result) override {
    const error_code error(result < 0 ? -result : 0, boost::system::system_category());
    Took(error, error ? 0 : static_cast<std::size_t>(result));
  }
  int socket_handle() override { return socket().native_handle(); }
  void Resume() override {
    if (std::exchange(resumes_, false) && phase_ == Phase::kReading) StartRead();
  }
  void Finish() override;
  void Abort() override { Drop(); }

  bool Send(std::string_view bytes) override;
  void Close() override;

 private:
  static constexpr bool kPlain = std::is_same_v<Stream, Socket>;

  enum class Phase {
    kHandshake,
    kReading,    // a request, or waiting for one
    kServing,    // the service has it
    kAnswering,  // not all of the answer is sent
    kStreaming,
    kDraining,  // all said; waiting for the client to close
    kClosed,
  };

  Socket& socket() {
    if constexpr (kPlain)
      return stream_;
    else
      return stream_.next_layer();
  }
  const Limits& limits() const { return connections_->limits; }
  bool idle() const {
    return phase_ == Phase::kReading && reader_.stage() == RequestReader::Stage::kIdle;
  }
  void SetDeadline(std::int64_t span_ms) { deadline_ms_ = connections_->DeadlineIn(span_ms); }

  void Advance();
  void AwaitBytes();
  void StartRead();
  void OnRead(error_code error, std::size_t bytes);
  void OnUnwanted(error_code error, std::size_t bytes);

  void Serve();
  void Answer(std::uint64_t ticket, HttpReply reply);
  void Refuse(const HttpFault& fault);
  void Deliver();
  bool Gather();

  bool Push();
  bool Hold();
  bool Took(error_code error, std::size_t bytes);
  void SendRest() {
    const auto sent = [self = this->shared_from_this()](error_code error, std::size_t bytes) {
      self->OnSent(error, bytes);
    };
    stream_.async_write_some(asio::buffer(out_.next()), sent);
  }
  void OnSent(error_code error, std::size_t bytes);
  void EndAnswer() {
    if (!form_.keep_alive) return Drain();
    phase_ = Phase::kReading;
  }

  void EndIdle();
  void Drain();
  void DrainSocket() {
    error_code ignored;
    socket().shutdown(Socket::shutdown_send, ignored);
    AwaitEnd();
  }
  void AwaitEnd();
  void AwaitReset();
  void Drop();

  const std::shared_ptr<HttpConnections> connections_;
  Stream stream_;
  RequestReader reader_;
  Phase phase_ = kPlain ? Phase::kReading : Phase::kHandshake;
  std::int64_t deadline_ms_ = HttpConnections::kNever;
  std::optional<RequestReader::Stage> awaited_;  // what the deadline was set for

  std::uint64_t ticket_ = 0;  // of the request being served
  bool in_serve_ = false;     // an answer now would be inside Serve
  AnswerForm form_;
  std::function<void(std::shared_ptr<EventSink>)> on_stream_;

  OutgoingBytes out_;      // Push sends what was appended
  bool gathered_ = false;  // TakeUp and Resume will be called, once
  bool resumes_ = false;   // Resume starts the read
  std::size_t wasted_bytes_ = 0;
  std::size_t body_bytes_ = 0;  // of a request that is arriving, counted in connections_
};

template <class Stream>
void Session<Stream>::Start() {
  if constexpr (kPlain) {
    Advance();
  } else {
    SetDeadline(limits().header_deadline_ms);
    stream_.async_handshake(Stream::server, [self = this->shared_from_this()](error_code error) {
      if (self->phase_ == Phase::kClosed) return;
      if (error) return self->Drop();
      self->phase_ = Phase::kReading;
      self->Advance();
    });
  }
}

template <class Stream>
void Session<Stream>::StartRefused() {
  if (kPlain) return Refuse({503, "unavailable", "too many connections"});
  Drop();  // a handshake would cost more than the connection that was refused
}

template <class Stream>
void Session<Stream>::Sweep() {
  if (!connections_->Passed(deadline_ms_)) return;
  if (phase_ == Phase::kServing || phase_ == Phase::kClosed) return;
  if (idle()) return EndIdle();
  if (phase_ == Phase::kDraining) return Drop();
  ++connections_->counters.timeouts;
  if (phase_ != Phase::kReading) return Drop();
  Refuse({408, "request_timeout", "the request did not arrive in time"});
}

template <class Stream>
void Session<Stream>::Finish() {
  if (phase_ == Phase::kStreaming) return Close();
  if (idle() || phase_ == Phase::kHandshake) SetDeadline(limits().stop_grace_ms);
}

/// Half-closes a connection on which no request has begun. One that is on its way is read and
/// forgotten, as a socket that was closed would answer it with a reset.
template <class Stream>
void Session<Stream>::EndIdle() {
  if (!TakeUp().empty()) Push();
  if (phase_ == Phase::kClosed) return;
  if (out_.writing()) {  // the client has not taken all of the last answer
    phase_ = Phase::kAnswering;
    form_.keep_alive = false;
    return SetDeadline(limits().write_deadline_ms);
  }
  Drain();
  if (connections_->finishing()) SetDeadline(limits().stop_grace_ms);
}

/// Serves what is in the buffer, request by request, until bytes, the service or the client must be
/// waited for. A loop: answers given inside Serve must not nest.
template <class Stream>
void Session<Stream>::Advance() {
  while (phase_ == Phase::kReading) {
    switch (reader_.Read()) {
      case RequestReader::Step::kNeedMore:
        return AwaitBytes();
      case RequestReader::Step::kFault:
        ++connections_->counters.bad_requests;
        return Refuse(reader_.fault());
      case RequestReader::Step::kRequest:
        Serve();
    }
  }
}

template <class Stream>
void Session<Stream>::AwaitBytes() {
  const auto stage = reader_.stage();
  if (stage == RequestReader::Stage::kBody &&
      !connections_->HoldBody(body_bytes_, reader_.held_bytes())) {
    ++connections_->counters.refused;
    return Refuse({503, "unavailable", "too many requests are arriving"});
  }
  if (reader_.TakeContinue()) {
    out_.tail() += kContinue;
    Push();
    if (phase_ == Phase::kClosed) return;
  }
  if (awaited_ != stage) {
    awaited_ = stage;
    SetDeadline(stage == RequestReader::Stage::kBody   ? limits().body_deadline_ms
                : stage == RequestReader::Stage::kHead ? limits().header_deadline_ms
                : connections_->finishing()            ? limits().stop_grace_ms
                                                       : limits().idle_deadline_ms);
  }
  if (gathered_)
    resumes_ = true;
  else
    StartRead();
}

template <class Stream>
void Session<Stream>::StartRead() {
  const auto space = reader_.Space();
  stream_.async_read_some(asio::buffer(space.data(), space.size()),
                          [self = this->shared_from_this()](error_code error, std::size_t bytes) {
                            self->OnRead(error, bytes);
                          });
}

template <class Stream>
void Session<Stream>::OnRead(error_code error, std::size_t bytes) {
  if (phase_ != Phase::kReading) return;  // closed, or a 408 is being sent: nobody wants it
  if (error == asio::error::eof && reader_.stage() != RequestReader::Stage::kIdle) {
    ++connections_->counters.bad_requests;
    return Refuse({400, "validation_error", "the request ended early"});
  }
  if (error == asio::error::eof) return EndIdle();  // it may still read the last answers
  if (error) return Drop();
  reader_.Commit(bytes);
  Advance();
}

template <class Stream>
void Session<Stream>::Serve() {
  phase_ = Phase::kServing;
  awaited_.reset();
  deadline_ms_ = HttpConnections::kNever;
  const HttpRequest& request = reader_.request();
  form_ = {reader_.keep_alive(), reader_.http_1_0(), request.method == "HEAD"};
  in_serve_ = true;
  connections_->service.Serve(
      request, [self = this->shared_from_this(), ticket = ++ticket_](HttpReply reply) {
        self->Answer(ticket, std::move(reply));
      });
  in_serve_ = false;
  if (phase_ == Phase::kClosed) return;
  reader_.Next();
  connections_->LetBodyGo(body_bytes_);
  if (phase_ != Phase::kServing) Deliver();
}

template <class Stream>
void Session<Stream>::Answer(std::uint64_t ticket, HttpReply reply) {
  if (phase_ == Phase::kClosed) return;  // the client is gone; the work was done all the same
  Check(phase_ == Phase::kServing && ticket == ticket_, "a request is answered once");
  form_.keep_alive = form_.keep_alive && !connections_->finishing();
  if (reply.stream) form_.keep_alive = false;
  if (reply.stream && !form_.head_only) {
    phase_ = Phase::kStreaming;
    on_stream_ = std::move(reply.stream);
  } else {
    phase_ = Phase::kAnswering;
  }
  if (reply.stream || on_stream_)
    AppendStreamHead(reply, form_, connections_->date(), out_.tail());
  else
    AppendAnswer(reply, form_, connections_->date(), out_.tail());
  if (in_serve_) return;
  Deliver();
  Advance();
}

template <class Stream>
void Session<Stream>::Refuse(const HttpFault& fault) {
  phase_ = Phase::kAnswering;
  form_ = {.keep_alive = false};
  HttpReply reply = ErrorReply(fault.status, fault.code, fault.message);
  if (fault.status == 503) reply.headers.emplace_back("Retry-After", "1");
  AppendAnswer(reply, form_, connections_->date(), out_.tail());
  Deliver();
}

/// Leaves an answer that is not the connection's last to FlushGathered.
template <class Stream>
bool Session<Stream>::Gather() {
  if (!kPlain || phase_ != Phase::kAnswering || !form_.keep_alive || out_.writing()) return false;
  if (out_.size() > kSmallBytesMax) return false;
  if (!gathered_ && connections_->Gather(this->shared_from_this()))
    asio::post(stream_.get_executor(),
               [connections = connections_] { connections->FlushGathered(); });
  gathered_ = true;
  EndAnswer();
  return true;
}

template <class Stream>
void Session<Stream>::Deliver() {
  if (Gather()) return;
  const bool sent = Push();
  if (phase_ == Phase::kAnswering && sent) return EndAnswer();
  if (phase_ != Phase::kStreaming) return;
  deadline_ms_ = sent ? HttpConnections::kNever  // it may be that of the answer before
                      : connections_->DeadlineIn(limits().write_deadline_ms);
  AwaitEnd();
  const auto open = std::exchange(on_stream_, nullptr);
  open(std::shared_ptr<EventSink>(this->shared_from_this()));
  if (phase_ == Phase::kStreaming && connections_->finishing()) Close();
}

/// Sends what was appended. True when all of it is gone; otherwise OnSent goes on (or the
/// connection is closed).
template <class Stream>
bool Session<Stream>::Push() {
  if (out_.writing()) {  // what is appended to a stream is no progress of its client
    if (Hold() && phase_ == Phase::kAnswering) SetDeadline(limits().write_deadline_ms);
    return false;
  }
  error_code error;
  std::size_t sent = 0;
  // The kernel takes nearly every answer at once: one call, no trip through the reactor.
  if constexpr (kPlain) sent = stream_.write_some(asio::buffer(out_.next()), error);
  return Took(error, sent);
}

/// Keeps what the client has not taken, if there is room for it beside what others have not. For a
/// small answer there always is: those who leave large ones must not cost others theirs.
template <class Stream>
bool Session<Stream>::Hold() {
  out_.Write();
  if (out_.size() <= kSmallBytesMax) return true;
  if (connections_->counters.unsent_bytes <= limits().answers_bytes_max) return true;
  ++connections_->counters.refused;
  Drop();
  return false;
}

/// The kernel took the first `bytes` of what is next, or none of it. As Push.
template <class Stream>
bool Session<Stream>::Took(error_code error, std::size_t bytes) {
  if (error && error != asio::error::would_block) {
    Drop();
    return false;
  }
  if (out_.Sent(bytes)) return true;
  if (!Hold()) return false;
  SendRest();
  if (phase_ != Phase::kReading) SetDeadline(limits().write_deadline_ms);
  return false;
}

template <class Stream>
void Session<Stream>::OnSent(error_code error, std::size_t bytes) {
  if (phase_ == Phase::kClosed) return;
  if (error) return Drop();
  const bool all = out_.Sent(bytes);
  if (phase_ == Phase::kStreaming) SetDeadline(limits().write_deadline_ms);
  if (!all) return SendRest();
  if (!out_.next().empty() && !Push()) return;
  if (phase_ == Phase::kStreaming) deadline_ms_ = HttpConnections::kNever;
  if (phase_ != Phase::kAnswering) return;
  EndAnswer();
  Advance();
}

template <class Stream>
bool Session<Stream>::Send(std::string_view bytes) {
  if (phase_ != Phase::kStreaming) return false;
  if (bytes.empty()) return true;
  if (out_.size() > limits().stream_queue_bytes_max) {
    Close();  // behind what is queued: cut off inside a large event, a client would never pass it
    return false;
  }
  if (form_.http_1_0)
    out_.tail() += bytes;
  else
    AppendChunk(bytes, out_.tail());
  Push();
  return phase_ == Phase::kStreaming;
}

template <class Stream>
void Session<Stream>::Close() {
  if (phase_ != Phase::kStreaming) return;
  phase_ = Phase::kAnswering;
  if (!form_.http_1_0) out_.tail() += kLastChunk;
  if (out_.size() == 0 || Push()) EndAnswer();
}

template <class Stream>
void Session<Stream>::Drain() {
  phase_ = Phase::kDraining;
  SetDeadline(limits().drain_deadline_ms);
  if constexpr (kPlain) {
    DrainSocket();
  } else {
    stream_.async_shutdown([self = this->shared_from_this()](error_code) {
      if (self->phase_ == Phase::kDraining) self->DrainSocket();
    });
  }
}

/// Reads and forgets, to learn when the client leaves.
template <class Stream>
void Session<Stream>::AwaitEnd() {
  const auto unwanted = [self = this->shared_from_this()](error_code error, std::size_t bytes) {
    self->OnUnwanted(error, bytes);
  };
  const auto waste = asio::buffer(connections_->waste);
  if (phase_ == Phase::kStreaming)
    stream_.async_read_some(waste, unwanted);
  else
    socket().async_read_some(waste, unwanted);
}

template <class Stream>
void Session<Stream>::OnUnwanted(error_code error, std::size_t bytes) {
  if (phase_ == Phase::kAnswering || phase_ == Phase::kClosed) return;  // a stream being ended
  wasted_bytes_ += bytes;
  if (error == asio::error::eof && phase_ == Phase::kStreaming) return AwaitReset();
  if (error || wasted_bytes_ > limits().drain_bytes_max) return Drop();
  AwaitEnd();
}

/// Of a stream whose client says no more. It may still listen; if it does not, its host answers a
/// comment, which means nothing to who does, with a reset.
template <class Stream>
void Session<Stream>::AwaitReset() {
  socket().async_wait(Socket::wait_error, [self = this->shared_from_this()](error_code) {
    if (self->phase_ == Phase::kStreaming) self->Drop();
  });
  Send(":\n\n");
}

template <class Stream>
void Session<Stream>::Drop() {
  if (phase_ == Phase::kClosed) return;
  phase_ = Phase::kClosed;
  connections_->LetBodyGo(body_bytes_);
  out_.Abandon();
  error_code ignored;
  socket().close(ignored);
  connections_->Remove(*this);
}

}  // namespace

std::shared_ptr<HttpSession> MakeHttpSession(asio::io_context& context, int fd, bool ip_v6,
                                             std::shared_ptr<HttpConnections> connections,
                                             TlsContext* tls) {
  Socket socket(context);
  error_code error;
  socket.assign(ip_v6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4(), fd, error);
  if (error) {
    ::close(fd);
    return nullptr;
  }
  socket.non_blocking(true, error);
  if (!error) socket.set_option(asio::ip::tcp::no_delay(true), error);
  if (error) return nullptr;
  if (tls == nullptr)
    return std::make_shared<Session<Socket>>(std::move(connections), std::move(socket));
  ssl_st* const state = tls->NewConnection();
  if (state == nullptr) return nullptr;
  return std::make_shared<Session<TlsStream>>(std::move(connections), std::move(socket), state);
}

}  // namespace once
