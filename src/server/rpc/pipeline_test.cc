#include "server/rpc/pipeline.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/rpc/testing_call.h"
#include "sim/world.h"

namespace muster::rpc {
namespace pipeline_test {

/// A stream of messages that the test answers when it likes.
class PipelineTest : public ::testing::Test {
 protected:
  void run(const std::vector<std::string>& messages, Pipeline::Options options) {
    for (const std::string& message : messages) call_->requests.push_back(message);
    Pipeline::run(loop_, call_, options, [this](const std::string& message, auto answer) {
      handled_.push_back(message);
      answers_.push_back(std::move(answer));
    });
  }
  void answer(std::size_t which) {
    answers_[which](payload("re:" + handled_[which] + ";"));
    world_.run(world_.now() + 1ms);
  }
  std::vector<std::string> written() const {
    std::vector<std::string> all;
    for (const Payload& message : call_->written) all.push_back(*message);
    return all;
  }

  sim::World world_{1};
  sim::Process loop_{world_, 1.0, 0s};
  std::shared_ptr<TestingCall> call_ = std::make_shared<TestingCall>();
  std::vector<std::string> handled_;
  std::vector<Pipeline::Answer> answers_;
};

TEST_F(PipelineTest, AnswersLeaveInTheOrderOfTheMessages) {
  run({"a", "b", "c"}, {});
  ASSERT_EQ(handled_.size(), 3U) << "messages are read ahead of their answers";
  answer(2);
  answer(1);
  EXPECT_TRUE(call_->written.empty());
  answer(0);
  call_->take_all();
  EXPECT_EQ(written(), (std::vector<std::string>{"re:a;", "re:b;", "re:c;"}));
  EXPECT_TRUE(call_->finished && call_->finished->ok());
}

TEST_F(PipelineTest, AnswersThatAreReadyTogetherMayLeaveAsOne) {
  run({"a", "b", "c"}, {.merge = true});
  answer(1);
  answer(0);
  EXPECT_EQ(written(), (std::vector<std::string>{"re:a;re:b;"}));
  answer(2);
  call_->take_all();
  EXPECT_EQ(written(), (std::vector<std::string>{"re:a;re:b;", "re:c;"}));
}

TEST_F(PipelineTest, AClientThatIsTooFarAheadWaits) {
  run({"a", "b", "c"}, {.ahead_max = 2});
  EXPECT_EQ(handled_.size(), 2U);
  answer(0);
  EXPECT_EQ(handled_.size(), 2U) << "the answer has not been taken yet";
  call_->take();
  EXPECT_EQ(handled_.size(), 3U);
}

TEST_F(PipelineTest, TheEndOfTheClientsSideWaitsForTheAnswers) {
  run({"a"}, {});
  EXPECT_FALSE(call_->finished);
  answer(0);
  EXPECT_FALSE(call_->finished);
  call_->take();
  EXPECT_TRUE(call_->finished && call_->finished->ok());
}

TEST_F(PipelineTest, NothingIsSentOnACallThatHasEnded) {
  run({"a"}, {});
  call_->finish({Code::kUnavailable, "gone", {}});
  answer(0);
  EXPECT_TRUE(call_->written.empty());
  EXPECT_EQ(call_->finished->code, Code::kUnavailable);
}

}  // namespace pipeline_test
}  // namespace muster::rpc
