// A strict fence as what an effect is guarded by: rising over owners, regions and leaders.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <new>

#include "tests/system/strict_cluster.h"

namespace once {
namespace {

/// Somebody who moves money, and knows nothing of Once but this: a number comes with each order,
/// and an order with a lower one than was seen before is refused. Shared between processes.
class Provider {
 public:
  bool Charge(std::uint64_t fence) {
    std::uint64_t seen = highest_;
    while (seen < fence && !highest_.compare_exchange_weak(seen, fence)) {
    }
    if (seen > fence) return false;
    ++charges_;
    return true;
  }
  int charges() const { return charges_; }
  std::uint64_t highest() const { return highest_; }

 private:
  std::atomic<std::uint64_t> highest_ = 0;
  std::atomic<int> charges_ = 0;
};

/// A page that a child process shares with its parent.
class SharedProvider {
 public:
  SharedProvider()
      : page_(::mmap(nullptr, sizeof(Provider), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                     -1, 0)),
        provider_(new (page_) Provider) {}
  ~SharedProvider() { ::munmap(page_, sizeof(Provider)); }
  Provider* operator->() { return provider_; }

 private:
  void* const page_;
  Provider* const provider_;
};

/// What the owner found when it woke.
enum Woken { kBothRefused = 7, kCharged = 8, kSettled = 9 };

/// A process that owns a claim, is stopped before it acts, and then acts.
class Owner {
 public:
  Owner(Caller& caller, const BegunClaim& claim, SharedProvider& provider) {
    if (::pipe(wake_) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) Act(caller, claim, provider);
    ::kill(pid_, SIGSTOP);
  }
  ~Owner() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    for (const int end : wake_) ::close(end);
  }
  int WakeAndWait() {
    ::kill(pid_, SIGCONT);
    EXPECT_EQ(::write(wake_[1], "!", 1), 1);
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  [[noreturn]] void Act(Caller& caller, const BegunClaim& claim, SharedProvider& provider) {
    char byte;
    if (::read(wake_[0], &byte, 1) != 1) ::_exit(1);
    if (provider->Charge(claim.fence)) ::_exit(kCharged);
    const HttpResult late = caller.Settle(claim, "charged by the late owner");
    ::_exit(late.status == 409 && Member(late, "error") == "stale_fence" ? kBothRefused : kSettled);
  }

  int wake_[2] = {-1, -1};
  pid_t pid_ = -1;
};

TEST(StrictFence, OW_N_53_OW_N_54_S_17_AnOwnerThatWakesAfterTheTakeoverHasNoEffect) {
  StrictCluster cluster;
  ASSERT_TRUE(cluster.Start());
  const std::string leader = cluster.AwaitLeaderAmong(cluster.regions());
  const Regions others = cluster.OthersThan(leader);
  SharedProvider provider;

  Caller first_caller = cluster.nodes().Acme(others[0]);
  HttpResult begun;
  ASSERT_TRUE(WaitUntil([&] {
    begun = first_caller.Begin("order", 1);
    return begun.status == 201;
  })) << begun.body;
  const BegunClaim first = ClaimOf(begun);
  Owner owner(first_caller, first, provider);

  // Whoever led and knew the first owner is gone when the second one comes, in another region.
  cluster.nodes().node(leader).Kill();
  Caller second_caller = cluster.nodes().Acme(others[1]);
  HttpResult taken;
  ASSERT_TRUE(WaitUntil([&] {
    taken = second_caller.Begin("order", 600);
    return taken.status == 201;
  })) << taken.body;
  const BegunClaim second = ClaimOf(taken);
  EXPECT_EQ(second.run_id, first.run_id);
  EXPECT_GT(second.fence, first.fence);
  EXPECT_TRUE(provider->Charge(second.fence));

  EXPECT_EQ(owner.WakeAndWait(), kBothRefused);
  EXPECT_EQ(provider->charges(), 1);
  EXPECT_EQ(provider->highest(), second.fence);
  EXPECT_TRUE(WaitUntil(
      [&] { return second_caller.Settle(second, "charged by the second owner").status == 200; }));
  const HttpResult told = cluster.nodes().Acme(others[0]).Begin("order");
  EXPECT_TRUE(told.replayed()) << told.body;
  EXPECT_EQ(AnswerOf(told), "charged by the second owner");
  // The provider guarded the effect; Once did not, and does not say so.
  EXPECT_EQ(first_caller.Get("/.well-known/openwop").body.find("fenced-effects"),
            std::string::npos);
}

}  // namespace
}  // namespace once
