// One HTTP request of a command line, blocking, over loopback or plain TCP.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace once {

struct HttpCallResult {
  int status = 0;
  std::string body;
};

/// `url` is http://ADDRESS:PORT. The error says what could not be done. Gives up after ten seconds.
std::variant<HttpCallResult, std::string> CallHttp(const std::string& url, std::string_view method,
                                                   std::string_view path, std::string_view key,
                                                   std::string_view body);

}  // namespace once
