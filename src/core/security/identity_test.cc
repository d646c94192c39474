#include "core/security/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::security {
namespace identity_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CertificateNames names_of(const std::string& id, std::vector<std::string> uris) {
  return {{id}, {}, {}, std::move(uris)};
}

Identity node(const std::string& id, std::vector<std::string> dns, std::vector<std::string> ip) {
  return identify({{id}, std::move(dns), std::move(ip), {"muster:role:node"}}).value();
}

Identity agent(std::vector<std::string> carries) {
  std::vector<std::string> uris = identity_uris(Role::kAgent, carries).value();
  return identify({{"a1"}, {"rack7"}, {}, std::move(uris)}).value();
}

std::string refusal(const Status& status) {
  EXPECT_TRUE(status.is(Errc::kDenied));
  return status.ok() ? "" : status.error().message;
}

TEST(IdentityTest, EveryRoleIsReadBackFromItsUris) {
  for (const Role role : kRoles) {
    const std::vector<std::string> carries = role == Role::kAgent
                                                 ? std::vector<std::string>{"n1", "rack7-*"}
                                                 : std::vector<std::string>{};
    const auto who = identify(names_of("x-1", identity_uris(role, carries).value()));
    ASSERT_TRUE(who.ok()) << to_string(role);
    EXPECT_EQ(who->role, role);
    EXPECT_EQ(who->id, "x-1");
    EXPECT_EQ(parse_role(to_string(role)), role);
    EXPECT_EQ(who->carried_ids.size(), role == Role::kAgent ? 1u : 0u);
  }
  EXPECT_FALSE(parse_role("root").has_value());
  EXPECT_FALSE(parse_role("").has_value());
}

TEST(IdentityTest, OtherUrisAreNoneOfOurs) {
  const auto who = identify(names_of("n1", {"spiffe://site/n1", "muster:role:node"}));
  ASSERT_TRUE(who.ok());
  EXPECT_EQ(who->role, Role::kNode);
}

TEST(IdentityTest, WhatIsNotExactlyOneRoleIsDenied) {
  for (const std::vector<std::string>& uris : {std::vector<std::string>{},
                                               {"muster:role:node", "muster:role:admin"},
                                               {"muster:role:node", "muster:role:node"},
                                               {"muster:role:root"},
                                               {"muster:role:"},
                                               {"muster:role:node "},
                                               {std::string("muster:role:admin\0x", 19)},
                                               {"MUSTER:role:root"},
                                               {"muster:role:node", "muster:only-until:noon"},
                                               {"muster:"},
                                               {"xmuster:role:node"}}) {
    EXPECT_TRUE(identify(names_of("n1", uris)).is(Errc::kDenied)) << ::testing::PrintToString(uris);
  }
}

TEST(IdentityTest, TheCommonNameIsOneId) {
  const std::vector<std::string> uris{"muster:role:node"};
  EXPECT_TRUE(identify({{}, {}, {}, uris}).is(Errc::kDenied));
  EXPECT_TRUE(identify({{"n1", "n2"}, {}, {}, uris}).is(Errc::kDenied));
  for (const std::string& id : {std::string(), std::string("n1\0.evil", 8), std::string("n 1"),
                                std::string("-n"), std::string("../n1"), std::string(64, 'n')}) {
    EXPECT_TRUE(identify(names_of(id, uris)).is(Errc::kDenied)) << id;
  }
}

TEST(IdentityTest, AWildcardIsNobodysName) {
  for (const char* name : {"*", "*.example", "*.muster.internal", "n*.example", "n1.*"}) {
    const auto who = identify({{"n1"}, {"n1.example", name}, {}, {"muster:role:server"}});
    ASSERT_TRUE(who.is(Errc::kDenied)) << name;
    EXPECT_THAT(who.error().message, HasSubstr("wildcard"));
  }
}

TEST(IdentityTest, OnlyAgentsCarryAndTheyCarrySomething) {
  EXPECT_TRUE(identify(names_of("a1", {"muster:role:agent"})).is(Errc::kDenied));
  EXPECT_TRUE(
      identify(names_of("n1", {"muster:role:node", "muster:carries:n2"})).is(Errc::kDenied));
  for (const std::string bad : {"", "*", "-x", "a b", "n1,n2", "n**", "*n"}) {
    EXPECT_TRUE(
        identify(names_of("a1", {"muster:role:agent", "muster:carries:" + bad})).is(Errc::kDenied))
        << bad;
    EXPECT_TRUE(identity_uris(Role::kAgent, std::vector{bad}).is(Errc::kInvalid)) << bad;
  }
  EXPECT_TRUE(identity_uris(Role::kAgent, {}).is(Errc::kInvalid));
  EXPECT_TRUE(identity_uris(Role::kNode, std::vector<std::string>{"n2"}).is(Errc::kInvalid));
}

TEST(IdentityTest, ANodeSpeaksOnlyForItself) {
  const Identity n1 = node("n1", {"host1"}, {});
  EXPECT_TRUE(may_speak_for(n1, "n1").ok());
  EXPECT_EQ(refusal(may_speak_for(n1, "n2")),
            "the certificate is of node n1 and cannot speak for node n2");
  // Ids are bytes: another spelling is another node.
  EXPECT_TRUE(may_speak_for(n1, "N1").is(Errc::kDenied));
  EXPECT_TRUE(may_speak_for(n1, "n1 ").is(Errc::kInvalid));
}

TEST(IdentityTest, ANodeRegistersOnlyTheAddressesOfItsCertificate) {
  const Identity n1 = node("n1", {"Host1.Example."}, {"10.0.0.1", "2001:db8::1"});
  EXPECT_THAT(n1.addresses, ElementsAre("host1.example", "10.0.0.1", "2001:db8::1"));
  EXPECT_TRUE(may_register(n1, "n1", "10.0.0.1").ok());
  EXPECT_TRUE(may_register(n1, "n1", "HOST1.example").ok());
  EXPECT_TRUE(may_register(n1, "n1", "2001:0DB8:0:0:0:0:0:1").ok());
  EXPECT_EQ(refusal(may_register(n1, "n1", "10.0.0.2")),
            "the certificate of node n1 does not hold the address 10.0.0.2; it holds "
            "host1.example, 10.0.0.1, 2001:db8::1");
  EXPECT_TRUE(may_register(n1, "n1", "any.example").is(Errc::kDenied));
  EXPECT_THAT(refusal(may_register(n1, "n2", "10.0.0.1")), HasSubstr("cannot speak for node n2"));
  EXPECT_TRUE(may_register(n1, "n1", "10.0.0.1/8").is(Errc::kInvalid));
  EXPECT_THAT(refusal(may_register(node("n1", {}, {}), "n1", "h")), HasSubstr("it holds none"));
}

TEST(IdentityTest, AnAgentSpeaksForWhatItCarries) {
  const Identity a1 = agent({"n1", "rack7-*"});
  EXPECT_TRUE(may_speak_for(a1, "n1").ok());
  EXPECT_TRUE(may_speak_for(a1, "rack7-12").ok());
  EXPECT_EQ(refusal(may_speak_for(a1, "n10")),
            "the certificate of agent a1 does not carry node n10; it carries n1, rack7-*");
  EXPECT_TRUE(may_speak_for(a1, "rack70").is(Errc::kDenied));
  // Its own name is no node that it carries.
  EXPECT_TRUE(may_speak_for(a1, "a1").is(Errc::kDenied));
  EXPECT_TRUE(may_register(a1, "n1", "rack7").ok());
  EXPECT_TRUE(may_register(a1, "n1", "rack8").is(Errc::kDenied));
}

TEST(IdentityTest, ServersAndAdminsSpeakForAllAndReadersForNobody) {
  for (const Role role : {Role::kServer, Role::kAdmin}) {
    const Identity who = identify(names_of("x", identity_uris(role, {}).value())).value();
    EXPECT_TRUE(may_register(who, "n1", "10.0.0.1").ok());
  }
  const Identity reader = identify(names_of("x", {"muster:role:reader"})).value();
  EXPECT_TRUE(may_speak_for(reader, "x").is(Errc::kDenied));
  EXPECT_TRUE(may_register(reader, "x", "10.0.0.1").is(Errc::kDenied));
}

}  // namespace identity_test
}  // namespace muster::security
