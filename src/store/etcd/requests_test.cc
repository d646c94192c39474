#include "store/etcd/requests.h"

#include <gtest/gtest.h>

namespace muster::etcd {
namespace requests_test {

using etcdserverpb::Compare;
using etcdserverpb::TxnResponse;

TEST(EtcdRequestsTest, CreationComparesTheCreateRevision) {
  const auto txn = Requests("app").put("k", "v", Precondition::absent(), {});
  ASSERT_TRUE(txn);
  ASSERT_EQ(txn->compare_size(), 1);
  EXPECT_EQ(txn->compare(0).key(), "app/k");
  EXPECT_EQ(txn->compare(0).target(), Compare::CREATE);
  EXPECT_TRUE(txn->compare(0).has_create_revision());
  EXPECT_EQ(txn->compare(0).create_revision(), 0);
  EXPECT_EQ(txn->failure_size(), 0);
}

TEST(EtcdRequestsTest, AGuardIsComparedInTheSameTransaction) {
  const auto txn =
      Requests("").put("k", "v", Precondition::none(), Guard{"g", Precondition::at(Revision("5"))});
  ASSERT_TRUE(txn);
  ASSERT_EQ(txn->compare_size(), 1);
  EXPECT_EQ(txn->compare(0).key(), "g");
  EXPECT_EQ(txn->compare(0).mod_revision(), 5);
}

TEST(EtcdRequestsTest, ARevisionThatIsNotEtcdsIsAConflictAndNotZero) {
  for (const char* revision : {"", "0", "\"etag\"", "-1", "18446744073709551616"}) {
    EXPECT_TRUE(
        Requests("").put("k", "v", Precondition::at(Revision(revision)), {}).is(Errc::kConflict))
        << revision;
  }
}

// S17: a removal at a revision is decided by the store, in one transaction.
TEST(EtcdRequestsTest, RemovalAtARevisionIsOneTransaction) {
  const Requests requests("");
  const auto txn = requests.remove("k", Revision("9"));
  EXPECT_EQ(txn.compare(0).mod_revision(), 9);
  EXPECT_TRUE(txn.success(0).has_request_delete_range());
  const auto never = requests.remove("k", Revision("x"));
  EXPECT_TRUE(never.success(0).has_request_range());
}

TEST(EtcdRequestsTest, AnUnchangedBodyIsNotAskedFor) {
  const auto txn = Requests("").get("k", Revision("9"));
  EXPECT_EQ(txn.success_size(), 0);
  EXPECT_EQ(txn.failure_size(), 1);
  EXPECT_TRUE(Requests("").got("k", TxnResponse()).is(Errc::kUnchanged));
}

// S14: pages go on where the last one ended, at its revision.
TEST(EtcdRequestsTest, ThePagesOfAListAreOneSnapshot) {
  const Requests requests("app");
  TxnResponse response;
  response.mutable_header()->set_revision(42);
  auto* range = response.add_responses()->mutable_response_range();
  range->set_more(true);
  auto* kv = range->add_kvs();
  kv->set_key("app/w/a b");
  kv->set_mod_revision(7);
  const ListPage page = requests.listed("", response);
  ASSERT_EQ(page.objects.size(), 1U);
  EXPECT_EQ(page.objects[0].key, "w/a b");
  EXPECT_EQ(page.objects[0].revision, Revision("7"));
  EXPECT_EQ(page.cursor, "42");

  const auto next = requests.list("w/", page.next, 10);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->success(0).request_range().revision(), 42);
  EXPECT_EQ(next->success(0).request_range().key(), std::string("app/w/a b\0", 10));
  EXPECT_EQ(next->success(0).request_range().range_end(), "app/w0");
  response.mutable_header()->set_revision(50);
  EXPECT_EQ(requests.listed(page.next, response).cursor, "42");
}

TEST(EtcdRequestsTest, APageOfAnotherListIsRefused) {
  const Requests requests("app");
  for (const char* from : {"nonsense", "42", "x app/w/a", "42 other/w/a"}) {
    EXPECT_TRUE(requests.list("w/", from, 10).is(Errc::kInvalid)) << from;
  }
}

TEST(EtcdRequestsTest, AnEmptyPrefixIsTheWholeStore) {
  const auto txn = Requests("").list("", "", 10);
  ASSERT_TRUE(txn);
  EXPECT_EQ(txn->success(0).request_range().key(), std::string(1, '\0'));
  EXPECT_EQ(txn->success(0).request_range().range_end(), std::string(1, '\0'));
}

// P18: etcd takes a transaction for linearizable only if it holds a read that is.
TEST(EtcdRequestsTest, EveryReadIsLinearizable) {
  const Requests requests("app");
  const auto linearizable = [](const etcdserverpb::TxnRequest& txn) {
    int reads = 0;
    for (const auto* ops : {&txn.success(), &txn.failure()}) {
      for (const auto& op : *ops) {
        if (op.request_range().serializable()) return false;
        ++reads;
      }
    }
    return reads > 0;
  };
  EXPECT_TRUE(linearizable(requests.get("k", {})));
  EXPECT_TRUE(linearizable(requests.get("k", Revision("3"))));
  EXPECT_TRUE(linearizable(*requests.list("", "", 10)));
  EXPECT_TRUE(linearizable(requests.revision()));
}

// P18: a read that must not be stale is logged, and an unchanged body is still not sent.
TEST(EtcdRequestsTest, AReadThroughTheLogKeepsItsMeaning) {
  for (auto txn : {Requests("").get("k", {}), Requests("").get("k", Revision("3"))}) {
    const int sent_when_unchanged = txn.success_size();
    EXPECT_FALSE(Requests::goes_through_log(txn));
    Requests::read_through_log(txn);
    EXPECT_TRUE(Requests::goes_through_log(txn));
    EXPECT_EQ(txn.success_size() == 0, sent_when_unchanged == 0);
  }
}

// P16: stopping between two changes of one transaction loses neither.
TEST(EtcdRequestsTest, TheCursorPassesARevisionOnlyWithItsLastEvent) {
  google::protobuf::RepeatedPtrField<mvccpb::Event> raw;
  for (const auto& [key, revision] : {std::pair("a", 5), std::pair("b", 5), std::pair("c", 6)}) {
    auto* kv = raw.Add()->mutable_kv();
    kv->set_key(key);
    kv->set_mod_revision(revision);
  }
  raw.Mutable(2)->set_type(mvccpb::Event::DELETE);
  const auto events = Requests("").events(raw);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].cursor, "4");
  EXPECT_EQ(events[1].cursor, "5");
  EXPECT_EQ(events[2].cursor, "6");
  EXPECT_EQ(events[2].kind, WatchEvent::Kind::kRemoved);
}

}  // namespace requests_test
}  // namespace muster::etcd
