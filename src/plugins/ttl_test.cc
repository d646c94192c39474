#include "plugins/ttl.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "plugins/test_stage.h"

namespace muster {
namespace ttl_test {

using stage::Call;
using stage::Fault;
using stage::Stage;

constexpr WallTime kNow = wall_from_ms(1'710'496'800'000);

std::string expiring(WallTime at) {
  return nlohmann::json{{"_expiresAt", to_ms(at)}}.dump();
}

class TtlTest : public ::testing::TestWithParam<bool> {
 protected:
  TtlTest() : process_(stage_.process()), term_(stage_.term(3)) {
    stage_.clock.set_wall(kNow);
    process_.store.conditional_remove = GetParam();
    options_.prefix = "records/";
  }
  void make_ttl() {
    ttl_ = std::make_unique<Ttl>(process_.sync, options_, Random(1));
    ttl_->attach(stage_.clock, {});
    ttl_->learn_epoch(term_->epoch());
    ttl_->on_become_coordinator(*term_);
  }
  void work() {
    if (!ttl_) make_ttl();
    ttl_->coordinator_work(*term_);
  }
  void put(const Key& key, const std::string& body) {
    stage_.with_objects([&](MemoryObjects& objects) { write(objects, key, body); });
  }
  /// Another writer between two calls, from a hook.
  static void write(MemoryObjects& objects, const Key& key, const std::string& body) {
    ASSERT_TRUE(objects.put(key, body, Precondition::none(), {}, MonoTime{}));
  }
  /// No such record, for a reader.
  bool gone(const Key& key) {
    const std::string body = stage_.body(key);
    return body.empty() || is_tombstone(body);
  }

  Stage stage_;
  Stage::Process& process_;
  std::unique_ptr<LeaseGuard> term_;
  TtlOptions options_;
  std::unique_ptr<Ttl> ttl_;
};

INSTANTIATE_TEST_SUITE_P(Stores, TtlTest, ::testing::Bool(), [](const auto& store) {
  return store.param ? "RemovesAtARevision" : "CannotRemoveAtARevision";
});

TEST_P(TtlTest, RemovesWhatHasExpiredAndKeepsTheRest) {
  put("records/old", expiring(kNow));
  put("records/fresh", expiring(kNow + 1ms));
  put("records/eternal", R"({"name":"x"})");
  put("records/foreign", "not JSON");
  put("records/odd", R"({"_expiresAt":"soon"})");
  put("records/absurd", R"({"_expiresAt":18446744073709551615})");
  put("elsewhere/old", expiring(kNow));
  work();
  EXPECT_TRUE(gone("records/old"));
  for (const char* key : {"records/fresh", "records/eternal", "records/foreign", "records/odd",
                          "records/absurd", "elsewhere/old"}) {
    EXPECT_FALSE(gone(key)) << key;
  }
  EXPECT_EQ(ttl_->metrics().removed, 1);
  EXPECT_EQ(ttl_->metrics().kept, 5);
  EXPECT_EQ(ttl_->metrics().passes, 1);
}

TEST_P(TtlTest, LeavesTheCoordinatorsOwnFilesAlone) {
  const Key state = "plugin=coordinator/namespace=default/state.json";
  put(state, expiring(kNow - 1h));
  options_.prefix = "";
  work();
  EXPECT_FALSE(gone(state));
}

TEST_P(TtlTest, AMarginKeepsRecordsForClocksThatDiffer) {
  put("records/a", expiring(kNow - 5s));
  put("records/b", expiring(kNow - 15s));
  options_.margin = 10s;
  work();
  EXPECT_FALSE(gone("records/a"));
  EXPECT_TRUE(gone("records/b"));
}

TEST_P(TtlTest, TheExpiryMayBeAnywhereInTheBody) {
  put("records/a", "expires 5");
  options_.expiry = [](std::string_view body) -> std::optional<WallTime> {
    return body == "expires 5" ? std::optional(wall_from_ms(5)) : std::nullopt;
  };
  work();
  EXPECT_TRUE(gone("records/a"));
}

// S11: what was renewed in time stays, whenever the renewal comes.
TEST_P(TtlTest, ARenewalBetweenListAndReadKeepsTheRecord) {
  put("records/a", expiring(kNow - 1s));
  process_.store.hook = [&](const Call& call) {
    if (call.kind == Call::Kind::kGet) write(stage_.objects(), "records/a", expiring(kNow + 1h));
    return Fault::kNone;
  };
  work();
  EXPECT_EQ(stage_.body("records/a"), expiring(kNow + 1h));
  EXPECT_EQ(ttl_->metrics().removed, 0);
}

// S11, S17: no read followed by a blind delete.
TEST_P(TtlTest, ARenewalBetweenReadAndRemovalKeepsTheRecord) {
  put("records/a", expiring(kNow - 1s));
  process_.store.hook = [&](const Call& call) {
    if (call.kind == Call::Kind::kPut || call.kind == Call::Kind::kRemove) {
      write(stage_.objects(), "records/a", expiring(kNow + 1h));
    }
    return Fault::kNone;
  };
  work();
  EXPECT_EQ(stage_.body("records/a"), expiring(kNow + 1h));
  EXPECT_EQ(ttl_->metrics().removed, 0);
  EXPECT_EQ(ttl_->metrics().conflicts, 1);
}

TEST_P(TtlTest, WorksInBoundedBatchesAndGoesOnWhereItStopped) {
  stage_.with_objects([](MemoryObjects& objects) {
    objects.page_size = 4;
    for (int i = 0; i < 10; ++i) write(objects, "records/" + std::to_string(i), expiring(kNow));
  });
  options_.batch_max = 3;
  for (std::uint64_t examined : {3U, 6U, 9U, 10U}) {
    work();
    EXPECT_EQ(ttl_->metrics().examined, examined);
  }
  EXPECT_EQ(ttl_->metrics().removed, 10);
  EXPECT_EQ(ttl_->metrics().passes, 1);
}

// S14: more than a page of a thousand.
TEST_P(TtlTest, SeesEveryPageOfALongList) {
  stage_.with_objects([](MemoryObjects& objects) {
    for (int i = 0; i < 2500; ++i) write(objects, "records/" + std::to_string(i), expiring(kNow));
  });
  options_.batch_max = 5000;
  work();
  EXPECT_EQ(ttl_->metrics().removed, 2500);
}

TEST_P(TtlTest, StopsWhenItsTermEnds) {
  for (int i = 0; i < 5; ++i) put("records/" + std::to_string(i), expiring(kNow));
  // In the middle of the third record: it was read, and is not touched any more.
  process_.store.hook = [&, gets = 0](const Call& call) mutable {
    if (call.kind == Call::Kind::kGet && ++gets == 3) term_->close();
    return Fault::kNone;
  };
  work();
  EXPECT_EQ(ttl_->metrics().removed, 2);
  EXPECT_EQ(ttl_->metrics().examined, 3);
}

// S08: the batch is stamped with the epoch, and refused once a higher one is known.
TEST_P(TtlTest, ABatchOfAReplacedLeaderIsRefused) {
  put("records/a", expiring(kNow));
  make_ttl();
  ttl_->learn_epoch(Epoch(4));
  work();
  EXPECT_FALSE(gone("records/a"));
  EXPECT_EQ(ttl_->epoch_drift_events(), 1);
}

TEST_P(TtlTest, AnUnclearAnswerIsSettledByTheNextPass) {
  for (const Fault fault : {Fault::kLost, Fault::kLanded, Fault::kUnavailable}) {
    put("records/a", expiring(kNow));
    make_ttl();
    process_.store.hook = [&, failed = false](const Call& call) mutable {
      const bool removes = call.kind == Call::Kind::kPut || call.kind == Call::Kind::kRemove;
      return removes && !std::exchange(failed, true) ? fault : Fault::kNone;
    };
    work();
    EXPECT_EQ(ttl_->metrics().unresolved, 1);
    work();
    EXPECT_TRUE(gone("records/a"));
    EXPECT_EQ(ttl_->metrics().unresolved, 1);
  }
}

TEST_P(TtlTest, AStoreThatCannotBeReadCostsNothingButTime) {
  put("records/a", expiring(kNow));
  process_.store.hook = [&](const Call&) { return Fault::kUnavailable; };
  work();
  EXPECT_EQ(ttl_->metrics().examined, 0);
  process_.store.hook = {};
  work();
  EXPECT_TRUE(gone("records/a"));
}

TEST_P(TtlTest, TombstonesStayUnlessTheWritersPromiseSingleUseKeys) {
  put("records/a", expiring(kNow));
  work();
  stage_.clock.set_wall(kNow + 24h * 1000);
  work();
  EXPECT_EQ(stage_.body("records/a").empty(), GetParam());
  // So it is safe for others to make the key live again.
  put("records/a", expiring(kNow + 24h * 2000));
  work();
  EXPECT_FALSE(gone("records/a"));
}

TEST_P(TtlTest, SweepsTombstonesAfterTheirTime) {
  put("records/a", expiring(kNow));
  options_.sweep_after = 1h;
  work();
  stage_.clock.set_wall(kNow + 1h - 1ms);
  work();
  EXPECT_EQ(stage_.body("records/a").empty(), GetParam());
  stage_.clock.set_wall(kNow + 1h);
  work();
  EXPECT_TRUE(stage_.body("records/a").empty());
  EXPECT_EQ(ttl_->metrics().swept, GetParam() ? 0 : 1);
}

TEST_P(TtlTest, RenewingKeepsARecordAliveAndEndsWithIt) {
  auto record = TtlRecord::create(process_.sync, "records/", R"({"owner":"w1"})", 10s, Random(5));
  ASSERT_TRUE(record) << record.error().message;
  stage_.clock.set_wall(kNow + 9s);
  ASSERT_TRUE(record->renew(10s));
  stage_.clock.set_wall(kNow + 15s);
  work();
  EXPECT_FALSE(gone(record->key()));
  EXPECT_EQ(nlohmann::json::parse(stage_.body(record->key())).value("owner", ""), "w1");
  ASSERT_TRUE(record->renew(1s, R"({"owner":"w2"})"));
  EXPECT_EQ(nlohmann::json::parse(stage_.body(record->key())).value("owner", ""), "w2");
  stage_.clock.set_wall(kNow + 17s);
  work();
  EXPECT_TRUE(gone(record->key()));
  // It never writes over the tombstone, and never makes the key again.
  EXPECT_TRUE(record->renew(10s).is(Errc::kNotFound));
  EXPECT_TRUE(gone(record->key()));
}

TEST_P(TtlTest, ARenewalOvertakenByTheRemovalSaysSo) {
  auto record = TtlRecord::create(process_.sync, "records/", "{}", 10s, Random(5));
  ASSERT_TRUE(record);
  stage_.clock.set_wall(kNow + 10s);
  // The renewal is on its way, the leader is faster, and then the renewal arrives.
  process_.store.hook = [&](const Call& call) {
    return call.kind == Call::Kind::kPut ? Fault::kLate : Fault::kNone;
  };
  EXPECT_TRUE(record->renew(10s).is(Errc::kAmbiguous));
  process_.store.hook = {};
  work();
  stage_.land_late(process_);
  EXPECT_TRUE(gone(record->key()));
  EXPECT_TRUE(record->renew(10s).is(Errc::kNotFound));
}

TEST_P(TtlTest, AnUnclearRenewalIsReadBack) {
  auto record = TtlRecord::create(process_.sync, "records/", "{}", 10s, Random(5));
  ASSERT_TRUE(record);
  const auto first_put = [this](Fault fault) {
    process_.store.hook = [fault, failed = false](const Call& call) mutable {
      return call.kind == Call::Kind::kPut && !std::exchange(failed, true) ? fault : Fault::kNone;
    };
  };
  first_put(Fault::kLanded);
  EXPECT_TRUE(record->renew(20s));
  first_put(Fault::kLost);
  EXPECT_TRUE(record->renew(30s).is(Errc::kAmbiguous));
  EXPECT_TRUE(record->renew(30s));
  // An earlier one that lands late is its own, and no stranger's.
  first_put(Fault::kLate);
  EXPECT_TRUE(record->renew(40s).is(Errc::kAmbiguous));
  stage_.land_late(process_);
  EXPECT_TRUE(record->renew(50s).is(Errc::kAmbiguous));
  EXPECT_TRUE(record->renew(50s));
  put(record->key(), R"({"nonce":"stranger"})");
  EXPECT_TRUE(record->renew(60s).is(Errc::kConflict));
  EXPECT_TRUE(record->renew(60s, "[]").is(Errc::kInvalid));
}

TEST_P(TtlTest, AnUnclearCreationIsReadBack) {
  process_.store.hook = [](const Call& call) {
    return call.kind == Call::Kind::kPut ? Fault::kLanded : Fault::kNone;
  };
  EXPECT_TRUE(TtlRecord::create(process_.sync, "records/", "{}", 10s, Random(5)));
  process_.store.hook = [](const Call& call) {
    return call.kind == Call::Kind::kPut ? Fault::kLost : Fault::kNone;
  };
  EXPECT_TRUE(
      TtlRecord::create(process_.sync, "records/", "{}", 10s, Random(6)).is(Errc::kAmbiguous));
}

}  // namespace ttl_test
}  // namespace muster
