// Many answers to many sockets in one call of the kernel.
#pragma once

#include <memory>
#include <string_view>
#include <thread>
#include <vector>

namespace once {

/// Sends by io_uring. What one send wakes up cannot run in between on the same processor, as it may
/// after every call of its own. Where io_uring is not to be had, each is a call of its own.
///
/// Lives on one thread: when a ring ends, the kernel interrupts the calls of every other thread
/// that made or used it.
class SendRing {
 public:
  struct Send {
    int socket;
    std::string_view bytes;
    int result = 0;  // so many bytes were taken, or a negative error number
  };

  SendRing();
  ~SendRing();
  SendRing(const SendRing&) = delete;
  SendRing& operator=(const SendRing&) = delete;

  /// Each as send(2) with MSG_DONTWAIT and MSG_NOSIGNAL, in any order, before it returns.
  void All(std::vector<Send>& sends);

  /// False: each is a call of its own.
  bool active() const { return ring_ != nullptr; }

 private:
  struct Ring;
  void Close();
  /// Up to as many as the ring holds; false: it works no more, and some may not have been sent.
  bool Some(Send* first, Send* last);

  const std::thread::id thread_ = std::this_thread::get_id();
  std::unique_ptr<Ring> ring_;
};

}  // namespace once
