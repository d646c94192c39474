#include "store/etcd/etcd_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "base/log.h"
#include "tests/store_etcd/store_client.h"
#include "tests/support/child_process.h"
#include "tests/support/etcd_cluster.h"

namespace muster::testing {
namespace etcd_store_test {

std::string with_user(const EtcdCluster& cluster, const std::string& user,
                      const std::string& prefix) {
  return "etcd://" + user + "@" + cluster.endpoints() + "/" + prefix;
}

TEST(EtcdStoreTest, ConditionsAreDecidedByEtcd) {
  EtcdCluster cluster;
  StoreClient client(cluster.url("app"));
  EXPECT_TRUE(client.get("k").is(Errc::kNotFound));
  const auto first = client.put("k", "one", Precondition::absent());
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_TRUE(client.put("k", "two", Precondition::absent()).is(Errc::kConflict));
  EXPECT_TRUE(client.get("k", *first).is(Errc::kUnchanged));
  const auto second = client.put("k", "two", Precondition::at(*first));
  ASSERT_TRUE(second);
  EXPECT_TRUE(client.put("k", "three", Precondition::at(*first)).is(Errc::kConflict));
  const auto object = client.get("k", *first);
  ASSERT_TRUE(object);
  EXPECT_EQ(object->body, "two");
  EXPECT_EQ(object->revision, *second);
  EXPECT_FALSE(object->age);

  EXPECT_TRUE(client.guarded_put("g", "x", Precondition::absent(), {"k", Precondition::at(*first)})
                  .is(Errc::kConflict));
  EXPECT_TRUE(
      client.guarded_put("g", "x", Precondition::absent(), {"k", Precondition::at(*second)}));
  // S17: the store, and not a look before it, decides a removal at a revision.
  EXPECT_TRUE(client.remove("k", *first).is(Errc::kConflict));
  EXPECT_TRUE(client.remove("k", *second));
  EXPECT_TRUE(client.remove("k", *second).is(Errc::kNotFound));
  EXPECT_TRUE(client.remove("k").is(Errc::kNotFound));
  EXPECT_EQ(cluster.ctl(0, {"get", "app/g", "--print-value-only"}), "x\n");
}

// S14: a list of several pages is whole, and it is one snapshot.
TEST(EtcdStoreTest, AListIsOneSnapshotWhateverIsWrittenMeanwhile) {
  EtcdCluster cluster;
  EtcdOptions options;
  options.page_size = 2;
  StoreClient client(cluster.url("app"), options);
  for (const char* key : {"w/1", "w/2", "w/3", "w/4", "w/5", "x"}) ASSERT_TRUE(client.put(key, ""));
  const auto first = client.list("w/");
  ASSERT_TRUE(first);
  ASSERT_TRUE(client.remove("w/4"));
  ASSERT_TRUE(client.put("w/35", ""));
  std::vector<Key> keys;
  for (Result<ListPage> page = first;; page = client.list("w/", page->next)) {
    ASSERT_TRUE(page) << page.error().message;
    EXPECT_EQ(page->cursor, first->cursor);
    for (const auto& object : page->objects) keys.push_back(object.key);
    if (page->next.empty()) break;
  }
  EXPECT_EQ(keys, (std::vector<Key>{"w/1", "w/2", "w/3", "w/4", "w/5"}));

  // The cursor leads a watch to what the list did not show.
  client.watch("w/", first->cursor);
  EXPECT_EQ(client.next_event().key, "w/4");
  EXPECT_EQ(client.next_event().key, "w/35");

  cluster.ctl(0, {"compaction", client.put("x", "y")->value()});
  const auto late = client.list("w/", first->next);
  ASSERT_TRUE(late.is(Errc::kUnavailable));
  EXPECT_NE(late.error().message.find("list from the start"), std::string::npos);
}

TEST(EtcdStoreTest, AWatchFromNowOnMissesNoWriteThatFollowsIt) {
  EtcdCluster cluster;
  for (int round = 0; round < 20; ++round) {
    StoreClient client(cluster.url("app"));
    const std::string body = std::to_string(round);
    client.watch("k", "");
    ASSERT_TRUE(client.put("k", body));
    const WatchEvent event = client.next_event();
    EXPECT_EQ(event.kind, WatchEvent::Kind::kPut);
    EXPECT_EQ(event.object.body, body);
  }
}

TEST(EtcdStoreTest, AWatchWhoseHistoryIsCompactedSaysSoAndGoesOn) {
  EtcdCluster cluster;
  StoreClient client(cluster.url("app"));
  const auto old = client.put("k", "1");
  ASSERT_TRUE(client.put("k", "2"));
  const auto last = client.put("k", "3");
  cluster.ctl(0, {"compaction", last->value()});
  client.watch("", old->value());
  const WatchEvent reset = client.next_event();
  EXPECT_EQ(reset.kind, WatchEvent::Kind::kReset);
  ASSERT_TRUE(client.put("k", "4"));
  EXPECT_EQ(client.next_event().object.body, "4");
  ASSERT_TRUE(client.remove("k"));
  EXPECT_EQ(client.next_event().kind, WatchEvent::Kind::kRemoved);

  client.watch("", "not a cursor");
  EXPECT_EQ(client.next_event().kind, WatchEvent::Kind::kReset);
}

TEST(EtcdStoreTest, LargeAnswersToAWatchArriveWhole) {
  EtcdCluster cluster;
  StoreClient client(cluster.url("app"));
  const auto start = client.put("start", "");
  // Together more than etcd puts into one message, so that it sends pieces.
  const std::string body(1'000'000, 'b');
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(client.put("k" + std::to_string(i), body));
  client.watch("k", start->value());
  for (int i = 0; i < 5; ++i) {
    const WatchEvent event = client.next_event();
    EXPECT_EQ(event.key, "k" + std::to_string(i));
    EXPECT_EQ(event.object.body, body);
  }
}

TEST(EtcdStoreTest, AnObjectOverTheLimitIsRefusedBeforeItIsSent) {
  EtcdCluster cluster;
  StoreClient client(cluster.url("app"));
  const auto refused = client.put("k", std::string(1536 * 1024, 'x'));
  ASSERT_TRUE(refused.is(Errc::kInvalid));
  EXPECT_NE(refused.error().message.find("1572864"), std::string::npos);
  // What we let through, etcd takes.
  EXPECT_TRUE(client.put("k", std::string(1536 * 1024 - 300, 'x')));
}

TEST(EtcdStoreTest, AFullStoreNamesItsAlarmAndIsAmbiguous) {
  EtcdClusterOptions options;
  options.extra_args = {"--quota-backend-bytes=3000000"};
  EtcdCluster cluster(options);
  StoreClient client(cluster.url("app"));
  Result<Revision> result = Revision("");
  // etcd sees how full it is only when it commits, every 100 ms.
  for (int i = 0; i < 2000 && result; ++i) result = client.put("k", std::string(100'000, 'x'));
  ASSERT_TRUE(result.is(Errc::kAmbiguous));
  EXPECT_NE(result.error().message.find("NOSPACE"), std::string::npos);
}

// R22: reads are answered between writes that fail, so each of these was the first failure again.
TEST(EtcdStoreTest, AFullStoreThatIsStillReadIsLoggedOnce) {
  EtcdClusterOptions options;
  options.extra_args = {"--quota-backend-bytes=3000000"};
  EtcdCluster cluster(options);
  std::atomic<int> lines{0};
  set_log_sink([&](const LogLine& line) { lines += line.message == "store server failed"; });
  {
    StoreClient client(cluster.url("app"));
    Result<Revision> result = Revision("");
    for (int i = 0; i < 2000 && result; ++i) result = client.put("k", std::string(100'000, 'x'));
    ASSERT_FALSE(result);
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(client.get("k"));
      EXPECT_TRUE(client.put("k", "more").is(Errc::kAmbiguous));
    }
    EXPECT_EQ(lines.load(), 1);
    // Another kind of failure is told at once.
    EXPECT_TRUE(client.get("k"));
    cluster.kill(0);
    EXPECT_FALSE(client.get("k", {}, 200ms));
  }
  set_log_sink({});
  EXPECT_EQ(lines.load(), 2);
}

TEST(EtcdStoreTest, UserAndPasswordAreAskedForAndATokenThatIsForgottenIsRenewed) {
  EtcdCluster cluster;
  cluster.enable_auth("secret");
  StoreClient nobody(cluster.url("app"));
  EXPECT_TRUE(nobody.put("k", "v").is(Errc::kDenied));
  StoreClient wrong(with_user(cluster, "root:guess", "app"));
  const auto denied = wrong.put("k", "v");
  ASSERT_TRUE(denied.is(Errc::kDenied));
  EXPECT_EQ(denied.error().message.find("guess"), std::string::npos);

  StoreClient root(with_user(cluster, "root:secret", "app"));
  ASSERT_TRUE(root.put("k", "v"));
  root.watch("k", "");
  // A restarted member has forgotten its tokens. The refused write was not performed, so it is
  // sent again with a new one and the caller sees nothing of it.
  cluster.restart(0);
  EXPECT_TRUE(root.put("k", "w", {}, 10s));
  EXPECT_EQ(root.next_event().object.body, "w");
}

TEST(EtcdStoreTest, AUserWithoutThePermissionIsDenied) {
  EtcdCluster cluster;
  cluster.ctl(0, {"role", "add", "reader"});
  cluster.ctl(0, {"role", "grant-permission", "reader", "--prefix=true", "read", "app/"});
  cluster.ctl(0, {"user", "add", "ann:pw"});
  cluster.ctl(0, {"user", "grant-role", "ann", "reader"});
  cluster.enable_auth("secret");
  StoreClient ann(with_user(cluster, "ann:pw", "app"));
  EXPECT_TRUE(ann.get("k").is(Errc::kNotFound));
  EXPECT_TRUE(ann.put("k", "v").is(Errc::kDenied));
  StoreClient elsewhere(with_user(cluster, "ann:pw", "other"));
  EXPECT_TRUE(elsewhere.get("k").is(Errc::kDenied));
}

// Takes about 9 s: two real etcds make their certificates and start, and three calls wait for their
// limit of 1 s.
TEST(EtcdStoreTest, MutualTlsWorksAndNothingLessDoes) {
  EtcdClusterOptions tls;
  tls.mutual_tls = true;
  EtcdCluster cluster(tls);
  EtcdOptions options;
  options.tls.ca = cluster.ca_file();
  options.tls.cert = cluster.client_cert_file();
  options.tls.key = cluster.client_key_file();
  StoreClient client(cluster.url("app"), options);
  ASSERT_TRUE(client.put("k", "v"));
  EXPECT_EQ(client.get("k")->body, "v");

  EtcdOptions no_certificate;
  no_certificate.tls.ca = cluster.ca_file();
  StoreClient anonymous(cluster.url("app"), no_certificate);
  EXPECT_FALSE(anonymous.get("k", {}, 1s));
  StoreClient plain(cluster.url("app"));
  EXPECT_TRUE(plain.get("k", {}, 1s).is(Errc::kUnavailable));

  EtcdClusterOptions others;
  others.mutual_tls = true;
  EtcdCluster stranger(others);
  EtcdOptions wrong_ca = options;
  wrong_ca.tls.ca = stranger.ca_file();
  StoreClient deceived(cluster.url("app"), wrong_ca);
  EXPECT_TRUE(deceived.put("k", "v", {}, 1s).is(Errc::kUnavailable));
}

// As musterd does, which has compared the version at its start only: an etcd may be another one
// later.
TEST(EtcdStoreTest, WhereOnlyTls13IsSpokenAnOlderEtcdIsRefused) {
  EtcdClusterOptions tls;
  tls.mutual_tls = true;
  const EtcdCluster certificates(tls);
  const std::string address = "127.0.0.1:" + std::to_string(free_port());
  ChildProcess old({"openssl", "s_server", "-tls1_2", "-quiet", "-alpn", "h2", "-accept", address,
                    "-cert", certificates.client_cert_file(), "-key",
                    certificates.client_key_file()});
  EtcdOptions options;
  options.tls.ca = certificates.ca_file();
  const auto says = [&](bool only13) {
    options.tls13_only = only13;
    StoreClient client("etcd://" + address + "/app", options);
    std::string message;
    do {
      message = client.get("k", {}, 2s).error().message;
    } while (message.find("Connection refused") != std::string::npos);
    return message;
  };
  EXPECT_THAT(says(true), ::testing::HasSubstr("protocol version"));
  EXPECT_THAT(says(false), ::testing::Not(::testing::HasSubstr("protocol version")));
  old.kill();
}

EtcdOptions stopping() {
  EtcdOptions options;
  options.stop_when_gone_back = true;
  return options;
}

// R05: real revisions are given out again, and none of them is taken for one of before.
TEST(EtcdStoreTest, AfterARestoreCallsGoOnAndNoOldRevisionHolds) {
  EtcdCluster cluster;
  StoreClient client(cluster.url("app"));
  ASSERT_TRUE(client.put("k", "copied"));
  cluster.save_snapshot("copy");
  client.watch("k", "");
  const auto before = client.put("k", "forgotten");
  ASSERT_TRUE(before);
  ASSERT_EQ(client.next_event().object.body, "forgotten");
  ASSERT_TRUE(client.put("other", "forgotten, too"));
  cluster.restore_snapshot("copy");

  auto read = client.get("k", {}, 10s);
  for (int i = 0; i < 3 && read.is(Errc::kUnavailable); ++i) read = client.get("k", {}, 10s);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->body, "copied");
  EXPECT_EQ(client.store()->history(), 1u);
  EXPECT_EQ(client.next_event().kind, WatchEvent::Kind::kReset);
  const auto again = client.put("k", "another", Precondition::at(read->revision));
  ASSERT_TRUE(again);
  EXPECT_NE(*again, *before);
  EXPECT_EQ(client.next_event().object.revision, *again);
  // The number is the same by now, and so it would be taken for unchanged.
  EXPECT_TRUE(client.put("k", "x", Precondition::at(*before)).is(Errc::kConflict));
  EXPECT_EQ(client.get("k", *before)->body, "another");
  EXPECT_TRUE(client.get("k", *again).is(Errc::kUnchanged));
}

// E7: for a log, a store that went back in time is a different store.
TEST(EtcdStoreTest, AnotherClusterAtTheAddressIsRefused) {
  EtcdCluster cluster;
  StoreClient client(cluster.url("app"), stopping());
  ASSERT_TRUE(client.put("k", "v"));
  cluster.restart_empty("another");
  EXPECT_TRUE(client.get("k", {}, 10s).is(Errc::kCorrupt));
  EXPECT_TRUE(client.put("k", "v").is(Errc::kCorrupt));
  StoreClient anew(cluster.url("app"));
  EXPECT_TRUE(anew.get("k").is(Errc::kNotFound));
}

TEST(EtcdStoreTest, AClusterThatWentBackInTimeIsRefusedAndItsWatchIsReset) {
  EtcdCluster cluster;
  StoreClient client(cluster.url("app"), stopping());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(client.put("k", "v"));
  client.watch("k", "");
  ASSERT_TRUE(client.put("k", "seen"));
  ASSERT_EQ(client.next_event().object.body, "seen");
  cluster.restart_empty("etcd-cluster");
  const auto gone = client.get("k", {}, 10s);
  ASSERT_TRUE(gone.is(Errc::kCorrupt));
  EXPECT_NE(gone.error().message.find("back in time"), std::string::npos);
  EXPECT_EQ(client.next_event().kind, WatchEvent::Kind::kReset);
}

TEST(EtcdStoreTest, UnfitAddressesAreRefusedWithASentence) {
  EventLoop loop;
  for (const char* address :
       {"etcd:///prefix", "etcd://h:0/p", "etcd://h:x/p", "etcd://:2379/p", "etcd://h/p?tls=1"}) {
    const auto url = Url::parse(address);
    ASSERT_TRUE(url) << address;
    EXPECT_TRUE(open_etcd_store(*url, {}, loop).is(Errc::kInvalid)) << address;
  }
  EtcdOptions half;
  half.tls.cert = "/nonexistent";
  EXPECT_TRUE(open_etcd_store(*Url::parse("etcd://h/p"), half, loop).is(Errc::kInvalid));
  half.tls.key = "/nonexistent";
  EXPECT_TRUE(open_etcd_store(*Url::parse("etcd://h/p"), half, loop).is(Errc::kInvalid));
  EXPECT_TRUE(open_etcd_store(*Url::parse("etcd://h,[::1]/p"), {}, loop));
}

}  // namespace etcd_store_test
}  // namespace muster::testing
