// Two conversations over one transport: gossip, and the strict group's.
#pragma once

#include <string>
#include <utility>

#include "replica/env/transport.h"

namespace once {

/// A message of the strict group begins with a zero byte, with which no gossip message can begin
/// (its first byte is the tag of a field); gossip goes as it always went.
class SharedTransport {
 public:
  /// `transport` outlives it. Its receiver is set when the first of the two conversations sets its
  /// own.
  explicit SharedTransport(Transport& transport)
      : transport_(transport), gossip_(*this, ""), strict_(*this, std::string(1, '\0')) {}

  Transport& gossip() { return gossip_; }
  Transport& strict() { return strict_; }

 private:
  class Conversation : public Transport {
   public:
    Conversation(SharedTransport& shared, std::string mark)
        : shared_(shared), mark_(std::move(mark)) {}
    void Send(const std::string& to_region, std::string message) override {
      shared_.transport_.Send(to_region, mark_.empty() ? std::move(message) : mark_ + message);
    }
    std::size_t Unsent(const std::string& to_region) const override {
      return shared_.transport_.Unsent(to_region);
    }
    void SetReceiver(Receive receive) override {
      receive_ = std::move(receive);
      shared_.Listen();
    }
    void Hear(const std::string& from_region, std::string message) const {
      if (receive_) receive_(from_region, std::move(message));
    }

   private:
    SharedTransport& shared_;
    const std::string mark_;
    Receive receive_;
  };

  void Listen() {
    transport_.SetReceiver([this](const std::string& from, std::string message) {
      if (message.empty() || message[0] != '\0') return gossip_.Hear(from, std::move(message));
      strict_.Hear(from, message.substr(1));
    });
  }

  Transport& transport_;
  Conversation gossip_;
  Conversation strict_;
};

}  // namespace once
