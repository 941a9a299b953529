// Real nodes of several regions, with mutual TLS between them.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/system/caller.h"
#include "tests/system/node_process.h"
#include "tests/system/region_network.h"

namespace once {

/// A directory as ops/certs makes it, with us, eu, ap and sa; made once per process.
const std::string& SharedCertificates();
/// The same from an authority that no cluster trusts.
const std::string& ForeignCertificates();

using Regions = std::vector<std::string>;

/// Regions us, eu and ap, and one tenant, acme, that may use each of them. Nodes that a test does
/// not start are not there. Destroyed, it kills them.
class ClusterProcess {
 public:
  explicit ClusterProcess(std::unique_ptr<RegionNetwork> network = MakeLoopbackNetwork());

  const Regions& regions() const { return regions_; }
  NodeProcess& node(const std::string& region) { return *nodes_.at(region); }
  const RegionNetwork& network() const { return *network_; }
  std::string PeerAddressOf(const std::string& region) const;

  /// Takes effect at the region's next start: another directory of certificates, and whose
  /// certificate it shows and which region it says it is.
  void UseCertificates(const std::string& region, const std::string& directory,
                       const std::string& shown_region);
  /// Off for addresses that are not loopback, where Cut and Heal are not to be had.
  void SetFaultInjection(bool on);

  testing::AssertionResult Start(const std::string& region);
  testing::AssertionResult StartAll();

  /// The switch for development clusters: from now on these regions do not hear those.
  void Cut(const Regions& one, const Regions& other);
  void Heal();

  /// Connected when made; a node that was started again needs another one.
  Caller Acme(const std::string& region);
  Caller Admin(const std::string& region);
  const std::string& AcmeKey(const std::string& region) const { return acme_keys_.at(region); }
  const std::string& AdminKey(const std::string& region) const { return admin_keys_.at(region); }

  /// That many new claims of acme, as fast as the region takes them; the same keys for one seed.
  testing::AssertionResult ClaimMany(const std::string& region, int count, int seed);
  /// And each of them settled.
  testing::AssertionResult SettleMany(const std::string& region, int count, int seed);

  /// One series, as `name{label="value"}`, or the sum of all that have the name.
  double Metric(const std::string& region, const std::string& series);
  /// The sum over all regions.
  double TotalMetric(const std::string& series);
  double PartitionSeconds(const std::string& region, const std::string& peer);
  std::size_t ResidentBytes(const std::string& region);

  /// True as soon as every region can show the run.
  bool IsEverywhere(const std::string& run_id);
  /// Everything said so far has arrived everywhere: a new run of each region has.
  bool IsQuiet();

 private:
  void Configure(const std::string& region, const std::string& certificates,
                 const std::string& shown_region);
  void SetCut(const std::string& region, const Regions& from);
  testing::AssertionResult PutLoad(const std::string& region, int seed,
                                   const std::vector<std::string>& job);

  const Regions regions_ = {"us", "eu", "ap"};
  const std::unique_ptr<RegionNetwork> network_;
  bool fault_injection_ = true;
  int markers_ = 0;
  std::map<std::string, std::unique_ptr<NodeProcess>> nodes_;
  std::map<std::string, std::string> acme_keys_;
  std::map<std::string, std::string> admin_keys_;
};

constexpr const char* kConflictsTotal = "openwop_idempotency_cross_region_conflicts_total";

}  // namespace once
