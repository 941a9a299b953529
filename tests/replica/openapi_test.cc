// The served API description is the surface: same routes, same keys, same errors.
#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>
#include <set>
#include <sstream>

#include "replica/api/json_value.h"
#include "replica/api/route.h"

namespace once {

extern const std::string_view kOpenApiText;

namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

std::string TextOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

fs::path Source(const char* path) {
  return fs::path(ONCE_SOURCE_DIR) / path;
}

const json::value& Document() {
  static const json::value kDocument = [] {
    std::string error;
    auto value = ParseJson(kOpenApiText, error);
    EXPECT_TRUE(value && value->is_object()) << error;
    return value.value_or(json::object());
  }();
  return kDocument;
}

// What a value says itself, or what its $ref points at.
const json::value& Resolve(const json::value& value) {
  const auto* object = value.if_object();
  const auto* ref = object ? object->if_contains("$ref") : nullptr;
  if (!ref) return value;
  json::error_code error;
  const auto* found = Document().find_pointer(std::string(ref->as_string()).substr(1), error);
  EXPECT_TRUE(found) << "dangling " << ref->as_string();
  return found ? *found : value;
}

// By endpoint, "POST /v1/runs".
using Operations = std::map<std::string, const json::object*>;

const Operations& Described() {
  static const Operations kDescribed = [] {
    Operations operations;
    for (const auto& [path, methods] : Document().at("paths").as_object())
      for (const auto& [method, body] : methods.as_object()) {
        std::string upper(method);
        for (char& c : upper) c = static_cast<char>(c - 'a' + 'A');
        operations[upper + " " + std::string(path)] = &body.as_object();
      }
    return operations;
  }();
  return kDescribed;
}

// Throws when there is none, which fails the test that asked.
const json::object& OperationOf(const Route& route) {
  return *Described().at(route.Endpoint());
}

std::set<std::string> ParameterNames(const json::object& operation) {
  std::set<std::string> names;
  if (const auto* list = operation.if_contains("parameters"))
    for (const auto& parameter : list->as_array())
      names.insert(std::string(Resolve(parameter).as_object().at("name").as_string()));
  return names;
}

std::set<std::string> DocumentedErrors() {
  std::set<std::string> codes;
  const auto& error = Document().at("components").at("schemas").at("Error");
  for (const auto& code : error.at("properties").at("error").at("enum").as_array())
    codes.insert(std::string(code.as_string()));
  return codes;
}

// Every error code that a source file names where an answer is made of it.
std::set<std::string> ErrorsIn(const fs::path& file) {
  static const std::regex kAnswer(
      R"((?:Fail|ErrorReply|ErrorOutcome)\(\s*[^,;]+,\s*"([a-z_]+)\"|\{[45]\d\d, "([a-z_]+)\")");
  const std::string text = TextOf(file);
  std::set<std::string> codes;
  for (std::sregex_iterator at(text.begin(), text.end(), kAnswer), end; at != end; ++at)
    codes.insert((*at)[1].matched ? (*at)[1] : (*at)[2]);
  return codes;
}

std::set<std::string> ErrorsOfTheSource() {
  std::set<std::string> codes = ErrorsIn(Source("replica/ledger/effects.cc"));
  for (const char* folder : {"replica/api", "replica/io"})
    for (const auto& entry : fs::directory_iterator(Source(folder)))
      if (entry.path().extension() == ".cc") codes.merge(ErrorsIn(entry.path()));
  return codes;
}

void Walk(const json::value& value, const std::function<void(const json::object&)>& visit) {
  if (const auto* list = value.if_array())
    for (const auto& item : *list) Walk(item, visit);
  const auto* object = value.if_object();
  if (!object) return;
  visit(*object);
  for (const auto& [name, item] : *object) Walk(item, visit);
}

TEST(OpenApi, TheServedTextIsTheFileByteForByte) {
  EXPECT_EQ(kOpenApiText, TextOf(Source("replica/api/openapi.json")));
}

TEST(OpenApi, IsVersion31) {
  EXPECT_EQ(Document().at("openapi").as_string(), "3.1.0");
}

TEST(OpenApi, EveryRouteIsDescribed) {
  for (const Route& route : Routes())
    EXPECT_TRUE(Described().count(route.Endpoint())) << route.Endpoint();
}

TEST(OpenApi, EveryDescribedOperationIsARoute) {
  std::set<std::string> routes;
  for (const Route& route : Routes()) routes.insert(route.Endpoint());
  for (const auto& [endpoint, operation] : Described())
    EXPECT_TRUE(routes.count(endpoint)) << endpoint;
}

TEST(OpenApi, OW_L1_01_ExactlyTheKeyedOperationsAndClaimsTakeAKey) {
  for (const Route& route : Routes()) {
    const bool takes_key = route.keyed || route.Endpoint() == "POST /v1/claims";
    const auto names = ParameterNames(OperationOf(route));
    for (const char* name :
         {"Idempotency-Key", "X-Idempotency-Key", "idempotency_key", "idempotency-key", "Prefer"})
      EXPECT_EQ(names.count(name) == 1, takes_key) << route.Endpoint() << " " << name;
  }
}

TEST(OpenApi, EveryPathParameterIsDescribed) {
  static const std::regex kParameter(R"(\{(\w+)\})");
  for (const Route& route : Routes()) {
    const std::string path(route.path);
    const auto names = ParameterNames(OperationOf(route));
    for (std::sregex_iterator at(path.begin(), path.end(), kParameter), end; at != end; ++at)
      EXPECT_TRUE(names.count((*at)[1])) << path;
  }
}

TEST(OpenApi, SecurityIsTheScopeOfTheRoute) {
  for (const Route& route : Routes()) {
    const auto& security = OperationOf(route).at("security").as_array();
    // These two ask for the scope themselves: /metrics unless it is public, conflicts for either.
    const bool asks = route.path == "/metrics" || route.path == "/v1/conflicts";
    const std::string_view scope = asks ? "admin" : route.scope;
    if (scope.empty()) {
      EXPECT_TRUE(security.empty()) << route.Endpoint();
      continue;
    }
    ASSERT_FALSE(security.empty()) << route.Endpoint();
    EXPECT_EQ(security[0].at("bearer").as_array().at(0).as_string(), scope) << route.Endpoint();
  }
}

TEST(OpenApi, OW_RS_01_EveryKeyedSuccessNamesTheReplayHeader) {
  for (const Route& route : Routes()) {
    if (!route.keyed) continue;
    int successes = 0;
    for (const auto& [status, reply] : OperationOf(route).at("responses").as_object()) {
      if (status[0] != '2') continue;
      ++successes;
      const auto& headers = Resolve(reply).at("headers").as_object();
      EXPECT_TRUE(headers.contains("openwop-Idempotent-Replay")) << route.Endpoint();
    }
    EXPECT_EQ(successes, 1) << route.Endpoint();
  }
}

TEST(OpenApi, EveryErrorThatTheNodeCanGiveIsListedAndNoOther) {
  const auto emitted = ErrorsOfTheSource();
  ASSERT_GT(emitted.size(), 25u);  // the pattern still finds them
  EXPECT_EQ(DocumentedErrors(), emitted);
}

TEST(OpenApi, EveryExampleOfAnErrorIsNamedAfterItsCode) {
  int seen = 0;
  Walk(Document(), [&](const json::object& object) {
    const auto* examples = object.if_contains("examples");
    if (!examples || !examples->is_object()) return;
    for (const auto& [name, example] : examples->as_object()) {
      const auto* error = example.at("value").as_object().if_contains("error");
      if (!error) continue;
      ++seen;
      EXPECT_EQ(error->as_string(), name);
      EXPECT_TRUE(DocumentedErrors().count(std::string(name))) << name;
    }
  });
  EXPECT_GT(seen, 20);
}

TEST(OpenApi, EveryReferencePointsSomewhere) {
  int seen = 0;
  Walk(Document(), [&](const json::object& object) {
    if (!object.contains("$ref")) return;
    ++seen;
    Resolve(object);
  });
  EXPECT_GT(seen, 100);
}

}  // namespace
}  // namespace once
