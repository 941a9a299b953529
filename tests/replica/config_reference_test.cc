// ops/config/once.toml is the manual of the configuration: complete, and true about the defaults.
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "replica/config.h"

namespace once {
namespace {

const std::string kReference = std::string(ONCE_SOURCE_DIR) + "/ops/config/once.toml";

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Every option that the parser asks for, by the one way it has to ask.
std::set<std::string> OptionsOfParser() {
  const std::string source = TextOf(std::string(ONCE_SOURCE_DIR) + "/replica/config.cc");
  static const std::regex kRead(R"(\.Read(?:Seconds|Millis)?\("(\w+)\")");
  std::set<std::string> options;
  for (std::sregex_iterator at(source.begin(), source.end(), kRead), end; at != end; ++at)
    options.insert((*at)[1]);
  return options;
}

// Every option that the reference names, in force or commented out.
std::set<std::string> OptionsOfReference() {
  static const std::regex kOption(R"((?:# )?(\w+) = .*)");
  std::set<std::string> options;
  std::istringstream lines(TextOf(kReference));
  std::smatch match;
  for (std::string line; std::getline(lines, line);)
    if (std::regex_match(line, match, kOption)) options.insert(match[1]);
  return options;
}

// The reference with its commented examples in force.
std::string WithExamplesInForce() {
  static const std::regex kCommentedOut(R"((^|\n)# (\[+\w+\]+|\w+ = [^\n]*)(?=\n))");
  return std::regex_replace(TextOf(kReference), kCommentedOut, "$1$2");
}

TEST(ConfigReference, IsAValidConfiguration) {
  const auto loaded = LoadConfig(kReference);
  const auto* error = std::get_if<std::string>(&loaded);
  EXPECT_EQ(error, nullptr) << *error;
}

TEST(ConfigReference, NamesEveryOptionOfTheParserAndNoOther) {
  const auto parser = OptionsOfParser();
  ASSERT_GT(parser.size(), 40u);  // the pattern still finds them
  EXPECT_EQ(OptionsOfReference(), parser);
}

TEST(ConfigReference, ClusterExampleIsValidAndItsDefaultsAreTrue) {
  const auto parsed = ParseConfig(WithExamplesInForce());
  const auto* config = std::get_if<Config>(&parsed);
  ASSERT_NE(config, nullptr) << std::get<std::string>(parsed);
  ASSERT_EQ(config->peers.size(), 1u);
  EXPECT_EQ(config->peers[0].region, "us");
  EXPECT_EQ(config->replication_lag_bound_ms, Config().replication_lag_bound_ms);
  EXPECT_EQ(config->fault_injection, Config().fault_injection);
  const auto with_default = ParseConfig(
      std::regex_replace(WithExamplesInForce(), std::regex("forget_grace_seconds = [0-9]+\n"), ""));
  ASSERT_TRUE(std::holds_alternative<Config>(with_default));
  EXPECT_EQ(config->forget_grace_ms, std::get<Config>(with_default).forget_grace_ms);
  EXPECT_GT(config->forget_grace_ms, 0);
}

TEST(ConfigReference, PolicyExampleIsValid) {
  const auto parsed = ParseConfig(WithExamplesInForce());
  const auto* config = std::get_if<Config>(&parsed);
  ASSERT_NE(config, nullptr) << std::get<std::string>(parsed);
  ASSERT_EQ(config->policies.size(), 1u);
  EXPECT_EQ(config->policies[0].tenant(), "acme");
  EXPECT_EQ(config->policies[0].mismatch(), OBSERVE);
}

TEST(ConfigReference, NodeAndStorageAreTheDefaults) {
  const auto loaded = LoadConfig(kReference);
  ASSERT_TRUE(std::holds_alternative<Config>(loaded));
  const Config& file = std::get<Config>(loaded);
  const Config defaults;
  EXPECT_EQ(file.region, defaults.region);
  EXPECT_EQ(file.listen_address, defaults.listen_address);
  EXPECT_EQ(file.listen_port, defaults.listen_port);
  EXPECT_EQ(file.spec_profile, defaults.spec_profile);
  EXPECT_EQ(file.test_seams, defaults.test_seams);
  EXPECT_EQ(file.metrics_public, defaults.metrics_public);
  EXPECT_EQ(file.clock_skew_bound_ms, defaults.clock_skew_bound_ms);
  EXPECT_EQ(file.tls_certificate_file, defaults.tls_certificate_file);
  EXPECT_EQ(file.tls_key_file, defaults.tls_key_file);
  EXPECT_EQ(file.route_retention_ms, defaults.route_retention_ms);
  EXPECT_EQ(file.claim_retention_ms, defaults.claim_retention_ms);
  EXPECT_EQ(file.run_retention_ms, defaults.run_retention_ms);
  EXPECT_EQ(file.invocation_retention_ms, defaults.invocation_retention_ms);
  EXPECT_EQ(file.lease_ms, defaults.lease_ms);
  EXPECT_EQ(file.slots_max, defaults.slots_max);
  EXPECT_EQ(file.slot_bytes_max, defaults.slot_bytes_max);
  EXPECT_EQ(file.evict_oldest, defaults.evict_oldest);
  EXPECT_EQ(file.hot_bytes_max, defaults.hot_bytes_max);
  EXPECT_EQ(file.replays_bytes_max, defaults.replays_bytes_max);
  EXPECT_EQ(file.free_bytes_min, defaults.free_bytes_min);
  EXPECT_EQ(file.inline_sync_us_max, defaults.inline_sync_us_max);
  EXPECT_EQ(file.log_level, defaults.log_level);
  EXPECT_EQ(file.log_json, defaults.log_json);
  EXPECT_TRUE(file.policies.empty());
  // What has no default is set to a path that an operator would expect.
  EXPECT_EQ(file.data_dir, "/var/lib/once");
  EXPECT_EQ(file.credentials_file, "/etc/once/keys.json");
}

TEST(ConfigReference, LimitsAreTheDefaults) {
  const auto loaded = LoadConfig(kReference);
  ASSERT_TRUE(std::holds_alternative<Config>(loaded));
  const Limits& file = std::get<Config>(loaded).limits;
  const Limits defaults;
  EXPECT_EQ(file.header_bytes_max, defaults.header_bytes_max);
  EXPECT_EQ(file.body_bytes_max, defaults.body_bytes_max);
  EXPECT_EQ(file.bodies_bytes_max, defaults.bodies_bytes_max);
  EXPECT_EQ(file.answers_bytes_max, defaults.answers_bytes_max);
  EXPECT_EQ(file.stored_answer_bytes_max, defaults.stored_answer_bytes_max);
  EXPECT_EQ(file.header_deadline_ms, defaults.header_deadline_ms);
  EXPECT_EQ(file.body_deadline_ms, defaults.body_deadline_ms);
  EXPECT_EQ(file.write_deadline_ms, defaults.write_deadline_ms);
  EXPECT_EQ(file.idle_deadline_ms, defaults.idle_deadline_ms);
  EXPECT_EQ(file.connections_max, defaults.connections_max);
  EXPECT_EQ(file.connections_per_address_max, defaults.connections_per_address_max);
  EXPECT_EQ(file.refusals_max, defaults.refusals_max);
  EXPECT_EQ(file.drain_deadline_ms, defaults.drain_deadline_ms);
  EXPECT_EQ(file.drain_bytes_max, defaults.drain_bytes_max);
  EXPECT_EQ(file.stop_grace_ms, defaults.stop_grace_ms);
  EXPECT_EQ(file.stop_deadline_ms, defaults.stop_deadline_ms);
  EXPECT_EQ(file.stream_queue_bytes_max, defaults.stream_queue_bytes_max);
  EXPECT_EQ(file.stream_keep_alive_ms, defaults.stream_keep_alive_ms);
  EXPECT_EQ(file.tenant_requests_per_second, defaults.tenant_requests_per_second);
  EXPECT_EQ(file.tenant_burst, defaults.tenant_burst);
  EXPECT_EQ(file.waiters_max, defaults.waiters_max);
  EXPECT_EQ(file.waiting_bytes_max, defaults.waiting_bytes_max);
  EXPECT_EQ(file.wait_ms_max, defaults.wait_ms_max);
  EXPECT_EQ(file.lease_ms_max, defaults.lease_ms_max);
  EXPECT_EQ(file.retention_seconds_max, defaults.retention_seconds_max);
  EXPECT_EQ(file.fingerprint_bytes_max, defaults.fingerprint_bytes_max);
  EXPECT_EQ(file.stored_headers_max, defaults.stored_headers_max);
  EXPECT_EQ(file.reason_bytes_max, defaults.reason_bytes_max);
  EXPECT_EQ(file.delay_ms_max, defaults.delay_ms_max);
  EXPECT_EQ(file.webhook_url_bytes_max, defaults.webhook_url_bytes_max);
  EXPECT_EQ(file.webhook_events_max, defaults.webhook_events_max);
  EXPECT_EQ(file.metric_label_values_max, defaults.metric_label_values_max);
}

TEST(ConfigReference, AMisspeltOptionIsRefusedByName) {
  const auto parsed = ParseConfig("[limits]\nbody_byte_max = 1\n");
  ASSERT_TRUE(std::holds_alternative<std::string>(parsed));
  EXPECT_NE(std::get<std::string>(parsed).find("body_byte_max"), std::string::npos);
}

}  // namespace
}  // namespace once
