// Scenarios S-59 and S-60: what a proxy and this node could read differently is refused, and the
// connection with it.
#include <openssl/ssl.h>

#include "replica/env/random.h"
#include "replica/io/http_request_reader.h"
#include "tests/io/http_server.h"

namespace once {
namespace {

struct Malformed {
  const char* name;
  std::string bytes;
  int status = 400;
};

void PrintTo(const Malformed& malformed, std::ostream* out) {
  *out << malformed.name;
}

class HttpMalformed : public testing::TestWithParam<Malformed> {};

TEST_P(HttpMalformed, S_59_IsRefusedAndClosed) {
  HttpServer server;
  HttpClient client(server);
  client.Send(GetParam().bytes + Get("/smuggled"));
  const std::string answer = client.ReadToEnd();
  EXPECT_EQ(StatusOf(answer), "HTTP/1.1 " + std::to_string(GetParam().status)) << answer;
  EXPECT_NE(answer.find("\r\nConnection: close\r\n"), std::string::npos);
  EXPECT_NE(answer.find("\r\nContent-Type: application/json\r\n"), std::string::npos);
  const std::string body = BodyOf(answer);
  const std::string code = GetParam().status == 400   ? "validation_error"
                           : GetParam().status == 413 ? "payload_too_large"
                           : GetParam().status == 417 ? "expectation_failed"
                           : GetParam().status == 431 ? "header_too_large"
                                                      : "not_implemented";
  EXPECT_EQ(body.find("{\"error\":\"" + code + "\",\"message\":\""), 0u) << body;
  EXPECT_EQ(body.find('}'), body.size() - 1) << "one answer and nothing after it: " << body;
  EXPECT_EQ(server.Run([&] { return server.echo.served; }), 0);
  EXPECT_EQ(server.counters().bad_requests, 1u);
}

std::string With(std::string headers, std::string body = "") {
  return "POST / HTTP/1.1\r\nHost: a\r\n" + headers + "\r\n" + body;
}
std::string Chunked(std::string body) {
  return With("Transfer-Encoding: chunked\r\n", body);
}

const Malformed kMalformed[] = {
    {"TwoLengths", With("Content-Length: 3\r\nContent-Length: 4\r\n", "abcd")},
    {"TwoEqualLengths", With("Content-Length: 3\r\nContent-Length: 3\r\n", "abc")},
    {"LengthList", With("Content-Length: 3, 3\r\n", "abc")},
    {"SignedLength", With("Content-Length: +3\r\n", "abc")},
    {"NegativeLength", With("Content-Length: -3\r\n")},
    {"EmptyLength", With("Content-Length:\r\n")},
    {"HexLength", With("Content-Length: 0x3\r\n", "abc")},
    {"HugeLength", With("Content-Length: 18446744073709551617\r\n")},
    {"LengthThenCoding", With("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")},
    {"CodingThenLength", With("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "0\r\n\r\n")},
    {"TwoCodings", With("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n")},
    {"UnknownCoding", With("Transfer-Encoding: gzip, chunked\r\n"), 501},
    {"UnchunkedCoding", With("Transfer-Encoding: identity\r\n"), 501},
    {"ChunkedNotLast", With("Transfer-Encoding: chunked, gzip\r\n"), 501},
    {"NearlyChunked", With("Transfer-Encoding: xchunked\r\n"), 501},
    {"QuotedChunked", With("Transfer-Encoding: \"chunked\"\r\n"), 501},
    {"VerticalTabCoding", With("Transfer-Encoding: \vchunked\r\n")},
    {"CodingIn10", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
    {"ObsFold", With("X: a\r\n b\r\n")},
    {"ObsFoldFromEmpty", With("X:\r\n b\r\n")},
    {"ObsFoldToEmpty", With("X: a\r\n \r\n")},
    {"ObsFoldTab", With("X: a\r\n\tb\r\n")},
    {"FoldedCoding", With("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n")},
    {"SpaceFirstHeader", "GET / HTTP/1.1\r\n Host: a\r\n\r\n"},
    {"BareLfHead", "GET / HTTP/1.1\nHost: a\n\n"},
    {"BareLfHeader", With("X: a\nY: b\r\n")},
    {"BareLfEnd", "GET / HTTP/1.1\r\nHost: a\r\n\n"},
    {"BareCr", With("X: a\rY: b\r\n")},
    {"BareCrRequestLine", "GET / HTTP/1.1\rHost: a\r\n\r\n"},
    {"NulInValue", With(std::string("X: a\0b\r\n", 8))},
    {"NulInName", With(std::string("X\0Y: a\r\n", 8))},
    {"ControlInValue", With("X: a\x01\r\n")},
    {"DeleteInValue", With("X: a\x7f\r\n")},
    {"ControlInName", With("X\x01: a\r\n")},
    {"SpaceBeforeColon", With("Content-Length : 3\r\n", "abc")},
    {"TabBeforeColon", With("X\t: 3\r\n")},
    {"EmptyName", With(": 3\r\n")},
    {"NoColon", With("Nothing\r\n")},
    {"NonAsciiName", With("X\xc3\xa9: a\r\n")},
    {"BadChunkSize", Chunked("zz\r\nabc\r\n0\r\n\r\n")},
    {"EmptyChunkSize", Chunked("\r\n\r\n0\r\n\r\n")},
    {"SignedChunkSize", Chunked("+3\r\nabc\r\n0\r\n\r\n")},
    {"PrefixedChunkSize", Chunked("0x3\r\nabc\r\n0\r\n\r\n")},
    {"SpacedChunkSize", Chunked("3 \r\nabc\r\n0\r\n\r\n")},
    {"OverflowingChunkSize", Chunked("10000000000000003\r\nabc\r\n0\r\n\r\n")},
    {"ChunkLongerThanSaid", Chunked("3\r\nabcd\r\n0\r\n\r\n")},
    {"ChunkBareLf", Chunked("3\nabc\n0\n\n\r\n\r\n")},
    {"ChunkExtension", Chunked("3;a=b\r\nabc\r\n0\r\n\r\n")},
    {"LastChunkExtension", Chunked("3\r\nabc\r\n0;a\r\n\r\n")},
    {"LengthInTrailer", Chunked("0\r\nContent-Length: 3\r\n\r\n")},
    {"EndlessChunkLine", Chunked(std::string(80'000, '0'))},
    {"NoHost", "GET / HTTP/1.1\r\n\r\n"},
    {"TwoHosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"},
    {"HostList", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"},
    {"HostWithPath", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"},
    {"HostWithUser", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n"},
    {"AbsoluteOther", "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"AbsoluteNoPath", "GET http://a HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"OtherScheme", "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"AuthorityForm", "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"AsteriskForm", "GET * HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"RelativeTarget", "GET x HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"Fragment", "GET /x#y HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"NonAsciiTarget", "GET /\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"LongMethod", std::string(33, 'A') + " / HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"LowerCaseMethod", "get / HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"NoVersion", "GET /\r\n\r\n"},
    {"Version09", "GET / HTTP/0.9\r\n\r\n"},
    {"Version12", "GET / HTTP/1.2\r\nHost: a\r\n\r\n"},
    {"Http2Preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
    {"TwoSpaces", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"TwoEmptyLines", "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"BadConnection", With("Connection: a b\r\n")},
    {"UnknownExpectation", With("Expect: tea\r\n"), 417},
    {"Garbage", "\xff\xfe hello"},
    {"LongHeader", With("X: " + std::string(17'000, 'x') + "\r\n"), 431},
    {"EndlessHeader", "GET / HTTP/1.1\r\nX: " + std::string(40'000, 'x'), 431},
    {"EndlessMethod", std::string(40'000, 'A'), 431},
    {"LargeBody", With("Content-Length: 1048577\r\n", std::string(1048577, 'x')), 413},
    {"LargeChunks",
     Chunked("80000\r\n" + std::string(0x80000, 'x') + "\r\n80001\r\n" + std::string(0x80001, 'x') +
             "\r\n0\r\n\r\n"),
     413},
};

INSTANTIATE_TEST_SUITE_P(All, HttpMalformed, testing::ValuesIn(kMalformed),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(HttpMalformed, S_60_TenThousandHeadersAreTooMany) {
  HttpServer server;
  HttpClient client(server);
  std::string headers;
  for (int i = 0; i < 10'000; ++i) headers += "X: 1\r\n";
  client.Send(With(headers));
  EXPECT_EQ(StatusOf(client.ReadToEnd()), "HTTP/1.1 431");
}

TEST(HttpMalformed, S_59_GarbageInALaterSegmentIsAnsweredAtOnce) {
  HttpServer server;
  HttpClient client(server);
  client.Send("GET / HTTP/1.1\r\nHost: a\r\nX-Long: abc");
  ASSERT_TRUE(server.Eventually([&] { return server.listener().counters().accepted == 1; }));
  client.Send("\nY: b\n\n");
  EXPECT_EQ(StatusOf(client.ReadToEnd()), "HTTP/1.1 400");
}

TEST(HttpMalformed, TlsOnThePlainPortIsAnsweredAtOnce) {
  HttpServer server;
  HttpClient client(server);
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                            &SSL_CTX_free);
  std::unique_ptr<SSL, decltype(&SSL_free)> tls(SSL_new(context.get()), &SSL_free);
  SSL_set_fd(tls.get(), client.fd());
  EXPECT_LE(SSL_connect(tls.get()), 0);
  EXPECT_EQ(server.counters().bad_requests, 1u);
}

TEST(HttpMalformed, ARequestThatEndsEarlyIsAnswered) {
  HttpServer server;
  for (const char* part :
       {"GET / HT", "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nab",
        "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na"}) {
    HttpClient client(server);
    client.Send(part);
    client.HalfClose();
    EXPECT_EQ(StatusOf(client.ReadToEnd()), "HTTP/1.1 400") << part;
  }
}

const std::string kSeeds[] = {
    "PUT /a?b HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nX-A: b c\r\n\r\nhello",
    "PUT /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nT: "
    "1\r\n\r\n",
};

std::string Mutate(std::string text, Random& random) {
  for (auto changes = 1 + random.Below(3); changes > 0; --changes) {
    const std::size_t at = random.Below(text.size());
    switch (random.Below(4)) {
      case 0:
        text[at] = static_cast<char>(random.Below(256));
        break;
      case 1:
        text.erase(at, 1 + random.Below(4));
        break;
      case 2:
        text.insert(at, 1, "\r\n :;,\t0a"[random.Below(9)]);
        break;
      default:
        text.insert(at, text.substr(random.Below(text.size()), random.Below(20)));
    }
    if (text.empty()) text = "x";
  }
  return text;
}

TEST(HttpMalformed, AThousandMutationsNeitherHangNorCrash) {
  HttpServer server;
  Random random(59);
  for (int i = 0; i < 1000; ++i) {
    const std::string bytes = Mutate(kSeeds[i % 2], random);
    HttpClient client(server);
    client.Send(bytes);
    client.HalfClose();
    const std::string answer = client.ReadToEnd();
    ASSERT_TRUE(answer.empty() || answer.starts_with("HTTP/1.1 ")) << bytes;
  }
  HttpClient client(server);
  client.Send(Get("/alive"));
  EXPECT_EQ(BodyOf(client.ReadAnswer()), "GET /alive|");
}

/// What a reader makes of `bytes` given in pieces, as text.
std::string ReadInPieces(std::string_view bytes, std::size_t piece) {
  const Limits limits;
  RequestReader reader(limits);
  std::string story;
  for (;;) {
    switch (reader.Read()) {
      case RequestReader::Step::kFault:
        return story + "fault";  // which of several is seen first depends on the pieces
      case RequestReader::Step::kRequest:
        story.append(reader.request().method).append(" ").append(reader.request().target);
        for (const auto& [name, value] : reader.request().headers)
          story.append("\n").append(name).append("=").append(value);
        story.append("\n").append(reader.request().body).append("\n");
        reader.Next();
        break;
      case RequestReader::Step::kNeedMore: {
        if (bytes.empty()) return story + "more";
        const auto space = reader.Space();
        const std::size_t count = std::min({piece, bytes.size(), space.size()});
        bytes.copy(space.data(), count);
        reader.Commit(count);
        bytes.remove_prefix(count);
      }
    }
  }
}

TEST(RequestReader, PiecesDoNotChangeTheMeaning) {
  Random random(7);
  for (int i = 0; i < 20'000; ++i) {
    const std::string bytes = Mutate(kSeeds[i % 2], random) + kSeeds[random.Below(2)];
    const std::string whole = ReadInPieces(bytes, bytes.size());
    if (whole.ends_with("more")) continue;  // an early fault may be seen only in one piece
    ASSERT_EQ(ReadInPieces(bytes, 1 + random.Below(9)), whole) << bytes;
  }
}

}  // namespace
}  // namespace once
