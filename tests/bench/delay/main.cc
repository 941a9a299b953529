// once-delay: long links on one machine. Forwards TCP connections, every byte so much later.
//   once-delay MILLISECONDS LISTEN_PORT:TARGET_PORT ...
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <cstdio>
#include <deque>
#include <list>
#include <memory>
#include <string>

#include "tests/bench/program.h"

namespace once::load {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using asio::ip::tcp;
using boost::system::error_code;

/// One direction of a connection. Pieces wait in a queue until they are due.
class Direction : public std::enable_shared_from_this<Direction> {
 public:
  Direction(std::shared_ptr<tcp::socket> from, std::shared_ptr<tcp::socket> to,
            std::chrono::milliseconds delay)
      : from_(std::move(from)), to_(std::move(to)), delay_(delay), timer_(to_->get_executor()) {}

  void Run() {
    from_->async_read_some(
        asio::buffer(bytes_), [self = shared_from_this()](error_code error, std::size_t size) {
          if (error) return self->End();
          self->queue_.push_back({Clock::now() + self->delay_, {self->bytes_.data(), size}});
          if (!self->busy_) self->SendNext();
          self->Run();
        });
  }

 private:
  struct Piece {
    Clock::time_point due;
    std::string bytes;
  };
  void End() {
    error_code ignored;
    from_->close(ignored);
    to_->close(ignored);
  }
  void SendNext() {
    busy_ = !queue_.empty();
    if (!busy_) return;
    timer_.expires_at(queue_.front().due);
    timer_.async_wait([self = shared_from_this()](error_code) {
      // Whatever else is due by now goes with it, like on a wire.
      self->sending_.clear();
      for (const auto now = Clock::now(); !self->queue_.empty() && self->queue_.front().due <= now;
           self->queue_.pop_front())
        self->sending_ += self->queue_.front().bytes;
      asio::async_write(*self->to_, asio::buffer(self->sending_),
                        [self](error_code error, std::size_t) {
                          if (error) return self->End();
                          self->SendNext();
                        });
    });
  }

  const std::shared_ptr<tcp::socket> from_, to_;
  const std::chrono::milliseconds delay_;
  asio::steady_timer timer_;
  std::array<char, 65536> bytes_;
  std::deque<Piece> queue_;
  std::string sending_;
  bool busy_ = false;
};

class Link {
 public:
  Link(asio::io_context& context, unsigned short listen, unsigned short target,
       std::chrono::milliseconds delay)
      : context_(context),
        acceptor_(context, {asio::ip::address_v4::loopback(), listen}),
        target_(target),
        delay_(delay) {
    Accept();
  }

 private:
  void Accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (!error) Take(std::make_shared<tcp::socket>(std::move(socket)));
      Accept();
    });
  }
  void Take(const std::shared_ptr<tcp::socket>& near) {
    const auto far = std::make_shared<tcp::socket>(context_);
    error_code error;
    far->connect({asio::ip::address_v4::loopback(), target_}, error);
    if (error) return;
    for (const auto& socket : {near, far}) socket->set_option(tcp::no_delay(true), error);
    std::make_shared<Direction>(near, far, delay_)->Run();
    std::make_shared<Direction>(far, near, delay_)->Run();
  }

  asio::io_context& context_;
  tcp::acceptor acceptor_;
  const unsigned short target_;
  const std::chrono::milliseconds delay_;
};

int Main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: once-delay MILLISECONDS LISTEN_PORT:TARGET_PORT ...\n");
    return 2;
  }
  asio::io_context context{1};
  std::list<Link> links;
  for (int at = 2; at < argc; ++at) {
    const std::string ports = argv[at];
    const auto port = [](const std::string& text) {
      return static_cast<unsigned short>(std::stoul(text));
    };
    links.emplace_back(context, port(ports), port(ports.substr(ports.find(':') + 1)),
                       std::chrono::milliseconds(std::stoul(argv[1])));
  }
  context.run();
  return 0;
}

}  // namespace
}  // namespace once::load

int main(int argc, char** argv) {
  return once::load::RunMain("once-delay", once::load::Main, argc, argv);
}
