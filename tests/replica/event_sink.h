// A client of an event stream, as the node sees it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "replica/api/http.h"

namespace once {

class FakeSink : public EventSink {
 public:
  bool Send(std::string_view bytes) override {
    EXPECT_FALSE(closed) << "sent after the end";
    if (gone) return false;
    text += bytes;
    return true;
  }
  void Close() override { closed = true; }

  /// How often `what` stands in the text.
  int Count(std::string_view what) const {
    int count = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
      ++count;
    return count;
  }

  std::string text;
  bool closed = false;
  bool gone = false;
};

}  // namespace once
