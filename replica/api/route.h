// The routing table: one row per operation. The template is the public name of the operation: it is
// the `endpoint` of a key, the label of a metric and the path in openapi.json.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace once {

class Api;
struct Call;

struct Route {
  std::string_view method;
  std::string_view path;   // "/v1/runs/{runId}/cancel"
  std::string_view scope;  // empty: open to everybody
  bool keyed;              // honours Idempotency-Key (Layer 1)
  void (Api::*handler)(Call& call);

  /// "POST /v1/runs"
  std::string Endpoint() const { return std::string(method) + " " + std::string(path); }
};

using PathParameters = std::vector<std::pair<std::string_view, std::string_view>>;

std::span<const Route> Routes();

struct Match {
  const Route* route = nullptr;  // null: no operation there
  std::string allowed;           // the path's other methods, comma-separated; empty: no such path
  PathParameters parameters;
};

/// `path` without query and in normal form. Doubled slashes are another path.
Match FindRoute(std::string_view method, std::string_view path);

}  // namespace once
