#include "core/membership/validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/membership/service_filter.h"

namespace muster::membership {
namespace validation_test {

using ::testing::HasSubstr;

constexpr const char* kUuid = "123e4567-e89b-12d3-a456-426614174000";

NodeSpec good_node() {
  NodeSpec node;
  node.id = NodeId("node-1");
  node.address = "10.0.0.1";
  node.port = 9000;
  node.type = NodeType::kObject;
  node.generation = Generation(kUuid);
  return node;
}

TEST(ValidationTest, NodeIdsAreLettersDigitsAndInnerHyphens) {
  for (const std::string& id : {std::string("a"), std::string("Node-1"), std::string("0"),
                                std::string(63, 'x'), std::string("a--b")}) {
    EXPECT_TRUE(validate_node_id(id)) << id;
  }
  for (const std::string& id :
       {std::string(), std::string("-a"), std::string("a-"), std::string(64, 'x'),
        std::string("a_b"), std::string("a.b"), std::string("nöde"), std::string("a b"),
        std::string("a\0b", 3), std::string("-")}) {
    EXPECT_TRUE(validate_node_id(id).is(Errc::kInvalid)) << id;
  }
}

TEST(ValidationTest, AddressesAreIpv4Ipv6OrHostNames) {
  for (const char* good :
       {"127.0.0.1", "255.255.255.255", "0.0.0.0", "::", "::1", "2001:db8::8:800:200c:417a",
        "2001:DB8:0:0:8:800:200C:417A", "::ffff:192.0.2.1", "1:2:3:4:5:6:192.0.2.1",
        "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "localhost", "node-1.example.com", "example.com.",
        "3com.com", "a1", "1.2.3.4.example"}) {
    EXPECT_TRUE(validate_address(good)) << good;
  }
  for (const char* bad : {"",
                          ".",
                          "256.0.0.1",
                          "1.2.3",
                          "1.2.3.4.5",
                          "01.2.3.4",
                          "1.2.3.",
                          "1..2.3",
                          ":",
                          ":::",
                          "1::2::3",
                          "1:2:3:4:5:6:7",
                          "1:2:3:4:5:6:7:8:9",
                          "1:2:3:4:5:6:7:8::",
                          "::12345",
                          "::g",
                          "1.2.3.4::",
                          "::1.2.3.4:5",
                          "[::1]",
                          "fe80::1%eth0",
                          "-a.com",
                          "a-.com",
                          "a..b",
                          "a_b.com",
                          "host:80",
                          "http://host",
                          "a b",
                          "1:2:3:4:5:6:7:192.0.2.1",
                          ":1:2:3:4:5:6:7"}) {
    EXPECT_TRUE(validate_address(bad).is(Errc::kInvalid)) << bad;
  }
  const std::string label(63, 'a');
  const std::string longest = label + "." + label + "." + label + "." + std::string(61, 'b');
  EXPECT_TRUE(validate_address(longest));
  EXPECT_FALSE(validate_address(longest + "b"));
  EXPECT_FALSE(validate_address(std::string(64, 'a') + ".com"));
}

TEST(ValidationTest, PortsAndGenerationsHaveTheirForms) {
  EXPECT_TRUE(validate_port(1));
  EXPECT_TRUE(validate_port(65535));
  EXPECT_FALSE(validate_port(0));
  EXPECT_FALSE(validate_port(65536));
  EXPECT_TRUE(validate_generation(kUuid));
  EXPECT_TRUE(validate_generation("123E4567-E89B-12D3-A456-42661417400F"));
  for (const char* bad :
       {"", "123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-42661417400",
        "123e4567-e89b-12d3-a456-4266141740000", "123e4567-e89b-12d3-a456-42661417400g",
        "123e4567-e89b-12d3-a4564-26614174000", "{23e4567-e89b-12d3-a456-426614174000"}) {
    EXPECT_TRUE(validate_generation(bad).is(Errc::kInvalid)) << bad;
  }
}

// T12: frontends could not register.
TEST(ValidationTest, EveryNodeTypeMayRegister) {
  NodeSpec node = good_node();
  for (const NodeType type : {NodeType::kFrontend, NodeType::kMetadata, NodeType::kObject}) {
    node.type = type;
    EXPECT_TRUE(validate(node)) << to_string(type);
  }
  node.type = NodeType::kUnknown;
  EXPECT_FALSE(validate(node));
}

TEST(ValidationTest, AServiceIsNamedByItsTypeOrByAName) {
  NodeSpec node = good_node();
  for (const char* name : {"a", "search", "queue-2", "a1", "frontend", "object"}) {
    set_service(node, name);
    EXPECT_TRUE(validate(node)) << name;
    EXPECT_EQ(service_of(node), name);
    EXPECT_EQ(node.service.empty(), node.type != NodeType::kUnknown) << name;
  }
  set_service(node, std::string(63, 'a'));
  EXPECT_TRUE(validate(node));
  for (const std::string& bad : {std::string("Search"), std::string("1a"), std::string("-a"),
                                 std::string("a-"), std::string("a_b"), std::string("a.b"),
                                 std::string("*"), std::string("\xc3\xa4"), std::string(64, 'a')}) {
    set_service(node, bad);
    EXPECT_TRUE(validate(node).is(Errc::kInvalid)) << bad;
    EXPECT_TRUE(ServiceFilter::parse(bad).is(Errc::kInvalid) || bad == ServiceFilter::kAll) << bad;
  }
  // Two names for one thing would be two services to those who compare bytes.
  set_service(node, "search");
  node.type = NodeType::kObject;
  EXPECT_TRUE(validate(node).is(Errc::kInvalid));
  node.type = NodeType::kUnknown;
  node.service = "object";
  EXPECT_TRUE(validate(node).is(Errc::kInvalid));
}

TEST(ValidationTest, TagsHaveBounds) {
  NodeSpec node = good_node();
  node.tags = {{"zone", "b"}, {"k8s.io/app_name-1", ""}, {"7", "Z\xc3\xbcrich = 1,2"}};
  EXPECT_TRUE(validate(node));
  for (const std::string& bad : {std::string(), std::string("-a"), std::string("a."),
                                 std::string("a b"), std::string("a=b"), std::string(64, 'a')}) {
    EXPECT_TRUE(validate(Tags{{bad, "v"}}).is(Errc::kInvalid)) << bad;
  }
  EXPECT_TRUE(validate(Tags{{std::string(63, 'a'), std::string(255, 'v')}}));
  for (const std::string& bad :
       {std::string(256, 'v'), std::string("\xff"), std::string("a\nb"), std::string("\x1b[2J")}) {
    EXPECT_TRUE(validate(Tags{{"key", bad}}).is(Errc::kInvalid)) << bad;
  }
  Tags many;
  for (int i = 0; i < 32; ++i) many.emplace("k" + std::to_string(i), "v");
  EXPECT_TRUE(validate(many));
  many.emplace("k32", "v");
  EXPECT_THAT(validate(many).error().message, HasSubstr("at most 32 tags"));
  Tags large;
  for (int i = 0; i < 16; ++i) large.emplace("k" + std::to_string(10 + i), std::string(253, 'v'));
  EXPECT_TRUE(validate(large)) << "4096 bytes";
  large["k10"] += "v";
  EXPECT_THAT(validate(large).error().message, HasSubstr("4096 bytes together"));
}

TEST(ValidationTest, AFilterIsOfTheServicesWithATypeOfOneOrOfAll) {
  NodeSpec object = good_node();
  object.type = NodeType::kObject;
  NodeSpec search = good_node();
  set_service(search, "search");
  const auto contains = [&](const std::string& text) {
    const ServiceFilter filter = *ServiceFilter::parse(text);
    EXPECT_EQ(filter.text(), text);
    return std::pair(filter.contains(object), filter.contains(search));
  };
  EXPECT_EQ(contains(""), std::pair(true, false));
  EXPECT_EQ(contains("object"), std::pair(true, false));
  EXPECT_EQ(contains("frontend"), std::pair(false, false));
  EXPECT_EQ(contains("search"), std::pair(false, true));
  EXPECT_EQ(contains("*"), std::pair(true, true));
  EXPECT_FALSE(ServiceFilter().one());
  EXPECT_FALSE(ServiceFilter::all().one());
  EXPECT_TRUE(ServiceFilter::parse("object")->one());
}

TEST(ValidationTest, EveryErrorNamesItsFieldAndRule) {
  struct Row {
    void (*spoil)(NodeSpec&);
    const char* field;
    const char* rule;
  };
  const Row rows[] = {
      {[](NodeSpec& n) { n.id = NodeId("-"); }, "node id", "1 to 63"},
      {[](NodeSpec& n) { n.address = "a b"; }, "address", "IPv4"},
      {[](NodeSpec& n) { n.port = 0; }, "port", "between 1 and 65535"},
      {[](NodeSpec& n) { n.generation = Generation("x"); }, "generation_id", "8-4-4-4-12"},
      {[](NodeSpec& n) { n.type = static_cast<NodeType>(7); }, "type", "FRONTEND"},
      {[](NodeSpec& n) { n.weight = 0; }, "weight", "between 1 and 1000"},
      {[](NodeSpec& n) { n.weight = 1001; }, "weight", "between 1 and 1000"},
  };
  for (const Row& row : rows) {
    NodeSpec node = good_node();
    row.spoil(node);
    const Status status = validate(node);
    ASSERT_TRUE(status.is(Errc::kInvalid)) << row.field;
    EXPECT_THAT(status.error().message, HasSubstr(row.field));
    EXPECT_THAT(status.error().message, HasSubstr(row.rule));
  }
}

TEST(ValidationTest, ErrorsShowHostileInputCutAndPrintable) {
  const Status status = validate_node_id("\x1b[2J" + std::string(100000, 'x'));
  ASSERT_FALSE(status);
  EXPECT_LT(status.error().message.size(), 300U);
  EXPECT_EQ(status.error().message.find('\x1b'), std::string::npos);
}

TEST(ValidationTest, ANodeCannotReportItselfSuspectOrDown) {
  EXPECT_TRUE(validate_reported_state(NodeState::kUnknown));
  EXPECT_TRUE(validate_reported_state(NodeState::kActive));
  EXPECT_TRUE(validate_reported_state(NodeState::kJoining));
  EXPECT_TRUE(validate_reported_state(NodeState::kDraining));
  EXPECT_FALSE(validate_reported_state(NodeState::kSuspect));
  EXPECT_FALSE(validate_reported_state(NodeState::kDown));
  EXPECT_FALSE(validate_reported_state(static_cast<NodeState>(6)));
}

TEST(ValidationTest, RingConfigsHaveBounds) {
  EXPECT_TRUE(validate(RingConfig{}));
  EXPECT_FALSE(validate(RingConfig{0, 3, ""}));
  EXPECT_FALSE(validate(RingConfig{4097, 3, ""}));
  EXPECT_FALSE(validate(RingConfig{16, 0, ""}));
  EXPECT_FALSE(validate(RingConfig{16, 65, ""}));
}

}  // namespace validation_test
}  // namespace muster::membership
