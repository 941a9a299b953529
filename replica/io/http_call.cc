#include "replica/io/http_call.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>

#include "replica/config.h"

namespace once {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
namespace ssl = boost::asio::ssl;
using boost::asio::ip::tcp;
using Request = http::request<http::string_body>;

constexpr std::string_view kPlain = "http://";
constexpr std::string_view kTls = "https://";

/// The deadline of a stream holds for asynchronous calls only.
template <typename Future>
auto Wait(boost::asio::io_context& context, Future future) {
  context.restart();
  context.run();
  return future.get();
}

template <typename Stream>
HttpCallResult Exchange(boost::asio::io_context& context, Stream& stream, const Request& request) {
  Wait(context, http::async_write(stream, request, boost::asio::use_future));
  beast::flat_buffer buffer;
  http::response<http::string_body> response;
  Wait(context, http::async_read(stream, buffer, response, boost::asio::use_future));
  return {static_cast<int>(response.result_int()), response.body()};
}

/// Thrown where the reason has words of our own.
struct Unusable {
  std::string why;
};

ssl::context Trust(const std::string& ca_file) {
  ssl::context tls(ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(tls.native_handle(), TLS1_2_VERSION);
  tls.set_verify_mode(ssl::verify_peer);
  if (ca_file.empty()) {
    tls.set_default_verify_paths();
    return tls;
  }
  boost::system::error_code error;
  tls.load_verify_file(ca_file, error);
  if (error) throw Unusable{"no certificates in PEM in " + ca_file + " (" + error.message() + ")"};
  return tls;
}

std::string Explain(const boost::system::error_code& error, bool secured) {
  const std::string said = error.message();
  if (error.category() == boost::asio::error::get_ssl_category()) {
    const int reason = ERR_GET_REASON(static_cast<unsigned long>(error.value()));
    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
      return "its certificate is for another name, has expired, or is not of an authority that is "
             "trusted here; --ca FILE names one (" +
             said + ")";
    if (reason == SSL_R_WRONG_VERSION_NUMBER)
      return "it does not speak TLS: http:// (" + said + ")";
  }
  const bool closed =
      error == http::error::end_of_stream || error == boost::asio::error::connection_reset;
  if (closed && !secured)
    return "it closed the connection; does it speak TLS? https:// (" + said + ")";
  return said;
}

HttpCallResult ExchangeOverTls(boost::asio::io_context& context, beast::tcp_stream stream,
                               const std::string& host, const std::string& ca_file,
                               const Request& request) {
  ssl::context tls = Trust(ca_file);
  ssl::stream<beast::tcp_stream> secured(std::move(stream), tls);
  secured.set_verify_callback(ssl::host_name_verification(host));
  boost::system::error_code name;
  boost::asio::ip::make_address(host, name);
  if (name) SSL_set_tlsext_host_name(secured.native_handle(), host.c_str());
  Wait(context, secured.async_handshake(ssl::stream_base::client, boost::asio::use_future));
  return Exchange(context, secured, request);
}

}  // namespace

std::string WrongUrl(const std::string& url) {
  for (const std::string_view scheme : {kPlain, kTls})
    if (url.starts_with(scheme))
      if (const auto address = ParseAddress(url.substr(scheme.size())); address && address->port)
        return "";
  return url + " is not of the form http://ADDRESS:PORT or https://ADDRESS:PORT";
}

std::variant<HttpCallResult, std::string> CallHttp(const std::string& url, std::string_view method,
                                                   std::string_view path, std::string_view key,
                                                   std::string_view body,
                                                   const std::string& ca_file) {
  if (std::string wrong = WrongUrl(url); !wrong.empty()) return wrong;
  const bool secured = url.starts_with(kTls);
  const auto address = ParseAddress(url.substr((secured ? kTls : kPlain).size()));
  try {
    boost::asio::io_context context;
    beast::tcp_stream stream(context);
    stream.expires_after(std::chrono::seconds(10));
    const auto places =
        tcp::resolver(context).resolve(address->host, std::to_string(address->port));
    Wait(context, stream.async_connect(places, boost::asio::use_future));
    Request request(http::string_to_verb(method), std::string(path), 11);
    request.set(http::field::host, address->host);
    request.set(http::field::authorization, "Bearer " + std::string(key));
    request.set(http::field::content_type, "application/json");
    request.body() = std::string(body);
    request.prepare_payload();
    return secured ? ExchangeOverTls(context, std::move(stream), address->host, ca_file, request)
                   : Exchange(context, stream, request);
  } catch (const boost::system::system_error& error) {
    return url + ": " + Explain(error.code(), secured);
  } catch (const Unusable& unusable) {
    return url + ": " + unusable.why;
  }
}

}  // namespace once
