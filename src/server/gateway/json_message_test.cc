#include "server/gateway/json_message.h"

#include <gtest/gtest.h>

#include <string>

#include "muster/v1/coordinator.pb.h"

namespace muster::server {
namespace json_message_test {

std::string trouble(const std::string& text) {
  const auto json = parse_object(text);
  if (!json) return json.error().message;
  v1::HeartbeatRequest request;
  const Status read = from_json(*json, request);
  return read ? "" : read.error().message;
}

TEST(JsonMessageTest, NamesAreThoseOfTheContractAndNumbersAreNumbers) {
  v1::TopologyUpdate update;
  update.set_version(1ULL << 52);
  update.mutable_node_added()->set_id("n1");
  update.mutable_node_added()->set_state(v1::NODE_STATE_ACTIVE);
  update.mutable_node_added()->set_type(static_cast<v1::NodeType>(77));
  const Json json = to_json(update);
  EXPECT_EQ(json["version"], 4503599627370496);
  EXPECT_EQ(json["previous_version"], 0) << "what is not set is shown, too";
  EXPECT_EQ(json["node_added"]["state"], "ACTIVE");
  EXPECT_EQ(json["node_added"]["type"], 77);
  EXPECT_FALSE(json.contains("node_removed")) << "another choice than the one that is set";
}

TEST(JsonMessageTest, ReadsWhatItWrites) {
  v1::HeartbeatBatch batch;
  v1::HeartbeatRequest& beat = *batch.add_heartbeats();
  beat.set_node_id("n1");
  beat.set_known_version(~0ULL);
  beat.set_reported_state(v1::NODE_STATE_DRAINING);
  v1::HeartbeatBatch read;
  ASSERT_TRUE(from_json(to_json(batch), read));
  EXPECT_EQ(read.SerializeAsString(), batch.SerializeAsString());
}

TEST(JsonMessageTest, RefusalsNameTheField) {
  EXPECT_EQ(trouble(R"({"node_id": "n1", "known_version": null})"), "");
  EXPECT_EQ(trouble(R"({"node": "n1"})"), "the field node is not known");
  EXPECT_EQ(trouble(R"({"node_id": 1})"), "node_id must be a string");
  EXPECT_EQ(trouble(R"({"known_version": -1})"),
            "known_version must be a whole number from 0 to 18446744073709551615");
  EXPECT_EQ(trouble(R"({"known_version": 1.5})"),
            "known_version must be a whole number from 0 to 18446744073709551615");
  EXPECT_EQ(trouble(R"({"reported_state": "active"})"),
            "reported_state must be one of UNKNOWN, ACTIVE, JOINING, DRAINING, DOWN, SUSPECT");
  v1::HashRingConfig ring;
  EXPECT_EQ(from_json(Json{{"replication_factor", 1ULL << 32}}, ring).error().message,
            "replication_factor must be a whole number from 0 to 4294967295");
  v1::RegisterNodeRequest registration;
  EXPECT_EQ(from_json(Json{{"node", 1}}, registration).error().message, "node must be an object");
  v1::GetTopologyRequest topology;
  EXPECT_EQ(from_json(Json{{"linearizable", "yes"}}, topology).error().message,
            "linearizable must be true or false");
}

TEST(JsonMessageTest, RefusesWhatIsNoObjectOrCanBeReadInTwoWays) {
  EXPECT_EQ(trouble(""), "the body is not valid JSON");
  EXPECT_EQ(trouble(R"({"node_id": )"), "the body is not valid JSON");
  EXPECT_EQ(trouble("{\"node_id\": \"\xff\"}"), "the body is not valid JSON");
  EXPECT_EQ(trouble("[]"), "the body must be a JSON object");
  EXPECT_EQ(trouble(R"({"node_id": "a", "node_id": "b"})"), "the field node_id is given twice");
  EXPECT_NE(trouble(std::string(40, '[') + std::string(40, ']')), "");
}

}  // namespace json_message_test
}  // namespace muster::server
