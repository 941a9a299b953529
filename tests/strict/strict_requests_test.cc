// What callers of one node wait for, with a leader and without one.
#include "replica/strict/strict_requests.h"

#include <gtest/gtest.h>

#include <set>

#include "replica/strict/strict_reads.h"
#include "simulator/virtual_scheduler.h"
#include "tests/story/story.h"

namespace once {
namespace {

class StrictRequestsTest : public testing::Test {
 protected:
  static constexpr std::int64_t kAnswerMs = 2000;

  void Ask() {
    requests_.Ask(BeginCommand("acme", "k", 1, 2000, 1000), 0,
                  [this](const Answer& answer) { answers_.push_back(answer); });
  }

  VirtualScheduler time_;
  bool has_leader_ = false;
  std::vector<std::uint64_t> sent_;
  std::vector<Answer> answers_;
  StrictRequests requests_{time_, kAnswerMs, 500, 7,
                           [this](const std::vector<const StrictRequest*>& requests) {
                             if (!has_leader_) return false;
                             for (const StrictRequest* request : requests)
                               sent_.push_back(request->request());
                             return true;
                           }};
};

TEST_F(StrictRequestsTest, WithoutALeaderNothingIsKeptBeyondThoseWhoWait) {
  for (int i = 0; i < 1000; ++i) {
    Ask();
    time_.RunFor(10);
    ASSERT_LE(requests_.unsent(), requests_.size()) << i;
  }
  EXPECT_LE(requests_.size(), 210u) << "the others were told";
  EXPECT_EQ(requests_.size() + answers_.size(), 1000u);
  for (const Answer& answer : answers_) EXPECT_TRUE(answer.refused);
}

TEST_F(StrictRequestsTest, ANewLeaderIsSentExactlyThoseWhoWait) {
  for (int i = 0; i < 10; ++i) {
    Ask();
    time_.RunFor(i == 4 ? kAnswerMs + 100 : 10);
  }
  ASSERT_EQ(requests_.size(), 5u);
  has_leader_ = true;
  requests_.SendAgain();
  time_.RunUntilIdle();
  EXPECT_EQ(std::set<std::uint64_t>(sent_.begin(), sent_.end()),
            (std::set<std::uint64_t>{13, 14, 15, 16, 17}));
  EXPECT_EQ(sent_.size(), 5u);
  EXPECT_EQ(requests_.unsent(), 0u);
}

TEST_F(StrictRequestsTest, AtTheirBoundTheNextIsRefusedAtOnceAndNotSent) {
  for (std::size_t i = 0; i < kRequestsWaitingMax; ++i) Ask();
  ASSERT_TRUE(answers_.empty());
  Ask();
  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_EQ(answers_[0].kind, Answer::Kind::kUnavailable);
  EXPECT_TRUE(answers_[0].refused);
  EXPECT_GT(answers_[0].retry_after_ms, 0);
  has_leader_ = true;
  time_.RunUntilIdle();
  EXPECT_EQ(sent_.size(), kRequestsWaitingMax);
  requests_.Applied(sent_[0], {});
  Ask();
  EXPECT_EQ(answers_.size(), 2u) << "there is room again";
}

TEST(StrictReadsTest, AtTheirBoundTheNextFailsAtOnceAndIsNotAskedFor) {
  VirtualScheduler time;
  std::size_t asked = 0, failed = 0;
  StrictReads reads(time, 2000, 500, 7, [&asked](std::uint64_t) { return ++asked > 0; });
  const auto read = [&] { reads.Read([] {}, [&failed] { ++failed; }); };
  for (std::size_t i = 0; i < kReadsWaitingMax; ++i) read();
  EXPECT_EQ(asked, kReadsWaitingMax);
  EXPECT_EQ(failed, 0u);
  read();
  EXPECT_EQ(asked, kReadsWaitingMax);
  EXPECT_EQ(failed, 1u);
  reads.Known(8, 1, 1);
  read();
  EXPECT_EQ(failed, 1u) << "there is room again";
}

}  // namespace
}  // namespace once
