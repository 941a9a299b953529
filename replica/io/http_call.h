// One HTTP request of a command line, blocking, over plain TCP or TLS.
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

/// Empty, or a sentence that says what CallHttp takes instead.
std::string WrongUrl(const std::string& url);

/// `url` is http://ADDRESS:PORT or https://ADDRESS:PORT. Over TLS the server must show a
/// certificate of that address, from an authority in the PEM file `ca_file`, or without one from
/// an authority that this machine trusts; the key is not sent before. The error says what could not
/// be done. Gives up after ten seconds.
std::variant<HttpCallResult, std::string> CallHttp(const std::string& url, std::string_view method,
                                                   std::string_view path, std::string_view key,
                                                   std::string_view body,
                                                   const std::string& ca_file = "");

}  // namespace once
