#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/election/records.h"
#include "core/routing/hash_ring.h"
#include "server/gateway/election_json.h"
#include "server/gateway/feed.h"
#include "server/gateway/http_status.h"
#include "server/gateway/node_json.h"
#include "server/gateway/operations.h"
#include "server/gateway/ring_lookup.h"
#include "server/gateway/same_origin.h"

namespace muster::server {
namespace gateway_parts_test {

TEST(OperationsTest, APathAndAMethodNameOneOperation) {
  EXPECT_EQ(match("GET", "/v1/nodes").value().row->operation, Operation::kListNodes);
  EXPECT_EQ(match("HEAD", "/v1/nodes").value().row->operation, Operation::kListNodes);
  const auto one = match("PUT", "/v1/nodes/n%31").value();
  EXPECT_EQ(one.row->operation, Operation::kPutNode);
  EXPECT_EQ(one.name, "n1");
  const auto beat = match("POST", "/v1/nodes/n1/heartbeat").value();
  EXPECT_EQ(beat.row->operation, Operation::kHeartbeat);
  EXPECT_EQ(beat.name, "n1");
  EXPECT_EQ(match("GET", "/v1/elections/a:b@c.d").value().name, "a:b@c.d");
  EXPECT_EQ(match("POST", "/v1/nodes/n1").value().allowed, "GET, HEAD, PUT, DELETE");
  for (const char* path : {"/v1", "/v1/", "/v1/nodes/", "/v1/nodes/a/b", "/v1/nodes//heartbeat",
                           "/v1/nodes/heartbeat/", "/v2/nodes"}) {
    const auto none = match("GET", path).value();
    EXPECT_EQ(none.row, nullptr) << path;
    EXPECT_EQ(none.allowed, "") << path;
  }
  EXPECT_TRUE(match("GET", "/v1/nodes/%zz").is(Errc::kInvalid));
}

TEST(OperationsTest, IdsAndPathsAreDifferent) {
  std::set<std::string_view> ids;
  std::set<std::string> places;
  for (const OperationRow& row : operation_rows()) {
    EXPECT_TRUE(ids.insert(row.id).second) << row.id;
    EXPECT_TRUE(places.insert(std::string(row.method) + std::string(row.path)).second) << row.path;
  }
}

TEST(OperationsTest, NamesThatAreUnknownOrMissingAreTold) {
  const auto fields = match("GET", "/v1/ring").value().row->query;
  EXPECT_TRUE(check_names(fields, {"key", "n"}, "parameter"));
  EXPECT_EQ(check_names(fields, {"n"}, "parameter").error().message,
            "the parameter key is missing");
  EXPECT_EQ(check_names(fields, {"key", "m"}, "parameter").error().message,
            "the parameter m is not known; there are key, n, service, linearizable");
}

TEST(HttpStatusTest, AnErrorSaysWhenToComeAgain) {
  const auto limited = error_response({rpc::Code::kResourceExhausted, "slow down", {}, 1200ms});
  EXPECT_EQ(limited.status, 429);
  EXPECT_EQ(limited.headers.back(), (std::pair<std::string, std::string>("Retry-After", "2")));
  EXPECT_EQ(*limited.content,
            "{\"error\":{\"code\":\"RESOURCE_EXHAUSTED\",\"message\":\"slow down\","
            "\"retry_after_ms\":1200}}\n");
  rpc::RpcStatus replaced{rpc::Code::kFailedPrecondition, "gone"};
  replaced.replaced = true;
  EXPECT_EQ(http_status(replaced.code), 409);
  EXPECT_EQ(error_json(replaced)["error"]["replaced"], true);
  EXPECT_EQ(http_status(rpc::Code::kUnknown), 500);
}

TEST(SameOriginTest, PagesOfOtherSitesChangeNothing) {
  const auto asks = [](std::map<std::string, std::string> headers) {
    http::Request request;
    request.headers = std::move(headers);
    return check_same_origin(request).ok();
  };
  EXPECT_TRUE(asks({{"host", "localhost:9002"}})) << "a program";
  EXPECT_TRUE(asks({{"host", "localhost:9002"},
                    {"origin", "http://LOCALHOST:9002"},
                    {"sec-fetch-site", "same-origin"}}));
  EXPECT_FALSE(asks({{"host", "localhost:9002"}, {"origin", "http://evil.example"}}));
  EXPECT_FALSE(asks({{"host", "localhost:9002"}, {"origin", "http://localhost:8000"}}));
  EXPECT_FALSE(asks({{"host", "localhost:9002"}, {"origin", "null"}}));
  EXPECT_FALSE(asks({{"host", "localhost:9002"}, {"sec-fetch-site", "cross-site"}}));
  EXPECT_FALSE(asks({{"host", "localhost:9002"}, {"sec-fetch-site", "same-site"}}));
}

v1::GetTopologyResponse topology(int nodes) {
  v1::GetTopologyResponse all;
  all.set_version(7);
  all.set_log_ms(5000);
  all.mutable_hash_ring_config()->set_virtual_nodes_per_physical(16);
  all.mutable_hash_ring_config()->set_replication_factor(3);
  for (int i = 0; i < nodes; ++i) {
    v1::NodeInfo& node = i % 2 == 0 ? *all.add_object_nodes() : *all.add_frontend_nodes();
    node.set_id("n" + std::to_string(nodes - i));
    node.set_type(i % 2 == 0 ? v1::NODE_TYPE_OBJECT : v1::NODE_TYPE_FRONTEND);
    node.set_state(i == 0 ? v1::NODE_STATE_DOWN : v1::NODE_STATE_ACTIVE);
    node.set_weight(1);
    node.set_last_heartbeat_log_ms(4000);
  }
  return all;
}

TEST(NodeJsonTest, NodesAreInOneListAndNameTheirService) {
  const Json all = nodes_json(topology(3), {});
  ASSERT_EQ(all["nodes"].size(), 3U);
  EXPECT_EQ(all["nodes"][0]["id"], "n1");
  EXPECT_EQ(all["nodes"][1]["service"], "frontend");
  EXPECT_EQ(all["nodes"][0]["heartbeat_age_ms"], 1000);
  EXPECT_FALSE(all["nodes"][0].contains("type"));
  EXPECT_EQ(all["ring"]["replication_factor"], 3);
  const auto filter = NodeFilter::parse({{"state", "down"}}).value();
  const Json down = nodes_json(topology(3), filter);
  ASSERT_EQ(down["nodes"].size(), 1U);
  EXPECT_EQ(down["nodes"][0]["id"], "n3");
  EXPECT_TRUE(NodeFilter::parse({{"state", "asleep"}}).is(Errc::kInvalid));
  EXPECT_TRUE(one_node_json(topology(3), "n9").is_null());
}

TEST(NodeJsonTest, NodesAreFoundByATag) {
  v1::GetTopologyResponse all = topology(2);
  (*all.add_nodes()->mutable_tags())["zone"] = "b";
  all.mutable_nodes(0)->set_id("n7");
  all.mutable_nodes(0)->set_service("cache");
  const auto found = [&](const char* tag) {
    return nodes_json(all, NodeFilter::parse({{"tag", tag}}).value())["nodes"].size();
  };
  EXPECT_EQ(found("zone"), 1U);
  EXPECT_EQ(found("zone=b"), 1U);
  EXPECT_EQ(found("zone="), 0U);
  EXPECT_EQ(found("rack"), 0U);
  EXPECT_EQ(one_node_json(all, "n7")["service"], "cache");
  EXPECT_EQ(one_node_json(all, "n7")["tags"]["zone"], "b");
}

TEST(NodeJsonTest, ARegistrationIsOfTheNodeInThePath) {
  const Json body{{"service", "cache"}, {"port", 70}, {"weight", 2}, {"tags", {{"zone", "b"}}}};
  const auto request = registration("n1", body).value();
  EXPECT_EQ(request.node().id(), "n1");
  EXPECT_EQ(request.node().service(), "cache");
  EXPECT_EQ(request.node().port(), 70U);
  EXPECT_EQ(request.node().tags().at("zone"), "b");
  EXPECT_EQ(registration("n1", {{"tags", {{"zone", 1}}}}).error().message,
            "tags.zone: value must be a string");
}

TEST(RingLookupTest, OwnersAreThoseOfTheRing) {
  const v1::GetTopologyResponse all = topology(9);
  std::vector<RingMember> members;
  for_each_node(all, [&](const v1::NodeInfo& node) {
    if (node.state() == v1::NODE_STATE_ACTIVE) members.push_back({NodeId(node.id()), 1, false});
  });
  const HashRing ring(members, {16, 3});
  RingLookup lookup;
  for (int i = 0; i < 200; ++i) {
    const std::string key = "key-" + std::to_string(i);
    const Placement placement = ring.lookup(key);
    const Json owners = lookup.owners(all, "", key, 0)["owners"];
    ASSERT_EQ(owners.size(), 3U);
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_EQ(owners[k]["id"], ring.members()[placement.members[k]].id.value()) << key;
    }
  }
  EXPECT_EQ(lookup.owners(all, "", "key", 1)["owners"].size(), 1U);
  EXPECT_EQ(lookup.owners(all, "", "key", 1)["degraded"], false);
  EXPECT_EQ(lookup.owners(all, "", "key", 64)["owners"].size(), 8U);
  EXPECT_EQ(lookup.owners(topology(0), "cache", "key", 0)["degraded"], true);
}

v1::StoreObject state(const std::string& election, const std::string& body) {
  v1::StoreObject object;
  object.set_key(NamespaceKeys(election).state);
  object.set_value(body);
  object.set_revision(41);
  object.set_age_ms(400);
  return object;
}

std::string led_by(const std::string& worker) {
  LeaderState led;
  led.leader = WorkerId(worker);
  led.epoch = Epoch(6);
  led.lease = 1s;
  led.value = "10.0.0.1:80";
  led.workers = {WorkerId(worker)};
  return encode(led);
}

TEST(ElectionJsonTest, AnElectionShowsItsLeaderAndWhatIsLeftOfTheLease) {
  const Json json = election_json("cron", state("cron", led_by("w1")));
  EXPECT_EQ(json["leader"], "w1");
  EXPECT_EQ(json["value"], "10.0.0.1:80");
  EXPECT_EQ(json["epoch"], 6);
  EXPECT_EQ(json["lease_left_ms"], 600);
  EXPECT_EQ(json["workers"], Json::array({"w1"}));
  EXPECT_EQ(json["revision"], 41);
  const Json damaged = election_json("cron", state("cron", R"({"epoch": 9)"));
  EXPECT_TRUE(damaged["leader"].is_null());
  EXPECT_NE(damaged["damaged"], "");
}

TEST(ElectionListTest, SkipsWorkersAndGoesOnWhereItWasCut) {
  ElectionList list("", "", 2, true);
  auto first = list.next();
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->stale_ok());
  v1::StoreListResponse page;
  *page.add_objects() = state("a", led_by("w1"));
  page.add_objects()->set_key(NamespaceKeys("a").worker(WorkerId("w1")));
  page.set_more(true);
  list.add(page);
  const auto second = list.next();
  ASSERT_TRUE(second);
  EXPECT_GT(second->after(), NamespaceKeys("a").worker(WorkerId("zzz")));
  EXPECT_LT(second->after(), NamespaceKeys("b").state);
  page.clear_objects();
  page.add_objects()->set_key(NamespaceKeys("b").metadata);
  *page.add_objects() = state("b", led_by("w2"));
  *page.add_objects() = state("c", led_by("w3"));
  page.set_more(false);
  list.add(page);
  EXPECT_FALSE(list.next());
  EXPECT_EQ(list.json()["elections"].size(), 2U);
  EXPECT_EQ(list.json()["next"], "b");
  ElectionList rest("", "b", 2, false);
  EXPECT_GT(rest.next()->after(), NamespaceKeys("b").worker(WorkerId("zzz")));
  page.clear_objects();
  *page.add_objects() = state("c", led_by("w3"));
  rest.add(page);
  EXPECT_FALSE(rest.next());
  EXPECT_TRUE(rest.json()["next"].is_null());
}

TEST(ElectionListTest, ElectionsBelowAPathAreThoseOfThatAddress) {
  EXPECT_EQ(state_key("", "a"), NamespaceKeys("a").state);
  EXPECT_EQ(state_key("app//", "a"), "app/" + NamespaceKeys("a").state);
  ElectionList list("app", "", 5, false);
  EXPECT_EQ(list.next()->prefix(), std::string("app/") + kElectionsPrefix);
  v1::StoreListResponse page;
  *page.add_objects() = state("a", led_by("w1"));
  page.mutable_objects(0)->set_key(state_key("app", "a"));
  list.add(page);
  ASSERT_EQ(list.json()["elections"].size(), 1U);
  EXPECT_EQ(list.json()["elections"][0]["name"], "a");
}

TEST(FeedPositionTest, IsReadBackAsItIsWritten) {
  const auto position = FeedPosition::parse("12@log-7").value();
  EXPECT_EQ(position.version, 12U);
  EXPECT_EQ(position.history, "log-7");
  EXPECT_EQ(position.text(), "12@log-7");
  EXPECT_EQ(FeedPosition::parse("12").value().text(), "12");
  for (const char* wrong : {"", "x", "-1", "@log", "1\n2"}) {
    EXPECT_TRUE(FeedPosition::parse(wrong).is(Errc::kInvalid)) << wrong;
  }
}

}  // namespace gateway_parts_test
}  // namespace muster::server
