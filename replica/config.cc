#include "replica/config.h"

#include <arpa/inet.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#define TOML_EXCEPTIONS 1
#include <toml++/toml.h>

#include "replica/credentials.h"
#include "replica/ledger/run_id.h"

namespace once {
namespace {

// With peers: how long an expired claim is kept, so that a region that was cut off is still heard.
constexpr std::uint64_t kForgetGraceMs = 7ull * 24 * 3600 * 1000;

// Names are not resolved for what a node listens on: one may stand for several addresses.
bool IsIpAddress(const std::string& host) {
  unsigned char bytes[sizeof(in6_addr)];
  const std::string without_zone = host.substr(0, host.find('%'));
  return inet_pton(AF_INET, host.c_str(), bytes) == 1 ||
         inet_pton(AF_INET6, without_zone.c_str(), bytes) == 1;
}

// Reads one table and remembers which options it knows, so that the rest can be refused.
class Section {
 public:
  Section(const toml::table& root, std::string name) : name_(std::move(name)) {
    const auto* node = root.get(name_);
    if (!node) return;
    table_ = node->as_table();
    if (!table_) throw std::runtime_error("[" + name_ + "] must be a table");
  }
  Section(const toml::table* table, std::string name) : name_(std::move(name)), table_(table) {}

  template <typename Value>
  void Read(const char* option, Value& out) {
    known_.insert(option);
    const auto* node = table_ ? table_->get(option) : nullptr;
    if (!node) return;
    if constexpr (std::is_same_v<Value, bool> || std::is_same_v<Value, std::string>) {
      const auto value = node->value_exact<Value>();
      if (!value) Refuse(option, std::is_same_v<Value, bool> ? "true or false" : "a string");
      out = *value;
    } else if constexpr (std::is_floating_point_v<Value>) {
      const auto value = node->value<double>();
      if (!value || !std::isfinite(*value) || *value < 0)
        Refuse(option, "a number that is not negative");
      out = *value;
    } else {
      const auto value = node->value_exact<std::int64_t>();
      if (!value || *value < 0 ||
          static_cast<std::uint64_t>(*value) > std::uint64_t{std::numeric_limits<Value>::max()})
        Refuse(option, "a whole number in range");
      out = static_cast<Value>(*value);
    }
  }

  /// Milliseconds in the file and here.
  template <typename Value>
  void ReadMillis(const char* option, Value& out) {
    Read(option, out);
    if (static_cast<std::uint64_t>(out) > static_cast<std::uint64_t>(kOptionMsMax))
      Refuse(option, "at most a hundred years");
  }

  /// Seconds in the file, milliseconds here.
  void ReadSeconds(const char* option, std::uint64_t& out_ms) {
    std::uint64_t seconds = out_ms / 1000;
    Read(option, seconds);
    if (seconds > std::numeric_limits<std::int64_t>::max() / 4000)
      Refuse(option, "a number of seconds in range");
    out_ms = seconds * 1000;
  }

  void RefuseUnknown() const {
    if (!table_) return;
    for (const auto& [key, value] : *table_)
      if (!known_.count(std::string(key.str())))
        throw std::runtime_error("[" + name_ + "] has no option \"" + std::string(key.str()) +
                                 "\" (line " + std::to_string(value.source().begin.line) + ")");
  }

 private:
  [[noreturn]] void Refuse(const char* option, const char* wanted) const {
    const auto line = table_->get(option)->source().begin.line;
    throw std::runtime_error("[" + name_ + "] " + option + " must be " + wanted + " (line " +
                             std::to_string(line) + ")");
  }

  std::string name_;
  const toml::table* table_ = nullptr;
  std::set<std::string> known_;
};

void ReadListen(Section& node, Config& config) {
  std::string listen = config.listen_address + ":" + std::to_string(config.listen_port);
  node.Read("listen", listen);
  const auto address = ParseAddress(listen);
  if (!address || !IsIpAddress(address->host))
    throw std::runtime_error("[node] listen must be IP-ADDRESS:PORT, not \"" + listen + "\"");
  config.listen_address = address->host;
  config.listen_port = address->port;
}

void ReadNode(const toml::table& root, Config& config) {
  Section node(root, "node");
  node.Read("region", config.region);
  ReadListen(node, config);
  node.Read("data_dir", config.data_dir);
  std::string profile = "v1.1";
  node.Read("spec_profile", profile);
  if (profile != "v1.1" && profile != "v1.7")
    throw std::runtime_error("[node] spec_profile must be \"v1.1\" or \"v1.7\", not \"" + profile +
                             "\"");
  config.spec_profile = profile == "v1.7" ? SpecProfile::kV17 : SpecProfile::kV11;
  node.Read("test_seams", config.test_seams);
  node.Read("metrics_public", config.metrics_public);
  node.ReadMillis("clock_skew_bound_ms", config.clock_skew_bound_ms);
  node.RefuseUnknown();
}

void ReadStorage(const toml::table& root, Config& config) {
  Section retention(root, "retention");
  retention.ReadSeconds("routes_seconds", config.route_retention_ms);
  retention.ReadSeconds("claims_seconds", config.claim_retention_ms);
  retention.ReadSeconds("runs_seconds", config.run_retention_ms);
  retention.ReadSeconds("invocations_seconds", config.invocation_retention_ms);
  retention.RefuseUnknown();
  Section claims(root, "claims");
  claims.ReadMillis("lease_ms", config.lease_ms);
  claims.RefuseUnknown();
  Section storage(root, "storage");
  storage.Read("slots_max", config.slots_max);
  storage.Read("slot_bytes_max", config.slot_bytes_max);
  storage.Read("evict_oldest", config.evict_oldest);
  storage.Read("hot_bytes_max", config.hot_bytes_max);
  storage.Read("replays_bytes_max", config.replays_bytes_max);
  storage.Read("free_bytes_min", config.free_bytes_min);
  storage.Read("inline_sync_us_max", config.inline_sync_us_max);
  storage.RefuseUnknown();
}

void ReadLimits(const toml::table& root, Limits& limits) {
  Section section(root, "limits");
  section.Read("header_bytes_max", limits.header_bytes_max);
  section.Read("body_bytes_max", limits.body_bytes_max);
  section.Read("bodies_bytes_max", limits.bodies_bytes_max);
  section.Read("answers_bytes_max", limits.answers_bytes_max);
  section.Read("stored_answer_bytes_max", limits.stored_answer_bytes_max);
  section.ReadMillis("header_deadline_ms", limits.header_deadline_ms);
  section.ReadMillis("body_deadline_ms", limits.body_deadline_ms);
  section.ReadMillis("write_deadline_ms", limits.write_deadline_ms);
  section.ReadMillis("idle_deadline_ms", limits.idle_deadline_ms);
  section.Read("connections_max", limits.connections_max);
  section.Read("connections_per_address_max", limits.connections_per_address_max);
  section.Read("refusals_max", limits.refusals_max);
  section.ReadMillis("drain_deadline_ms", limits.drain_deadline_ms);
  section.Read("drain_bytes_max", limits.drain_bytes_max);
  section.ReadMillis("stop_grace_ms", limits.stop_grace_ms);
  section.ReadMillis("stop_deadline_ms", limits.stop_deadline_ms);
  section.Read("stream_queue_bytes_max", limits.stream_queue_bytes_max);
  section.ReadMillis("stream_keep_alive_ms", limits.stream_keep_alive_ms);
  section.Read("tenant_requests_per_second", limits.tenant_requests_per_second);
  section.Read("tenant_burst", limits.tenant_burst);
  section.Read("waiters_max", limits.waiters_max);
  section.Read("waiting_bytes_max", limits.waiting_bytes_max);
  section.ReadMillis("wait_ms_max", limits.wait_ms_max);
  section.ReadMillis("lease_ms_max", limits.lease_ms_max);
  section.Read("retention_seconds_max", limits.retention_seconds_max);
  section.Read("fingerprint_bytes_max", limits.fingerprint_bytes_max);
  section.Read("stored_headers_max", limits.stored_headers_max);
  section.Read("reason_bytes_max", limits.reason_bytes_max);
  section.ReadMillis("delay_ms_max", limits.delay_ms_max);
  section.Read("webhook_url_bytes_max", limits.webhook_url_bytes_max);
  section.Read("webhook_events_max", limits.webhook_events_max);
  section.Read("metric_label_values_max", limits.metric_label_values_max);
  section.RefuseUnknown();
}

void ReadPolicies(const toml::table& root, Config& config) {
  const auto* list = root.get("policy");
  if (!list) return;
  if (!list->is_array_of_tables()) throw std::runtime_error("policy must be written as [[policy]]");
  for (const auto& node : *list->as_array()) {
    Section section(node.as_table(), "policy");
    std::string tenant, route, mismatch;
    section.Read("tenant", tenant);
    section.Read("route", route);
    section.Read("mismatch", mismatch);
    section.RefuseUnknown();
    if (!tenant.empty() && !IsTenantName(tenant))
      throw std::runtime_error("[[policy]] tenant must be " + std::string(kTenantRule));
    RoutePolicy policy;
    policy.set_tenant(tenant);
    policy.set_route(route);
    MismatchPolicy parsed = REJECT;
    if (!ParsePolicy(mismatch, parsed))
      throw std::runtime_error("[[policy]] mismatch must be reject, observe or off, not \"" +
                               mismatch + "\"");
    policy.set_mismatch(parsed);
    config.policies.push_back(policy);
  }
}

void ReadCluster(const toml::table& root, Config& config) {
  Section cluster(root, "cluster");
  cluster.Read("peer_listen", config.peer_listen);
  cluster.Read("certificate_file", config.peer_certificate_file);
  cluster.Read("key_file", config.peer_key_file);
  cluster.Read("ca_file", config.peer_ca_file);
  cluster.Read("certificates_dir", config.peer_certificates_dir);
  cluster.Read("fault_injection", config.fault_injection);
  std::uint64_t grace_ms = kForgetGraceMs;
  cluster.ReadSeconds("forget_grace_seconds", grace_ms);
  cluster.ReadMillis("replication_lag_bound_ms", config.replication_lag_bound_ms);
  cluster.RefuseUnknown();
  const auto* list = root.get("peer");
  if (!list) return;
  if (!list->is_array_of_tables()) throw std::runtime_error("peer must be written as [[peer]]");
  for (const auto& node : *list->as_array()) {
    Section section(node.as_table(), "peer");
    PeerAddress& peer = config.peers.emplace_back();
    section.Read("region", peer.region);
    section.Read("address", peer.address);
    section.RefuseUnknown();
  }
  config.forget_grace_ms = static_cast<std::int64_t>(grace_ms);
}

void ReadStrict(const toml::table& root, Config& config) {
  Section group(root, "strict_group");
  group.ReadMillis("answer_ms", config.strict_answer_ms);
  group.Read("log_entries", config.strict_log_entries);
  group.RefuseUnknown();
  const auto* list = root.get("strict");
  if (!list) return;
  if (!list->is_array_of_tables()) throw std::runtime_error("strict must be written as [[strict]]");
  for (const auto& node : *list->as_array()) {
    Section section(node.as_table(), "strict");
    StrictRoute& route = config.strict_routes.emplace_back();
    section.Read("tenant", route.tenant);
    section.Read("endpoint", route.endpoint);
    section.RefuseUnknown();
  }
}

Config Read(const toml::table& root) {
  Config config;
  ReadNode(root, config);
  Section tls(root, "tls");
  tls.Read("certificate_file", config.tls_certificate_file);
  tls.Read("key_file", config.tls_key_file);
  tls.RefuseUnknown();
  Section auth(root, "auth");
  auth.Read("credentials_file", config.credentials_file);
  auth.RefuseUnknown();
  ReadCluster(root, config);
  ReadStrict(root, config);
  ReadStorage(root, config);
  Section log(root, "log");
  log.Read("level", config.log_level);
  log.Read("json", config.log_json);
  log.RefuseUnknown();
  ReadLimits(root, config.limits);
  ReadPolicies(root, config);
  static const std::set<std::string> kSections = {
      "node",      "tls",    "auth",    "cluster", "peer",   "strict_group", "strict",
      "retention", "claims", "storage", "log",     "limits", "policy"};
  for (const auto& [key, value] : root) {
    const std::string name(key.str());
    const std::string line = " (line " + std::to_string(value.source().begin.line) + ")";
    if (kSections.count(name)) continue;
    if (value.is_table()) throw std::runtime_error("unknown section [" + name + "]" + line);
    throw std::runtime_error("the option \"" + name + "\" stands in no section" + line);
  }
  return config;
}

// Relations within [limits]; empty when all hold.
std::string ValidateLimits(const Limits& limits) {
  if (limits.lease_ms_max > kLeaseMsMax)
    return "[limits] lease_ms_max must not exceed seven days: other regions would not believe it";
  if (limits.lease_ms_max < 1000)
    return "[limits] lease_ms_max must be at least 1000: callers ask for whole seconds";
  if (limits.retention_seconds_max < 1 || limits.retention_seconds_max > kSpanSecondsMax)
    return "[limits] retention_seconds_max must be 1 to 3162240000, a hundred years";
  if (limits.header_bytes_max < 1024) return "[limits] header_bytes_max must be at least 1024";
  if (limits.bodies_bytes_max / 2 < limits.body_bytes_max)
    return "[limits] bodies_bytes_max must be at least twice body_bytes_max";
  if (limits.answers_bytes_max / 2 < limits.stored_answer_bytes_max)
    return "[limits] answers_bytes_max must be at least twice stored_answer_bytes_max";
  if (limits.waiting_bytes_max / 2 < limits.body_bytes_max)
    return "[limits] waiting_bytes_max must be at least twice body_bytes_max";
  if (limits.connections_max == 0) return "[limits] connections_max must be at least 1";
  if (limits.connections_per_address_max == 0)
    return "[limits] connections_per_address_max must be at least 1";
  if (limits.stream_queue_bytes_max < 1024)
    return "[limits] stream_queue_bytes_max must be at least 1024";
  if (limits.stop_deadline_ms > 3'600'000)
    return "[limits] stop_deadline_ms must not exceed an hour";
  if (limits.stop_grace_ms > limits.stop_deadline_ms)
    return "[limits] stop_grace_ms must not exceed stop_deadline_ms";
  if (limits.stream_keep_alive_ms < 1000)
    return "[limits] stream_keep_alive_ms must be at least 1000";
  return "";
}

// Relations within [strict_group] and [[strict]]; empty when all hold.
std::string ValidateStrict(const Config& config) {
  if (config.strict_answer_ms < 100 || config.strict_answer_ms > 60'000)
    return "[strict_group] answer_ms must be 100 to 60000";
  if (config.strict_log_entries < 1) return "[strict_group] log_entries must be at least 1";
  for (const StrictRoute& route : config.strict_routes)
    if (route.tenant.empty() || route.endpoint.empty())
      return "[[strict]] tenant and endpoint must not be empty: \"*\" is any";
  for (const StrictRoute& route : config.strict_routes)
    if (route.tenant != "*" && !IsTenantName(route.tenant))
      return "[[strict]] tenant must be \"*\" or " + std::string(kTenantRule);
  if (!config.strict_routes.empty() && config.peers.empty())
    return "[[strict]] is of no use without [[peer]]: a region alone is strict";
  return "";
}

// What is stored here goes to other regions; empty when it can.
std::string ValidateSizes(const Limits& limits) {
  const std::string bound = " must not exceed " + std::to_string(kReplicatedBytesMax) +
                            " with [[peer]]: what is larger does not fit a message between regions";
  if (limits.body_bytes_max > kReplicatedBytesMax) return "[limits] body_bytes_max" + bound;
  if (limits.stored_answer_bytes_max > kReplicatedBytesMax)
    return "[limits] stored_answer_bytes_max" + bound;
  return "";
}

// Relations within [cluster]; empty when all hold.
std::string ValidateCluster(const Config& config) {
  if (config.replication_lag_bound_ms < 1 || config.replication_lag_bound_ms > 60'000)
    return "[cluster] replication_lag_bound_ms must be 1 to 60000";
  if (config.peers.empty())
    return config.peer_listen.empty() ? "" : "[cluster] peer_listen is of no use without [[peer]]";
  const auto listen = ParseAddress(config.peer_listen);
  if (!listen || !IsIpAddress(listen->host))
    return "[cluster] peer_listen must be IP-ADDRESS:PORT, not \"" + config.peer_listen + "\"";
  if (config.peer_certificate_file.empty() || config.peer_key_file.empty() ||
      config.peer_ca_file.empty() || config.peer_certificates_dir.empty())
    return "[cluster] with [[peer]] needs certificate_file, key_file, ca_file and certificates_dir";
  if (std::string error = ValidateSizes(config.limits); !error.empty()) return error;
  bool loopback = IsLoopback(config.listen_address) && IsLoopback(listen->host);
  // The strict group has its own code in run ids, as if it were one region more.
  std::map<std::string, std::string> regions = {{RegionCode("*"), "of the strict group"}};
  const auto [group, fits] = regions.emplace(RegionCode(config.region), config.region);
  if (!fits) return "region " + config.region + " has the code of the strict group: rename it";
  for (const PeerAddress& peer : config.peers) {
    if (!IsRegionName(peer.region)) return "[[peer]] region must be 1 to 32 of a-z, 0-9 and -";
    const auto address = ParseAddress(peer.address);
    if (!address || address->port == 0)
      return "[[peer]] " + peer.region + " needs an address HOST:PORT";
    loopback = loopback && IsLoopback(address->host);
    const auto [other, added] = regions.emplace(RegionCode(peer.region), peer.region);
    if (added) continue;
    if (other->second == peer.region)
      return "[[peer]] " + peer.region +
             (peer.region == config.region ? " is this node's own region" : " is there twice");
    return "regions " + other->second + " and " + peer.region +
           " have the same code in run ids and cannot form one deployment: rename one";
  }
  if (config.fault_injection && !loopback)
    return "[cluster] fault_injection is for development clusters whose addresses are all loopback";
  return "";
}

}  // namespace

std::optional<NetworkAddress> ParseAddress(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const std::string port(text.substr(colon + 1));
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  if (host.empty() || port.empty() || port.size() > 5 ||
      port.find_first_not_of("0123456789") != std::string::npos || std::stoul(port) > 65535)
    return std::nullopt;
  return NetworkAddress{std::string(host), static_cast<std::uint16_t>(std::stoul(port))};
}

bool IsLoopback(std::string_view host) {
  return host == "::1" || (host.substr(0, 4) == "127." &&
                           host.find_first_not_of("0123456789.") == std::string_view::npos);
}

bool IsRegionName(std::string_view name) {
  return !name.empty() && name.size() <= 32 &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
}

std::variant<Config, std::string> ParseConfig(std::string_view text) {
  try {
    Config config = Read(toml::parse(text));
    if (std::string error = ValidateConfig(config); !error.empty()) return error;
    return config;
  } catch (const toml::parse_error& error) {
    std::ostringstream out;
    out << error.description() << " (line " << error.source().begin.line << ")";
    return out.str();
  } catch (const std::runtime_error& error) {
    return std::string(error.what());
  }
}

std::variant<Config, std::string> LoadConfig(const std::string& path) {
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path)) return "cannot read the file " + path;
  std::ostringstream text;
  text << file.rdbuf();
  auto parsed = ParseConfig(text.str());
  if (auto* error = std::get_if<std::string>(&parsed)) return path + ": " + *error;
  return parsed;
}

std::string ValidateConfig(const Config& config) {
  constexpr std::uint64_t kDayMs = 24ull * 3600 * 1000;
  if (!IsRegionName(config.region))
    return "[node] region must be 1 to 32 of a-z, 0-9 and -, not \"" + config.region + "\"";
  if (config.route_retention_ms != 0 && config.route_retention_ms < kDayMs && !config.test_seams)
    return "[retention] routes_seconds must be at least 86400 (or 0, never): callers rely on 24 "
           "hours";
  if (config.clock_skew_bound_ms < 1 || config.clock_skew_bound_ms > 3'600'000)
    return "[node] clock_skew_bound_ms must be 1 to 3600000";
  if (config.lease_ms < 100) return "[claims] lease_ms must be at least 100";
  if (static_cast<std::int64_t>(config.lease_ms) > config.limits.lease_ms_max)
    return "[claims] lease_ms must not exceed [limits] lease_ms_max";
  if (config.evict_oldest && !config.peers.empty())
    return "[storage] evict_oldest is for a node without peers: a region must not forget what the "
           "others keep";
  if (config.tls_certificate_file.empty() != config.tls_key_file.empty())
    return "[tls] needs both certificate_file and key_file, or neither";
  if (config.hot_bytes_max < (1u << 20)) return "[storage] hot_bytes_max must be at least 1048576";
  static const std::set<std::string> kLevels = {"trace", "debug", "info", "warn", "error"};
  if (!kLevels.count(config.log_level))
    return "[log] level must be trace, debug, info, warn or error, not \"" + config.log_level +
           "\"";
  if (std::string error = ValidateLimits(config.limits); !error.empty()) return error;
  if (std::string error = ValidateStrict(config); !error.empty()) return error;
  return ValidateCluster(config);
}

const char* PolicyName(MismatchPolicy policy) {
  return policy == OFF ? "off" : policy == OBSERVE ? "observe" : "reject";
}

bool ParsePolicy(std::string_view name, MismatchPolicy& policy) {
  if (name == "reject")
    policy = REJECT;
  else if (name == "observe")
    policy = OBSERVE;
  else if (name == "off")
    policy = OFF;
  else
    return false;
  return true;
}

}  // namespace once
