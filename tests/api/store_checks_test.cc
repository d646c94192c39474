#include "tests/api/scene.h"
#include "tests/api/stores.h"

#include <muster/testing/store_conformance.h>

#include <gmock/gmock.h>

namespace api_test {
namespace {

using muster::api_v1::testing::check_store;
using muster::api_v1::testing::store_checks;
using muster::api_v1::testing::StoreUnderTest;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using Make = std::function<std::shared_ptr<muster::Store>(std::shared_ptr<Shelf>)>;

/// A store that `make` makes of a shelf for each scope.
StoreUnderTest under_test(const Make& make) {
  auto shelves = std::make_shared<std::map<std::string, std::shared_ptr<Shelf>>>();
  StoreUnderTest store;
  store.open = [make, shelves](const std::string& scope) {
    auto& shelf = (*shelves)[scope];
    if (!shelf) shelf = std::make_shared<Shelf>();
    return make(shelf);
  };
  return store;
}

template <typename T>
std::vector<std::string> failures_of() {
  return check_store(
      under_test([](const std::shared_ptr<Shelf>& shelf) { return std::make_shared<T>(shelf); }));
}

std::vector<std::string> failures_of(const WrongPagesStore::Pages& pages) {
  return check_store(under_test([pages](const std::shared_ptr<Shelf>& shelf) {
    return std::make_shared<WrongPagesStore>(shelf, pages);
  }));
}

TEST(StoreChecksTest, ACorrectStorePassesEveryCheck) {
  EXPECT_THAT(failures_of<ShelfStore>(), IsEmpty());
  EXPECT_GT(store_checks().size(), 25u);
}

TEST(StoreChecksTest, OneThatIgnoresConditionsIsRefused) {
  const auto failures = failures_of<CarelessStore>();
  EXPECT_THAT(failures, Contains(StartsWith("stale revision: put() at an outdated revision "
                                            "succeeded and should have returned kConflict")));
  EXPECT_THAT(failures, Contains(StartsWith("create twice: put() of an object that exists")));
  EXPECT_THAT(failures, Contains(AllOf(StartsWith("one creator wins: "), HasSubstr("had won"))));
}

TEST(StoreChecksTest, OneThatLosesWritesIsRefused) {
  EXPECT_THAT(failures_of<ForgetfulStore>(),
              Contains("current revision: a write was accepted, but it was lost"));
}

TEST(StoreChecksTest, OneThatUsesRevisionsAgainIsRefused) {
  EXPECT_THAT(failures_of<CountingStore>(),
              Contains(StartsWith("revisions never repeat: the revision \"1\" was used again for "
                                  "another write")));
  EXPECT_THAT(failures_of<UniformStore>(),
              Contains("current revision: put() returned the revision that it replaced"));
}

TEST(StoreChecksTest, OneThatComparesAndWritesInTwoStepsIsRefused) {
  EXPECT_THAT(failures_of<RacyStore>(),
              Contains(AllOf(StartsWith("one "), HasSubstr("raced at one condition"))));
}

TEST(StoreChecksTest, OneThatListsWronglyIsRefused) {
  const auto no_continuation =
      failures_of([](const auto& right, const auto& prefix, const auto&, std::size_t most) {
        return right(prefix, "", most);
      });
  EXPECT_THAT(no_continuation, Contains(AllOf(StartsWith("pages: "),
                                              HasSubstr("keys come in byte order, each once"))));
  const auto too_many = failures_of([](const auto& right, const auto& prefix, const auto& after,
                                       std::size_t) { return right(prefix, after, 10'000); });
  EXPECT_THAT(too_many, Contains(AllOf(StartsWith("pages: "), HasSubstr("is the most"))));
  const auto skips_one =
      failures_of([](const auto& right, const auto& prefix, const auto& after, std::size_t most) {
        auto keys = right(prefix, after, most + 1);
        if (!after.empty() && !keys.empty()) keys.erase(keys.begin());
        if (keys.size() > most) keys.pop_back();
        return keys;
      });
  EXPECT_THAT(skips_one, Contains(AllOf(StartsWith("pages: "), HasSubstr("instead of"))));
  const auto short_page =
      failures_of([](const auto& right, const auto& prefix, const auto& after, std::size_t most) {
        return right(prefix, after, std::min<std::size_t>(most, 1000) / 2 + 1);
      });
  EXPECT_THAT(short_page, Contains(StartsWith("many keys: ")));
  const auto no_prefix = failures_of([](const auto& right, const auto&, const auto& after,
                                        std::size_t most) { return right("", after, most); });
  EXPECT_THAT(no_prefix, Contains(AllOf(StartsWith("prefixes: "), HasSubstr("does not begin so"))));
}

TEST(StoreChecksTest, OneThatBlocksForEverEndsTheChecks) {
  const auto gate = std::make_shared<Gate>();
  StoreUnderTest store = under_test([gate](const std::shared_ptr<Shelf>& shelf) {
    return std::make_shared<BlockingStore>(shelf, gate);
  });
  store.within = 100ms;
  EXPECT_THAT(check_store(store),
              ElementsAre("read after create: put(\"key\") did not return; a call must end within "
                          "the time that it is given",
                          "The checks after \"read after create\" did not run."));
  gate->open();
}

TEST(StoreChecksTest, WhatAStoreThrowsIsASentence) {
  const auto failures = check_store(under_test([](const std::shared_ptr<Shelf>& shelf) {
    auto store = std::make_shared<ScriptedStore>(shelf);
    store->on_put = []() -> muster::Result<std::string> { throw std::runtime_error("no disk"); };
    return store;
  }));
  EXPECT_THAT(failures, Contains("read after create: put(\"key\") has thrown: no disk"));
}

TEST(StoreChecksTest, AStoreThatCannotBeOpenedFailsEveryCheck) {
  StoreUnderTest store;
  store.open = [](const std::string&) -> muster::Result<std::shared_ptr<muster::Store>> {
    return {Code::kUnavailable, "no server"};
  };
  const auto failures = check_store(store);
  EXPECT_EQ(failures.size(), store_checks().size());
  EXPECT_THAT(failures, Contains("absent object: the store could not be opened: no server"));
  store.only = "nonsense";
  EXPECT_THAT(check_store(store), ElementsAre("There is no check \"nonsense\"."));
}

}  // namespace
}  // namespace api_test
