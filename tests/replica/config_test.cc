#include "replica/config.h"

#include <gtest/gtest.h>

namespace once {
namespace {

std::string ErrorOf(const std::string& text) {
  const auto parsed = ParseConfig(text);
  const auto* error = std::get_if<std::string>(&parsed);
  return error ? *error : "";
}

Config Parsed(const std::string& text) {
  const auto parsed = ParseConfig(text);
  EXPECT_TRUE(std::holds_alternative<Config>(parsed)) << ErrorOf(text);
  return std::holds_alternative<Config>(parsed) ? std::get<Config>(parsed) : Config{};
}

/// The error names every one of the words.
void ExpectRefused(const std::string& text, const std::vector<std::string>& words) {
  const std::string error = ErrorOf(text);
  EXPECT_NE(error, "") << text << " was accepted";
  for (const std::string& word : words)
    EXPECT_NE(error.find(word), std::string::npos) << error << " does not name " << word;
}

TEST(Config, EveryOptionInMillisecondsHasAnUpperBound) {
  const std::pair<const char*, const char*> sections[] = {{"node", "clock_skew_bound_ms"},
                                                          {"claims", "lease_ms"},
                                                          {"cluster", "replication_lag_bound_ms"},
                                                          {"strict_group", "answer_ms"},
                                                          {"limits", "header_deadline_ms"},
                                                          {"limits", "body_deadline_ms"},
                                                          {"limits", "write_deadline_ms"},
                                                          {"limits", "idle_deadline_ms"},
                                                          {"limits", "drain_deadline_ms"},
                                                          {"limits", "stop_grace_ms"},
                                                          {"limits", "stop_deadline_ms"},
                                                          {"limits", "stream_keep_alive_ms"},
                                                          {"limits", "wait_ms_max"},
                                                          {"limits", "lease_ms_max"},
                                                          {"limits", "delay_ms_max"}};
  for (const auto& [section, option] : sections)
    for (const std::int64_t value : {kOptionMsMax + 1, INT64_MAX})
      ExpectRefused("[" + std::string(section) + "]\n" + option + " = " + std::to_string(value),
                    {option, "a hundred years", "line 2"});
  EXPECT_EQ(Parsed("[limits]\nstream_keep_alive_ms = " + std::to_string(kOptionMsMax))
                .limits.stream_keep_alive_ms,
            kOptionMsMax);
}

TEST(Config, AnEmptyFileIsTheDefaults) {
  const Config config = Parsed("");
  EXPECT_EQ(config.region, "local");
  EXPECT_EQ(config.listen_port, 8100);
  EXPECT_EQ(config.route_retention_ms, 86'400'000u) << "OW-L1-07";
  EXPECT_FALSE(config.insecure_dev);
  EXPECT_EQ(ValidateConfig(Config{}), "");
}

TEST(Config, ReadsEverySection) {
  const Config config = Parsed(R"(
[node]
region = "eu-west-1"
listen = "[::1]:9000"
spec_profile = "v1.7"
[tls]
certificate_file = "c"
key_file = "k"
[auth]
credentials_file = "keys.json"
[retention]
routes_seconds = 90000
claims_seconds = 0
[claims]
lease_ms = 5000
[storage]
slots_max = 10
evict_oldest = true
[log]
level = "warn"
[limits]
tenant_requests_per_second = 2
tenant_burst = 2.5
[[policy]]
route = "pay"
mismatch = "observe"
)");
  EXPECT_EQ(config.region, "eu-west-1");
  EXPECT_EQ(config.listen_address, "::1");
  EXPECT_EQ(config.listen_port, 9000);
  EXPECT_EQ(config.spec_profile, SpecProfile::kV17);
  EXPECT_EQ(config.route_retention_ms, 90'000'000u);
  EXPECT_EQ(config.claim_retention_ms, 0u) << "CK-05: never expires";
  EXPECT_EQ(config.lease_ms, 5000u);
  EXPECT_TRUE(config.evict_oldest);
  EXPECT_EQ(config.limits.tenant_requests_per_second, 2.0);
  EXPECT_EQ(config.limits.tenant_burst, 2.5);
  ASSERT_EQ(config.policies.size(), 1u);
  EXPECT_EQ(config.policies[0].mismatch(), OBSERVE);
}

TEST(Config, AnUnknownOptionIsRefusedByNameAndLine) {
  ExpectRefused("[node]\nregion = \"eu\"\nregoin = \"us\"\n", {"node", "regoin", "line 3"});
  ExpectRefused("[limits]\nbody_byte_max = 5\n", {"limits", "body_byte_max", "line 2"});
  ExpectRefused("[nodes]\n", {"nodes"});
  ExpectRefused("[[policy]]\nmismatch = \"off\"\nrout = \"x\"\n", {"policy", "rout", "line 3"});
  ExpectRefused("[[peer]]\nregion = \"us\"\nadress = \"x\"\n", {"peer", "adress", "line 3"});
  ExpectRefused("[node]\ninsecure_dev = true\n", {"insecure_dev"});
}

TEST(Config, AWrongTypeIsRefusedByNameAndLine) {
  ExpectRefused("[node]\nregion = 5\n", {"region", "a string", "line 2"});
  ExpectRefused("[node]\ntest_seams = \"yes\"\n", {"test_seams", "true or false"});
  ExpectRefused("[claims]\nlease_ms = 1.5\n", {"lease_ms", "whole number"});
  ExpectRefused("[claims]\nlease_ms = \"30s\"\n", {"lease_ms", "whole number"});
  ExpectRefused("[limits]\ntenant_burst = \"x\"\n", {"tenant_burst", "number"});
  ExpectRefused("node = 5\n", {"node", "table"});
  ExpectRefused("policy = 5\n", {"policy"});
  ExpectRefused("[node\n", {"line 1"});
}

TEST(Config, ANumberOutOfRangeIsRefusedByName) {
  ExpectRefused("[storage]\nslots_max = -1\n", {"slots_max", "in range"});
  ExpectRefused("[retention]\nclaims_seconds = 9000000000000000000\n", {"claims_seconds", "range"});
  ExpectRefused("[limits]\ntenant_requests_per_second = -0.5\n", {"tenant_requests_per_second"});
  ExpectRefused("[limits]\ntenant_requests_per_second = nan\n", {"tenant_requests_per_second"});
  ExpectRefused("[limits]\ntenant_burst = inf\n", {"tenant_burst"});
  ExpectRefused("[node]\nclock_skew_bound_ms = 0\n", {"clock_skew_bound_ms", "3600000"});
  ExpectRefused("[node]\nclock_skew_bound_ms = 3600001\n", {"clock_skew_bound_ms", "3600000"});
  ExpectRefused("[claims]\nlease_ms = 99\n", {"lease_ms", "100"});
  ExpectRefused("[claims]\nlease_ms = 3600001\n", {"lease_ms", "lease_ms_max"});
  ExpectRefused("[storage]\nhot_bytes_max = 1048575\n", {"hot_bytes_max", "1048576"});
  ExpectRefused("[limits]\nheader_bytes_max = 1023\n", {"header_bytes_max", "1024"});
  ExpectRefused("[limits]\nconnections_max = 0\n", {"connections_max"});
  ExpectRefused("[limits]\nconnections_per_address_max = 0\n",
                {"connections_per_address_max", "at least 1"});
  ExpectRefused("[limits]\nstream_queue_bytes_max = 1023\n", {"stream_queue_bytes_max", "1024"});
  ExpectRefused("[limits]\nlease_ms_max = 999\n[claims]\nlease_ms = 999\n",
                {"lease_ms_max", "1000"});
  ExpectRefused("[limits]\nanswers_bytes_max = 2097151\n", {"answers_bytes_max", "twice"});
  ExpectRefused("[limits]\nwaiting_bytes_max = 2097151\n", {"waiting_bytes_max", "twice"});
  ExpectRefused("[limits]\nbodies_bytes_max = 2097151\n", {"bodies_bytes_max", "twice"});
  ExpectRefused("[limits]\nlease_ms_max = 604800001\n", {"lease_ms_max", "seven days"});
  ExpectRefused("[limits]\nretention_seconds_max = 0\n", {"retention_seconds_max", "1 to"});
  ExpectRefused("[limits]\nretention_seconds_max = 3162240001\n", {"retention_seconds_max"});
  ExpectRefused("[limits]\ndelay_ms_max = 3162240000001\n", {"delay_ms_max", "hundred years"});
  ExpectRefused("[limits]\nstop_deadline_ms = 3600001\n", {"stop_deadline_ms", "hour"});
  ExpectRefused("[limits]\nstop_deadline_ms = 499\n", {"stop_grace_ms", "stop_deadline_ms"});
  ExpectRefused("[limits]\nstream_keep_alive_ms = 999\n", {"stream_keep_alive_ms", "1000"});
}

TEST(Config, OW_L1_07_RoutesKeepTheirAnswersForADayUnlessThisIsATest) {
  ExpectRefused("[retention]\nroutes_seconds = 86399\n", {"routes_seconds", "86400"});
  EXPECT_EQ(ErrorOf("[retention]\nroutes_seconds = 86400\n"), "");
  EXPECT_EQ(ErrorOf("[retention]\nroutes_seconds = 0\n"), "") << "never expires";
  EXPECT_EQ(ErrorOf("[node]\ntest_seams = true\n[retention]\nroutes_seconds = 1\n"), "");
}

TEST(Config, ARegionIsAName) {
  for (const char* region :
       {"", "EU", "eu_1", "eu west", "eu/..", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"})
    ExpectRefused("[node]\nregion = \"" + std::string(region) + "\"\n", {"region"});
}

TEST(Config, ATenantOfARuleIsANameThatATenantMayHave) {
  ExpectRefused("[[policy]]\ntenant = \"a:b\"\nmismatch = \"off\"\n",
                {"[[policy]] tenant", "1 to 64"});
  ExpectRefused("[[strict]]\ntenant = \"a:b\"\n", {"[[strict]] tenant", "1 to 64"});
}

TEST(Config, AListenAddressHasAPort) {
  for (const char* listen : {"localhost", "1.2.3.4:", "1.2.3.4:x", "1.2.3.4:65536", "1.2.3.4:-1"})
    ExpectRefused("[node]\nlisten = \"" + std::string(listen) + "\"\n", {"listen", listen});
  EXPECT_EQ(Parsed("[node]\nlisten = \"0.0.0.0:0\"\n").listen_port, 0);
}

TEST(Config, ChoicesAreNamedInTheError) {
  ExpectRefused("[node]\nspec_profile = \"v2\"\n", {"v1.1", "v1.7"});
  ExpectRefused("[log]\nlevel = \"loud\"\n", {"level", "debug"});
  ExpectRefused("[[policy]]\nroute = \"x\"\n", {"reject", "observe", "off"});
  ExpectRefused("[tls]\nkey_file = \"k\"\n", {"certificate_file"});
}

TEST(Config, AMissingFileIsNamed) {
  const auto loaded = LoadConfig("/nowhere/once.toml");
  ASSERT_TRUE(std::holds_alternative<std::string>(loaded));
  EXPECT_NE(std::get<std::string>(loaded).find("/nowhere/once.toml"), std::string::npos);
}

TEST(Config, PolicyNamesReadBack) {
  for (const MismatchPolicy policy : {REJECT, OBSERVE, OFF}) {
    MismatchPolicy parsed = policy == REJECT ? OFF : REJECT;
    EXPECT_TRUE(ParsePolicy(PolicyName(policy), parsed));
    EXPECT_EQ(parsed, policy);
  }
  MismatchPolicy untouched = OBSERVE;
  EXPECT_FALSE(ParsePolicy("Reject", untouched));
  EXPECT_EQ(untouched, OBSERVE);
}

}  // namespace
}  // namespace once
