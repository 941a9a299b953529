// once-load: puts one closed loop of load on Once, Redis, PostgreSQL or etcd and prints how fast it
// was.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <random>

#include "tests/bench/loop.h"
#include "tests/bench/phase.h"
#include "tests/bench/program.h"

namespace once::load {
namespace {

struct Arguments {
  std::string system;
  std::string job;
  std::string address = "127.0.0.1";
  std::string port;
  WorkloadOptions workload;
  Limits limits;
  bool json = false;
};

void Declare(CLI::App* app, Arguments* arguments) {
  app->add_option("system", arguments->system, "once, redis, postgres or etcd")
      ->required()
      ->check(CLI::IsMember({"once", "redis", "postgres", "etcd"}));
  app->add_option("job", arguments->job, "claim: new keys; replay: read settled keys")
      ->required()
      ->check(CLI::IsMember({"claim", "replay"}));
  app->add_option("--port", arguments->port, "TCP port")->required();
  app->add_option("--requests", arguments->limits.requests, "this many, in place of --seconds");
  app->add_option("--rate", arguments->limits.rate, "requests started per second, if it keeps up")
      ->check(CLI::PositiveNumber);
  app->add_option("--seed", arguments->workload.seed, "of the keys; random when left out");
  app->add_option("--api-key", arguments->workload.api_key, "once: the credential")
      ->envname("ONCE_API_KEY");
  app->add_flag("--serializable", arguments->workload.serializable,
                "etcd: reads that ask no other member");
  app->add_flag("--json", arguments->json, "print one line of JSON");

  app->option_defaults()->always_capture_default();
  app->add_option("--address", arguments->address, "host name or address");
  app->add_option("--connections", arguments->limits.connections, "each has one request in flight")
      ->check(CLI::Range(1, 10'000));
  app->add_option("--seconds", arguments->limits.seconds, "how long to measure")
      ->check(CLI::PositiveNumber);
  app->add_option("--warm-up", arguments->limits.warm_up_seconds, "seconds before that")
      ->check(CLI::NonNegativeNumber);
  app->add_option("--population", arguments->workload.population, "replay: settled keys")
      ->check(CLI::Range(1, 100'000'000));
  app->add_option("--answer-bytes", arguments->workload.answer_bytes, "replay: answer size");
  app->add_option("--user", arguments->workload.user, "postgres: user and database");
}

Workload MakeWorkload(const Arguments& arguments) {
  if (arguments.system == "once") return OnceWorkload(arguments.workload);
  if (arguments.system == "redis") return RedisWorkload(arguments.workload);
  if (arguments.system == "etcd") return EtcdWorkload(arguments.workload);
  return PostgresWorkload(arguments.workload);
}

void SetUp(const Arguments& arguments, const Workload& workload) {
  constexpr std::size_t kConnections = 50;  // a measurement over one connection sets up fast too
  for (const Workload::SetUp& set_up : workload.set_ups) {
    Limits limits;
    limits.connections = std::min<std::uint64_t>(kConnections, set_up.requests);
    limits.requests = set_up.requests;
    const Measurement done =
        Run(arguments.address, arguments.port, workload.parse, set_up.phase, limits);
    if (done.unexpected > 0) throw std::runtime_error("set-up got: " + done.first_unexpected);
  }
}

void Print(const Arguments& arguments, const Measurement& result) {
  const Histogram& latency = result.latency;
  const double per_second = latency.Count() / result.seconds;
  const auto microseconds = [](std::uint64_t ns) { return ns / 1e3; };
  const char* format =
      arguments.json
          ? "{\"system\":\"%s\",\"job\":\"%s\",\"connections\":%zu,\"seconds\":%.3f,"
            "\"requests\":%llu,\"unexpected\":%llu,\"per_second\":%.0f,\"p50_us\":%.1f,"
            "\"p95_us\":%.1f,\"p99_us\":%.1f,\"max_us\":%.1f}\n"
          : "system        %s\njob           %s\nconnections   %zu\nseconds       %.3f\n"
            "requests      %llu\nunexpected    %llu\nper second    %.0f\np50           %.1f us\n"
            "p95           %.1f us\np99           %.1f us\nmax           %.1f us\n";
  std::printf(format, arguments.system.c_str(), arguments.job.c_str(), arguments.limits.connections,
              result.seconds, static_cast<unsigned long long>(latency.Count()),
              static_cast<unsigned long long>(result.unexpected), per_second,
              microseconds(latency.QuantileNs(0.50)), microseconds(latency.QuantileNs(0.95)),
              microseconds(latency.QuantileNs(0.99)), microseconds(latency.MaxNs()));
}

int Main(int argc, char** argv) {
  Arguments arguments;
  arguments.limits = {.connections = 50, .seconds = 5, .warm_up_seconds = 0.5};
  arguments.workload.seed = std::random_device{}() | std::uint64_t{std::random_device{}()} << 32;
  arguments.workload.population = 10'000;
  arguments.workload.answer_bytes = 500;
  arguments.workload.user = "postgres";
  CLI::App app(
      "Puts load on Once, Redis, PostgreSQL or etcd through one and the same client loop.");
  Declare(&app, &arguments);
  CLI11_PARSE(app, argc, argv);

  arguments.workload.job = arguments.job == "claim" ? Job::kClaim : Job::kReplay;
  arguments.workload.address = arguments.address + ":" + arguments.port;
  const Workload workload = MakeWorkload(arguments);
  SetUp(arguments, workload);
  arguments.limits.population = workload.population;
  const Measurement result =
      Run(arguments.address, arguments.port, workload.parse, workload.measured, arguments.limits);
  Print(arguments, result);
  if (result.unexpected == 0) return 0;
  std::fprintf(stderr, "once-load: %llu unexpected answers, the first: %s\n",
               static_cast<unsigned long long>(result.unexpected), result.first_unexpected.c_str());
  return 1;
}

}  // namespace
}  // namespace once::load

int main(int argc, char** argv) {
  return once::load::RunMain("once-load", once::load::Main, argc, argv);
}
