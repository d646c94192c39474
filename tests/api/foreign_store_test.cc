// The public namespace is no inline one here, as where the library is compiled: internal names come
// first.
#define MUSTER_INLINE
#include "api/foreign_store.h"

#include <gmock/gmock.h>

#include <memory>
#include <stdexcept>
#include <thread>

#include "tests/api/stores.h"
#include "tests/support/test_store.h"

namespace muster {
namespace foreign_store_test {

using api_test::BlockingStore;
using api_test::Gate;
using api_test::ScriptedStore;
using api_test::Shelf;
using api_test::ShelfStore;
using ::testing::HasSubstr;
namespace pub = api_v1;

class ForeignStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<TestStore> open(std::shared_ptr<pub::Store> own) {
    return std::make_unique<TestStore>(thread_, [&](EventLoop& loop) {
      const pub::StoreTraits traits = own->traits();
      return std::make_unique<api::ForeignStore>(loop, std::move(own), traits, "own://here");
    });
  }
  LoopThread thread_;
  std::shared_ptr<Shelf> shelf_ = std::make_shared<Shelf>();
  std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
};

TEST_F(ForeignStoreTest, DeadlinesAreKeptAlthoughTheStoreBlocks) {
  const auto store = open(std::make_shared<BlockingStore>(shelf_, gate_, 2));
  store->patience = 200ms;
  const auto first = store->put("one", "body");
  EXPECT_TRUE(first.is(Errc::kAmbiguous));
  EXPECT_EQ(first.error().message, "put() of the store did not return by its deadline");
  store->patience = 10s;
  EXPECT_TRUE(store->get("one").is(Errc::kNotFound)) << "another thread serves it";
  store->patience = 200ms;
  EXPECT_TRUE(store->put("two", "body").is(Errc::kAmbiguous));

  // Both threads are blocked now: what waits for one was certainly not sent.
  const auto read = store->get("one");
  EXPECT_TRUE(read.is(Errc::kUnavailable));
  EXPECT_EQ(read.error().message, "earlier calls of the store have not returned");
  EXPECT_TRUE(store->put("three", "body").is(Errc::kUnavailable));
  EXPECT_TRUE(store->remove("one").is(Errc::kUnavailable));
  EXPECT_TRUE(store->list("").is(Errc::kUnavailable));

  gate_->open();
  store->patience = 10s;
  EXPECT_TRUE(store->put("four", "body"));
  for (int i = 0; i < 1'000'000 && !store->get("two"); ++i) std::this_thread::yield();
  EXPECT_EQ(store->get("two")->body, "body") << "an ambiguous write may land later";
  EXPECT_TRUE(store->get("three").is(Errc::kNotFound)) << "a write that was not sent must not";
}

TEST_F(ForeignStoreTest, CallsOverlapOnlyAsOftenAsTheStoreAllows) {
  const auto store = open(std::make_shared<BlockingStore>(shelf_, gate_, 1));
  store->patience = 200ms;
  EXPECT_TRUE(store->put("one", "body").is(Errc::kAmbiguous));
  EXPECT_TRUE(store->get("one").is(Errc::kUnavailable)) << "the only thread is blocked";
  gate_->open();
}

TEST_F(ForeignStoreTest, APastDeadlineMakesNoCall) {
  const auto store = open(std::make_shared<ShelfStore>(shelf_));
  store->patience = -1s;
  EXPECT_TRUE(store->put("key", "body").is(Errc::kUnavailable));
  EXPECT_TRUE(store->get("key").is(Errc::kUnavailable));
  EXPECT_TRUE(shelf_->objects.empty());
}

TEST_F(ForeignStoreTest, ACallThatNeverReturnsHoldsUpNoEnd) {
  auto own = std::make_shared<BlockingStore>(shelf_, gate_);
  const std::weak_ptr<pub::Store> alive = own;
  auto store = open(std::move(own));
  store->patience = 100ms;
  EXPECT_TRUE(store->put("one", "body").is(Errc::kAmbiguous));
  store.reset();
  EXPECT_FALSE(alive.expired()) << "the call still uses it";
  gate_->open();
  for (int i = 0; i < 100'000'000 && !alive.expired(); ++i) std::this_thread::yield();
  EXPECT_TRUE(alive.expired());
}

TEST_F(ForeignStoreTest, WhatIsUnderWayIsNotDeliveredOnceItIsDestroyed) {
  constexpr std::uint64_t kWrites = 50;
  auto delivered = std::make_shared<int>(0);
  thread_.run([&] {
    EventLoop& loop = thread_.loop();
    auto store = std::make_unique<api::ForeignStore>(loop, std::make_shared<ShelfStore>(shelf_),
                                                     pub::StoreTraits(), "own://here");
    for (std::uint64_t i = 0; i < kWrites; ++i)
      store->put("key", "body", {}, loop.now() + 10s, [delivered](const auto&) { ++*delivered; });
    // One thread writes them one after another, so all answers but the last wait in the loop then.
    const auto written = [&] {
      const std::lock_guard lock(shelf_->mutex);
      return shelf_->revision;
    };
    while (written() < kWrites) std::this_thread::yield();
    store.reset();
  });
  thread_.run([] {});
  EXPECT_EQ(*delivered, 0);
}

TEST_F(ForeignStoreTest, NoReadOfTheStoreEndsTheProgram) {
  auto own = std::make_shared<ScriptedStore>(shelf_);
  const auto store = open(own);
  ASSERT_TRUE(store->put("key", "body"));
  using Body = pub::Result<pub::StoredObject>;
  const auto read = [&](ScriptedStore::Get answer) {
    own->on_get = std::move(answer);
    return store->get("key").code();
  };
  EXPECT_EQ(read([](const Body&) -> Body { throw std::runtime_error("no disk"); }),
            Errc::kUnavailable);
  EXPECT_THAT(store->get("key").error().message,
              HasSubstr("get() of the store has thrown: no disk"));
  EXPECT_EQ(read([](const Body&) -> Body { throw 7; }), Errc::kUnavailable);
  EXPECT_EQ(read([](Body right) { return right->revision.clear(), right; }), Errc::kCorrupt);
  EXPECT_EQ(read([](Body right) { return right->revision.resize(1025), right; }), Errc::kCorrupt);
  using pub::Code;
  for (const Code code : {Code::kUnchanged, Code::kConflict, Code::kAmbiguous, Code::kCancelled,
                          Code::kTimeout, Code::kCorrupt, static_cast<Code>(99)}) {
    EXPECT_EQ(read([code](const Body&) -> Body { return {code, ""}; }), Errc::kUnavailable);
  }
  const std::pair<Code, Errc> kept[] = {
      {Code::kNotFound, Errc::kNotFound},       {Code::kThrottled, Errc::kThrottled},
      {Code::kUnavailable, Errc::kUnavailable}, {Code::kDenied, Errc::kDenied},
      {Code::kInvalid, Errc::kInvalid},         {Code::kUnsupported, Errc::kInvalid}};
  for (const auto& [said, meant] : kept)
    EXPECT_EQ(read([code = said](const Body&) -> Body { return {code, ""}; }), meant);
}

TEST_F(ForeignStoreTest, NoWriteOfTheStoreEndsTheProgram) {
  auto own = std::make_shared<ScriptedStore>(shelf_);
  const auto store = open(own);
  using Made = pub::Result<std::string>;
  const auto write = [&](ScriptedStore::Put answer,
                         const Precondition& when = Precondition::none()) {
    own->on_put = std::move(answer);
    return store->put("key", "body", when).code();
  };
  EXPECT_EQ(write([]() -> Made { throw std::runtime_error("no disk"); }), Errc::kAmbiguous);
  EXPECT_EQ(write([]() -> Made { throw 7; }), Errc::kAmbiguous);
  EXPECT_EQ(write([]() -> Made { return std::string(); }), Errc::kAmbiguous);
  using pub::Code;
  for (const Code code :
       {Code::kUnchanged, Code::kConflict, Code::kNotFound, Code::kAmbiguous, Code::kCancelled,
        Code::kTimeout, Code::kCorrupt, static_cast<Code>(99)}) {
    EXPECT_EQ(write([code]() -> Made { return {code, ""}; }), Errc::kAmbiguous);
  }
  const auto refuse = [](Code code) { return [code]() -> Made { return {code, ""}; }; };
  EXPECT_EQ(write(refuse(Code::kConflict), Precondition::absent()), Errc::kConflict);
  EXPECT_EQ(write(refuse(Code::kNotFound), Precondition::at(Revision("r"))), Errc::kConflict);
  EXPECT_EQ(write(refuse(Code::kNotFound), Precondition::absent()), Errc::kAmbiguous);
  EXPECT_EQ(write(refuse(Code::kUnavailable)), Errc::kUnavailable);
  EXPECT_EQ(write(refuse(Code::kThrottled)), Errc::kThrottled);
  EXPECT_EQ(write(refuse(Code::kDenied)), Errc::kDenied);
}

TEST_F(ForeignStoreTest, AWrongListIsAnError) {
  const auto listed = [&](std::vector<pub::StoredKey> keys, const std::string& from = "") {
    const auto store = open(std::make_shared<api_test::WrongPagesStore>(
        shelf_, [&](const auto&, const auto&, const auto&, std::size_t) { return keys; }));
    return store->list("a/", from);
  };
  EXPECT_EQ(listed({{"a/1", "r"}, {"a/2", "r"}})->objects.size(), 2u);
  EXPECT_TRUE(listed({{"a/1", "r"}, {"a/1", "r"}}).is(Errc::kCorrupt));
  EXPECT_TRUE(listed({{"a/2", "r"}, {"a/1", "r"}}).is(Errc::kCorrupt));
  EXPECT_TRUE(listed({{"b/1", "r"}}).is(Errc::kCorrupt));
  EXPECT_TRUE(listed({{"a/1", ""}}).is(Errc::kCorrupt));
  EXPECT_TRUE(listed({{"a/1", "r"}}, "a/1").is(Errc::kCorrupt)) << "the same page again";
  std::vector<pub::StoredKey> many;
  for (int i = 10'000; i < 11'000; ++i) many.push_back({"a/" + std::to_string(i), "r"});
  EXPECT_EQ(listed(many)->next, "a/10999");
  many.push_back({"a/11000", "r"});
  EXPECT_TRUE(listed(many).is(Errc::kCorrupt));
}

TEST_F(ForeignStoreTest, RemovalAtARevisionIsAskedForOnlyIfTheStoreDecidesIt) {
  struct Plain : ShelfStore {
    using ShelfStore::ShelfStore;
    pub::StoreTraits traits() const override { return {.removes_at_revision = false}; }
  };
  const auto store = open(std::make_shared<Plain>(shelf_));
  const auto made = store->put("key", "body");
  ASSERT_TRUE(made);
  EXPECT_FALSE(store->capabilities().conditional_remove);
  EXPECT_TRUE(store->remove("key", *made).is(Errc::kUnsupported));
  EXPECT_TRUE(store->get("key"));
  EXPECT_TRUE(store->remove("key"));
}

}  // namespace foreign_store_test
}  // namespace muster
