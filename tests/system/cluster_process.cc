#include "tests/system/cluster_process.h"

#include <algorithm>
#include <sstream>

#include "replica/env/check.h"

namespace once {
namespace {

constexpr int kPeerPort = 7400;
constexpr std::chrono::seconds kLoadPatience{120};

struct CertificateDirectory {
  CertificateDirectory() {
    const ProgramResult made = RunProgram({std::string(ONCE_SOURCE_DIR) + "/ops/certs", "--dir",
                                           scratch.path(), "us", "eu", "ap", "sa"});
    Check(made.exit_code == 0, "certificates can be made");
  }
  ScratchDirectory scratch;
  const std::string path = scratch.path();
};

}  // namespace

const std::string& SharedCertificates() {
  static const CertificateDirectory directory;
  return directory.path;
}

const std::string& ForeignCertificates() {
  static const CertificateDirectory directory;
  return directory.path;
}

ClusterProcess::ClusterProcess(std::unique_ptr<RegionNetwork> network)
    : network_(std::move(network)) {
  for (const std::string& region : regions_) {
    auto& node = nodes_[region] = std::make_unique<NodeProcess>();
    acme_keys_[region] = node->AddKey("acme");
    admin_keys_[region] = node->AddKey("operations", "operator", {"admin"});
    Configure(region, SharedCertificates(), region);
  }
}

std::string ClusterProcess::PeerAddressOf(const std::string& region) const {
  const auto at = std::find(regions_.begin(), regions_.end(), region) - regions_.begin();
  return network_->HostOf(region) + ":" + std::to_string(kPeerPort + at);
}

void ClusterProcess::Configure(const std::string& region, const std::string& certificates,
                               const std::string& shown_region) {
  NodeSetup& setup = node(region).setup;
  setup.region = shown_region;
  std::ostringstream text;
  text << "[cluster]\npeer_listen = \"" << PeerAddressOf(region) << "\"\ncertificate_file = \""
       << certificates << "/" << shown_region << ".crt\"\nkey_file = \"" << certificates << "/"
       << shown_region << ".key\"\nca_file = \"" << certificates
       << "/ca.crt\"\ncertificates_dir = \"" << certificates
       << "\"\nfault_injection = " << (fault_injection_ ? "true" : "false") << "\n";
  for (const std::string& peer : regions_)
    if (peer != region)
      text << "[[peer]]\nregion = \"" << peer << "\"\naddress = \"" << PeerAddressOf(peer)
           << "\"\n";
  setup.settings = text.str();
}

void ClusterProcess::UseCertificates(const std::string& region, const std::string& directory,
                                     const std::string& shown_region) {
  Configure(region, directory, shown_region);
}

void ClusterProcess::SetFaultInjection(bool on) {
  fault_injection_ = on;
  for (const std::string& region : regions_) Configure(region, SharedCertificates(), region);
}

testing::AssertionResult ClusterProcess::Start(const std::string& region) {
  const auto inside = network_->Enter(region);
  return node(region).Start();
}

testing::AssertionResult ClusterProcess::StartAll() {
  for (const std::string& region : regions_)
    if (const auto started = Start(region); !started) return started;
  return testing::AssertionSuccess();
}

void ClusterProcess::SetCut(const std::string& region, const Regions& from) {
  std::string list;
  for (const std::string& name : from) list += (list.empty() ? "\"" : ",\"") + name + "\"";
  Caller admin = Admin(region);
  const HttpResult result = admin.http().Request("PUT", "/v1/admin/cut", admin.Headers(),
                                                 R"({"regions":[)" + list + "]}");
  EXPECT_EQ(result.status, 200) << result.body;
}

void ClusterProcess::Cut(const Regions& one, const Regions& other) {
  for (const std::string& region : one) SetCut(region, other);
  for (const std::string& region : other) SetCut(region, one);
}

void ClusterProcess::Heal() {
  for (const std::string& region : regions_) SetCut(region, {});
}

Caller ClusterProcess::Acme(const std::string& region) {
  const auto inside = network_->Enter(region);
  return Caller(node(region).port(), acme_keys_.at(region));
}

Caller ClusterProcess::Admin(const std::string& region) {
  const auto inside = network_->Enter(region);
  return Caller(node(region).port(), admin_keys_.at(region));
}

testing::AssertionResult ClusterProcess::PutLoad(const std::string& region, int seed,
                                                 const std::vector<std::string>& job) {
  const auto inside = network_->Enter(region);
  const std::string log = node(region).scratch() / "load";
  Program::Options options;
  options.arguments = {
      ProgramPath("once-load"), "once", "--port", std::to_string(node(region).port()), "--seed",
      std::to_string(seed)};
  options.arguments.insert(options.arguments.end(), job.begin(), job.end());
  options.environment = {"ONCE_API_KEY=" + acme_keys_.at(region)};
  options.out_file = options.err_file = log;
  Program load(options);
  if (load.WaitExit(kLoadPatience) == 0) return testing::AssertionSuccess();
  return testing::AssertionFailure() << ReadFile(log);
}

testing::AssertionResult ClusterProcess::ClaimMany(const std::string& region, int count, int seed) {
  return PutLoad(region, seed,
                 {"claim", "--requests", std::to_string(count), "--connections", "200"});
}

testing::AssertionResult ClusterProcess::SettleMany(const std::string& region, int count,
                                                    int seed) {
  return PutLoad(
      region, seed,
      {"replay", "--population", std::to_string(count), "--requests", "1", "--connections", "1"});
}

double ClusterProcess::Metric(const std::string& region, const std::string& series) {
  return Admin(region).Metric(series);
}

double ClusterProcess::TotalMetric(const std::string& series) {
  double sum = 0;
  for (const std::string& region : regions_) sum += Metric(region, series);
  return sum;
}

double ClusterProcess::PartitionSeconds(const std::string& region, const std::string& peer) {
  return Metric(region, "openwop_idempotency_partition_seconds{peer=\"" + peer + "\"}");
}

std::size_t ClusterProcess::ResidentBytes(const std::string& region) {
  std::istringstream lines(ReadFile("/proc/" + std::to_string(node(region).pid()) + "/status"));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("VmRSS:")) return std::stoul(line.substr(6)) * 1024;
  return 0;
}

bool ClusterProcess::IsEverywhere(const std::string& run_id) {
  return std::all_of(regions_.begin(), regions_.end(), [&](const std::string& region) {
    Caller caller = Acme(region);
    return WaitUntil([&] { return caller.Get("/v1/runs/" + run_id).status == 200; });
  });
}

bool ClusterProcess::IsQuiet() {
  ++markers_;
  return std::all_of(regions_.begin(), regions_.end(), [&](const std::string& region) {
    const HttpResult run =
        Acme(region).CreateRun("marker-" + std::to_string(markers_) + "-" + region);
    return run.status == 201 && IsEverywhere(Member(run, "runId"));
  });
}

}  // namespace once
