// What an operator may set. ops/config/once.toml documents every option with its reason.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "replica/ledger/records.pb.h"
#include "replica/limits.h"

namespace once {

enum class SpecProfile { kV11, kV17 };

struct PeerAddress {
  std::string region;
  std::string address;  // HOST:PORT; an IPv6 literal may stand in brackets
};

/// One [[strict]] table: "*" is any.
struct StrictRoute {
  std::string tenant = "*";
  std::string endpoint = "*";
};

struct Config {
  // [node]
  std::string region = "local";
  std::string listen_address = "127.0.0.1";
  std::uint16_t listen_port = 8100;
  std::string data_dir;
  SpecProfile spec_profile = SpecProfile::kV11;
  bool test_seams = false;
  bool metrics_public = false;
  bool insecure_dev = false;  // no credentials: only the command line can say so
  std::int64_t clock_skew_bound_ms = 1000;

  // [tls]
  std::string tls_certificate_file;
  std::string tls_key_file;

  // [auth]
  std::string credentials_file;

  // [retention] milliseconds; 0 never expires
  std::uint64_t route_retention_ms = 24ull * 3600 * 1000;
  std::uint64_t claim_retention_ms = 24ull * 3600 * 1000;
  std::uint64_t run_retention_ms = 7ull * 24 * 3600 * 1000;
  std::int64_t forget_grace_ms = 0;  // kept beyond expiry, so that a late conflict is still seen
  std::uint64_t invocation_retention_ms = 14ull * 24 * 3600 * 1000;  // advertised; Layer 2

  // [cluster], and its [[peer]] tables; without peers the region stands alone
  std::string peer_listen;
  std::vector<PeerAddress> peers;
  std::string peer_certificate_file;
  std::string peer_key_file;
  std::string peer_ca_file;
  std::string peer_certificates_dir;  // holds <region>.crt of every peer
  bool fault_injection = false;       // development only: all addresses must be loopback
  std::int64_t replication_lag_bound_ms = 5000;

  // [strict_group], and [[strict]] tables: what goes through the log of the strict group
  std::vector<StrictRoute> strict_routes;
  std::int64_t strict_answer_ms = 2000;
  std::uint64_t strict_log_entries = 4096;
  std::uint64_t strict_append_bytes = 256 << 10;  // this and the next: no options, tests lower them
  std::size_t strict_chunk_bytes = 512 << 10;

  // [claims]
  std::uint64_t lease_ms = 30'000;

  // [storage]
  std::uint64_t slots_max = 50'000'000;
  std::uint64_t slot_bytes_max = 64ull << 30;
  bool evict_oldest = false;
  std::size_t hot_bytes_max = 24u << 20;
  std::size_t replays_bytes_max = 24u << 20;
  std::uint64_t free_bytes_min = 128u << 20;
  std::int64_t inline_sync_us_max = 1000;

  // [log]
  std::string log_level = "info";
  bool log_json = false;

  // [[policy]]
  std::vector<RoutePolicy> policies;

  // [limits]
  Limits limits;
};

/// Parses TOML text. The error names the line and the option; an unknown option is an error,
/// because a misspelt bound is no bound.
std::variant<Config, std::string> ParseConfig(std::string_view text);
std::variant<Config, std::string> LoadConfig(const std::string& path);

/// Relations between options that a single value cannot show; empty when all hold.
std::string ValidateConfig(const Config& config);

struct NetworkAddress {
  std::string host;
  std::uint16_t port = 0;
};
/// HOST:PORT or [HOST]:PORT; nothing when it is neither.
std::optional<NetworkAddress> ParseAddress(std::string_view text);
/// True for a loopback IP literal; a name is never one, as it may come to mean anything.
bool IsLoopback(std::string_view host);
/// 1 to 32 of a-z, 0-9 and -.
bool IsRegionName(std::string_view name);

const char* PolicyName(MismatchPolicy policy);
/// False when `name` is none of reject, observe, off.
bool ParsePolicy(std::string_view name, MismatchPolicy& policy);

}  // namespace once
