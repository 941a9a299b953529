// What a connection has to send.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace once {

/// Bytes that are being sent, and what is appended meanwhile, which goes after them.
class OutgoingBytes {
 public:
  /// Counts in `unsent`, with others, what an asynchronous write has not sent.
  explicit OutgoingBytes(std::uint64_t& unsent) : unsent_(unsent) {}
  ~OutgoingBytes() { Abandon(); }
  OutgoingBytes(const OutgoingBytes&) = delete;
  OutgoingBytes& operator=(const OutgoingBytes&) = delete;

  /// Where bytes to be sent are appended.
  std::string& tail() { return writing_ ? queue_ : out_; }
  /// What is to be sent next. While an asynchronous write is under way it does not change.
  std::string_view next() const { return std::string_view(out_).substr(sent_); }
  std::size_t size() const { return out_.size() - sent_ + queue_.size(); }
  bool writing() const { return writing_; }

  /// An asynchronous write begins, or goes on with what was appended.
  void Write() {
    writing_ = true;
    Count(size());
  }
  /// So many bytes of `next` are sent. True: all of them, and a write is over; what was appended is
  /// next.
  bool Sent(std::size_t bytes) {
    sent_ += bytes;
    if (counted_ > 0) Count(size());
    if (sent_ < out_.size()) return false;
    out_.clear();
    sent_ = 0;
    if (out_.capacity() > kKeptBytesMax) out_.shrink_to_fit();
    if (std::exchange(writing_, false)) out_.swap(queue_);
    return true;
  }

  /// Nothing more is sent or appended, or counted. A write that is under way may still read.
  void Abandon() {
    Count(0);
    std::string().swap(queue_);
  }

 private:
  static constexpr std::size_t kKeptBytesMax = 64 * 1024;

  void Count(std::size_t bytes) { unsent_ += bytes - std::exchange(counted_, bytes); }

  std::uint64_t& unsent_;
  std::size_t counted_ = 0;  // in it
  std::string out_;          // being sent, from sent_ on
  std::size_t sent_ = 0;
  std::string queue_;
  bool writing_ = false;
};

}  // namespace once
