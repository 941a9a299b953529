#include "replica/io/http_call.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>

namespace once {

namespace beast = boost::beast;
namespace http = beast::http;
using boost::asio::ip::tcp;

std::variant<HttpCallResult, std::string> CallHttp(const std::string& url, std::string_view method,
                                                   std::string_view path, std::string_view key,
                                                   std::string_view body) {
  constexpr std::string_view kScheme = "http://";
  const auto colon = url.rfind(':');
  if (url.rfind(kScheme, 0) != 0 || colon <= kScheme.size())
    return "not a http://ADDRESS:PORT: " + url;
  const std::string host = url.substr(kScheme.size(), colon - kScheme.size());
  try {
    boost::asio::io_context context;
    beast::tcp_stream stream(context);
    stream.expires_after(std::chrono::seconds(10));
    // The deadline holds for asynchronous calls only.
    const auto wait = [&context](auto future) {
      context.restart();
      context.run();
      future.get();
    };
    const auto places = tcp::resolver(context).resolve(host, url.substr(colon + 1));
    wait(stream.async_connect(places, boost::asio::use_future));
    http::request<http::string_body> request(http::string_to_verb(method), std::string(path), 11);
    request.set(http::field::host, host);
    request.set(http::field::authorization, "Bearer " + std::string(key));
    request.set(http::field::content_type, "application/json");
    request.body() = std::string(body);
    request.prepare_payload();
    wait(http::async_write(stream, request, boost::asio::use_future));
    beast::flat_buffer buffer;
    http::response<http::string_body> response;
    wait(http::async_read(stream, buffer, response, boost::asio::use_future));
    return HttpCallResult{static_cast<int>(response.result_int()), response.body()};
  } catch (const boost::system::system_error& error) {
    return url + ": " + error.code().message();
  }
}

}  // namespace once
