#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/server/musterd.h"
#include "tests/support/child_process.h"

namespace muster::testing {
namespace store_service_test {

using grpc::StatusCode;

/// The versioned store of one server on a directory.
class StoreServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(eventually([&] { return health(server_).raft_state() == v1::RAFT_STATE_LEADER; }));
  }
  grpc::Status put(const v1::StorePutRequest& request, std::uint64_t* revision = nullptr) {
    v1::StorePutResponse response;
    Context context;
    const grpc::Status status = server_.store().Put(&context, request, &response);
    if (revision != nullptr) *revision = response.revision();
    return status;
  }
  static v1::StorePutRequest write(const std::string& key, const std::string& value) {
    v1::StorePutRequest request;
    request.set_key(key);
    request.set_value(value);
    return request;
  }

  TempDir dir_;
  Musterd server_{"s1", "file://" + (dir_.path() / "store").string(), dir_.path()};
};

TEST_F(StoreServiceTest, PutsOnAStreamAreAnsweredInOrderAndFailEachForItself) {
  Context context;
  const auto stream = server_.store().PutStream(&context);
  constexpr int kMessages = 300;
  for (int i = 0; i < kMessages; ++i) {
    v1::StorePutBatch batch;
    *batch.add_puts() = write("stream/" + std::to_string(i), "first");
    *batch.add_puts() = write("stream/" + std::to_string(i), "second");
    batch.mutable_puts(1)->mutable_when()->set_absent(true);
    if (i == 0) *batch.add_puts() = write("", "no key");
    ASSERT_TRUE(stream->Write(batch));
  }
  ASSERT_TRUE(stream->WritesDone());
  std::vector<v1::StorePutOutcome> outcomes;
  v1::StorePutOutcomes some;
  while (stream->Read(&some)) {
    outcomes.insert(outcomes.end(), some.outcomes().begin(), some.outcomes().end());
  }
  ASSERT_TRUE(stream->Finish().ok());
  ASSERT_EQ(outcomes.size(), 2U * kMessages + 1);
  EXPECT_EQ(outcomes[2].code(), StatusCode::INVALID_ARGUMENT);
  outcomes.erase(outcomes.begin() + 2);
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < outcomes.size(); i += 2) {
    EXPECT_EQ(outcomes[i].code(), StatusCode::OK) << outcomes[i].message();
    EXPECT_GT(outcomes[i].revision(), last) << "performed in the order they were sent";
    last = outcomes[i].revision();
    EXPECT_EQ(outcomes[i + 1].code(), StatusCode::ABORTED) << "the one before it was first";
  }
  EXPECT_EQ(get(server_, "stream/299"), "first");
}

TEST_F(StoreServiceTest, AStreamOfPutsRefusesAMessageWithoutAny) {
  Context context;
  const auto stream = server_.store().PutStream(&context);
  ASSERT_TRUE(stream->Write(v1::StorePutBatch()));
  v1::StorePutOutcomes none;
  EXPECT_FALSE(stream->Read(&none));
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(StoreServiceTest, WritesHappenOnlyWhileTheirConditionsHold) {
  v1::StorePutRequest create = write("a", "1");
  create.mutable_when()->set_absent(true);
  std::uint64_t first = 0;
  ASSERT_TRUE(put(create, &first).ok());
  EXPECT_EQ(put(create).error_code(), StatusCode::ABORTED);

  v1::StorePutRequest at = write("a", "2");
  at.mutable_when()->set_at_revision(first);
  std::uint64_t second = 0;
  ASSERT_TRUE(put(at, &second).ok());
  EXPECT_GT(second, first);
  EXPECT_EQ(put(at).error_code(), StatusCode::ABORTED);
  EXPECT_EQ(get(server_, "a"), "2");

  v1::StorePutRequest guarded = write("b", "1");
  guarded.mutable_guard()->set_key("a");
  guarded.mutable_guard()->mutable_when()->set_at_revision(first);
  EXPECT_EQ(put(guarded).error_code(), StatusCode::ABORTED);
  guarded.mutable_guard()->mutable_when()->set_at_revision(second);
  EXPECT_TRUE(put(guarded).ok());

  v1::StoreRemoveRequest remove;
  remove.set_key("a");
  remove.set_at_revision(first);
  v1::StoreRemoveResponse removed;
  Context stale;
  EXPECT_EQ(server_.store().Remove(&stale, remove, &removed).error_code(), StatusCode::ABORTED);
  remove.set_at_revision(second);
  Context right;
  EXPECT_TRUE(server_.store().Remove(&right, remove, &removed).ok());
  Context gone;
  EXPECT_EQ(server_.store().Remove(&gone, remove, &removed).error_code(), StatusCode::NOT_FOUND);
  EXPECT_FALSE(get(server_, "a"));
}

TEST_F(StoreServiceTest, AGetSaysWhenNothingHasChanged) {
  std::uint64_t revision = 0;
  ASSERT_TRUE(put(write("a", "1"), &revision).ok());
  v1::StoreGetRequest request;
  request.set_key("a");
  request.set_unless_revision(revision);
  v1::StoreGetResponse response;
  Context context;
  ASSERT_TRUE(server_.store().Get(&context, request, &response).ok());
  EXPECT_TRUE(response.unchanged());
  EXPECT_EQ(response.object().value(), "");
}

TEST_F(StoreServiceTest, ListsComeInPages) {
  for (int i = 0; i < 25; ++i) {
    ASSERT_TRUE(put(write("p/" + std::to_string(100 + i), "v")).ok());
  }
  ASSERT_TRUE(put(write("q", "v")).ok());
  v1::StoreListRequest request;
  request.set_prefix("p/");
  request.set_limit(10);
  std::vector<std::string> keys;
  v1::StoreListResponse page;
  do {
    Context context;
    ASSERT_TRUE(server_.store().List(&context, request, &page).ok());
    for (const auto& object : page.objects()) keys.push_back(object.key());
    request.set_after(keys.back());
  } while (page.more());
  EXPECT_EQ(keys.size(), 25U);
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  EXPECT_GT(page.revision(), 0U);
}

TEST_F(StoreServiceTest, AWatchResumesWhereItWasAndResetsWhereItCannot) {
  std::uint64_t first = 0;
  ASSERT_TRUE(put(write("w/a", "1"), &first).ok());
  ASSERT_TRUE(put(write("other", "1")).ok());
  ASSERT_TRUE(put(write("w/b", "2")).ok());
  v1::StoreWatchRequest request;
  request.set_prefix("w/");
  request.set_after_revision(first);
  v1::StoreWatchResponse response;
  std::uint64_t resumed = 0;
  {
    Context context(20s);
    auto reader = server_.store().Watch(&context, request);
    ASSERT_TRUE(reader->Read(&response));
    ASSERT_EQ(response.events_size(), 1);
    EXPECT_EQ(response.events(0).object().key(), "w/b");
    v1::StoreRemoveRequest remove;
    remove.set_key("w/a");
    v1::StoreRemoveResponse removed;
    Context other;
    ASSERT_TRUE(server_.store().Remove(&other, remove, &removed).ok());
    ASSERT_TRUE(reader->Read(&response));
    ASSERT_EQ(response.events_size(), 1);
    EXPECT_TRUE(response.events(0).removed());
    EXPECT_EQ(response.events(0).object().key(), "w/a");
    resumed = response.revision();
    context.TryCancel();
  }
  ASSERT_TRUE(put(write("w/c", "3")).ok());
  request.set_after_revision(resumed);
  Context context(20s);
  auto reader = server_.store().Watch(&context, request);
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.events(0).object().value(), "3");

  // From now on: the first message only says that the watch stands.
  request.set_after_revision(0);
  Context now(20s);
  auto fresh = server_.store().Watch(&now, request);
  ASSERT_TRUE(fresh->Read(&response));
  EXPECT_EQ(response.events_size(), 0);
  EXPECT_FALSE(response.reset());

  // A cursor of another history, as after a restore, is answered and does not wait.
  request.set_after_revision(resumed << 20);
  Context other(20s);
  auto stranger = server_.store().Watch(&other, request);
  ASSERT_TRUE(stranger->Read(&response));
  EXPECT_TRUE(response.reset());

  // Where the numbers fit as well, the name of the history tells.
  const std::string history = response.history();
  EXPECT_FALSE(history.empty());
  request.set_after_revision(resumed);
  for (const std::string& named : {history, std::string("another")}) {
    request.set_history(named);
    Context again(20s);
    auto known = server_.store().Watch(&again, request);
    ASSERT_TRUE(known->Read(&response));
    EXPECT_EQ(response.reset(), named != history);
    EXPECT_EQ(response.events_size(), named == history ? 1 : 0);
    again.TryCancel();
  }
}

TEST_F(StoreServiceTest, ABackupHoldsTheWholeLog) {
  const std::string value(100'000, 'x');
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(put(write("k" + std::to_string(i), value)).ok());
  Context context(30s);
  auto reader = server_.admin().Backup(&context, v1::BackupRequest{});
  v1::BackupChunk chunk;
  std::string all;
  while (reader->Read(&chunk)) all += chunk.data();
  const grpc::Status status = reader->Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_GT(all.size(), 20 * value.size());
  EXPECT_NE(all.find("k19"), std::string::npos);
}

}  // namespace store_service_test
}  // namespace muster::testing
