// A TCP relay on loopback that can go bad: the network between two regions of a test.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <memory>
#include <vector>

namespace once {

/// Forwards what it accepts to `target` on the io_context's thread. Port 0: it hangs up at once.
class Relay {
 public:
  explicit Relay(boost::asio::io_context& context)
      : context_(context), acceptor_(context, {boost::asio::ip::address_v4::loopback(), 0}) {
    Accept();
  }
  ~Relay() { HangUp(); }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  std::size_t accepted() const { return accepted_; }
  std::size_t forwarded() const { return *forwarded_; }  // pieces, as they came
  void SetTarget(std::uint16_t port) { target_ = port; }
  /// A black hole from now on: connections open and stay open, and nothing comes out of them. Those
  /// of that time stay so.
  void SetBlackHole(bool black_hole) { *black_hole_ = black_hole; }
  void HangUp() {
    boost::system::error_code ignored;
    for (const auto& socket : sockets_) socket->close(ignored);
    sockets_.clear();
  }

 private:
  using Socket = boost::asio::ip::tcp::socket;

  struct Pump : std::enable_shared_from_this<Pump> {
    std::shared_ptr<Socket> from, to;
    std::shared_ptr<const bool> black_hole;
    std::shared_ptr<std::size_t> forwarded;
    std::array<char, 65536> bytes;

    void Run() {
      from->async_read_some(
          boost::asio::buffer(bytes),
          [self = shared_from_this()](auto error, std::size_t size) { self->Read(error, size); });
    }
    void Read(const boost::system::error_code& error, std::size_t size) {
      if (*black_hole) return;
      boost::system::error_code ignored;
      if (error) return void(to->close(ignored));
      ++*forwarded;
      boost::asio::async_write(*to, boost::asio::buffer(bytes, size),
                               [self = shared_from_this()](auto failed, std::size_t) {
                                 if (!failed) self->Run();
                               });
    }
  };

  void Accept() {
    acceptor_.async_accept([this](const boost::system::error_code& error, Socket socket) {
      if (error == boost::asio::error::operation_aborted) return;
      ++accepted_;
      Take(std::make_shared<Socket>(std::move(socket)));
      Accept();
    });
  }
  void Take(const std::shared_ptr<Socket>& near) {
    sockets_.push_back(near);
    if (*black_hole_) return;
    const auto far = std::make_shared<Socket>(context_);
    boost::system::error_code error;
    far->connect({boost::asio::ip::address_v4::loopback(), target_}, error);
    if (error) return void(near->close(error));
    sockets_.push_back(far);
    for (const auto& [from, to] : {std::pair(near, far), std::pair(far, near)}) {
      const auto pump = std::make_shared<Pump>();
      pump->from = from;
      pump->to = to;
      pump->black_hole = black_hole_;
      pump->forwarded = forwarded_;
      pump->Run();
    }
  }

  boost::asio::io_context& context_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::shared_ptr<bool> black_hole_ = std::make_shared<bool>(false);
  std::vector<std::shared_ptr<Socket>> sockets_;
  std::shared_ptr<std::size_t> forwarded_ = std::make_shared<std::size_t>(0);
  std::size_t accepted_ = 0;
  std::uint16_t target_ = 0;
};

}  // namespace once
