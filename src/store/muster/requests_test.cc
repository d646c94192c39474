#include "store/muster/requests.h"

#include <gtest/gtest.h>

#include <limits>

namespace muster::musterd {
namespace requests_test {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

TEST(MusterRequestsTest, KeysGetThePrefixAndLoseItAgain) {
  const Requests requests("app/");
  EXPECT_EQ(requests.get("k", {})->key(), "app/k");
  EXPECT_EQ(Requests("").get("k", {})->key(), "k");
  EXPECT_EQ(requests.list("w/", "", 10)->prefix(), "app/w/");
  v1::StoreListResponse response;
  response.add_objects()->set_key("app/w/1");
  EXPECT_EQ(requests.listed("", response).objects.at(0).key, "w/1");
}

TEST(MusterRequestsTest, WhatMusterdCannotTakeIsNotSent) {
  const Requests requests("app");
  for (const char* key : {"", "/k", "k/", "a//b", "\xff"}) {
    EXPECT_TRUE(requests.get(key, {}).is(Errc::kInvalid)) << key;
    EXPECT_TRUE(requests.remove(key, {}).is(Errc::kInvalid)) << key;
    EXPECT_TRUE(requests.put(key, "", {}, {}).is(Errc::kInvalid)) << key;
    EXPECT_TRUE(requests.put("k", "", {}, Guard{key, {}}).is(Errc::kInvalid)) << key;
  }
  EXPECT_TRUE(requests.get(std::string(1021, 'k'), {}).is(Errc::kInvalid));
  EXPECT_TRUE(requests.get(std::string(1020, 'k'), {}));
  EXPECT_TRUE(requests.put("k", std::string(256 * 1024 + 1, 'b'), {}, {}).is(Errc::kInvalid));
  EXPECT_TRUE(requests.put("k", std::string(256 * 1024, 'b'), {}, {}));
  EXPECT_TRUE(requests.list("\xff", "", 10).is(Errc::kInvalid));
}

TEST(MusterRequestsTest, ConditionsAreStatedAndARevisionFromElsewhereNeverHolds) {
  const Requests requests("");
  EXPECT_FALSE(requests.put("k", "", Precondition::none(), {})->when().has_absent());
  EXPECT_TRUE(requests.put("k", "", Precondition::absent(), {})->when().absent());
  EXPECT_EQ(requests.put("k", "", Precondition::at(Revision("7")), {})->when().at_revision(), 7u);
  const auto guarded =
      requests.put("k", "", Precondition::absent(), Guard{"g", Precondition::at(Revision("8"))});
  EXPECT_EQ(guarded->guard().key(), "g");
  EXPECT_EQ(guarded->guard().when().at_revision(), 8u);
  // 0 would mean "any" to musterd.
  for (const char* alien : {"0", "", "\"etag\"", "-1", "99999999999999999999"}) {
    EXPECT_EQ(requests.remove("k", Revision(alien))->at_revision(), kNever) << alien;
    EXPECT_EQ(requests.get("k", Revision(alien))->unless_revision(), kNever) << alien;
    EXPECT_EQ(requests.put("k", "", Precondition::at(Revision(alien)), {})->when().at_revision(),
              kNever);
  }
  EXPECT_EQ(requests.remove("k", {})->at_revision(), 0u);
  EXPECT_EQ(requests.get("k", {})->unless_revision(), 0u);
}

// S14: a list is all its pages, and its cursor is that of the first.
TEST(MusterRequestsTest, EveryPageOfAListHasTheCursorOfTheFirst) {
  const Requests requests("app");
  v1::StoreListResponse response;
  response.add_objects()->set_key("app/w/1");
  response.set_more(true);
  response.set_revision(70000);
  const ListPage first = requests.listed("", response);
  EXPECT_EQ(first.cursor, "70000");
  const auto second = requests.list("w/", first.next, 10);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->after(), "app/w/1");
  response.set_more(false);
  response.set_revision(80000);
  EXPECT_EQ(requests.listed(first.next, response).cursor, "70000");
  EXPECT_EQ(requests.listed(first.next, response).next, "");

  for (const char* alien : {"w/1", "1", " ", "0 app/w/1", "5 other/w/1"}) {
    EXPECT_TRUE(requests.list("w/", alien, 10).is(Errc::kInvalid)) << alien;
  }
}

// P16: "now" and "from the very beginning" must not be mistaken for each other.
TEST(MusterRequestsTest, AStoreThatNeverChangedStillHasAPlaceToWatchFrom) {
  EXPECT_EQ(Requests("").listed("", v1::StoreListResponse()).cursor, "1");
}

TEST(MusterRequestsTest, EventsAreNotToldTwice) {
  const Requests requests("app");
  v1::StoreWatchResponse response;
  for (const std::uint64_t revision : {5u, 6u, 7u}) {
    auto* event = response.add_events();
    event->mutable_object()->set_key("app/k");
    event->mutable_object()->set_revision(revision);
    event->set_removed(revision == 7);
  }
  const auto events = requests.events(response, 5);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, WatchEvent::Kind::kPut);
  EXPECT_EQ(events[0].key, "k");
  EXPECT_EQ(events[0].cursor, "6");
  EXPECT_EQ(events[0].object.revision, Revision("6"));
  EXPECT_EQ(events[1].kind, WatchEvent::Kind::kRemoved);
  EXPECT_EQ(events[1].cursor, "7");
}

TEST(MusterRequestsTest, AgesAreRead) {
  v1::StoreGetResponse response;
  response.mutable_object()->set_age_ms(1500);
  EXPECT_EQ(Requests::got("k", response)->age, 1500ms);
  response.mutable_object()->set_age_ms(std::numeric_limits<std::uint64_t>::max());
  EXPECT_GT(*Requests::got("k", response)->age, 0s);
  response.set_unchanged(true);
  EXPECT_TRUE(Requests::got("k", response).is(Errc::kUnchanged));
}

}  // namespace requests_test
}  // namespace muster::musterd
