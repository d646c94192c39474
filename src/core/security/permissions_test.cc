#include "core/security/permissions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace muster::security {
namespace permissions_test {

std::string content(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// As docs/security.md shows it.
std::string as_markdown() {
  std::string table = "| call |";
  std::string line = "|---|";
  for (const Role role : kRoles) {
    table += std::string(" ") + to_string(role) + " |";
    line += ":-:|";
  }
  table += " no certificate |\n" + line + ":-:|\n";
  for (const Permission& row : permissions()) {
    table += "| `" + std::string(row.name.substr(row.call < Call::kHttpPage ? 1 : 0)) + "` |";
    for (const Role role : kRoles) table += allowed(role, row.call) ? " yes |" : " – |";
    table += row.anybody ? " yes |\n" : " – |\n";
  }
  return table;
}

TEST(PermissionsTest, TheDocumentShowsTheTableInForce) {
  EXPECT_THAT(content("docs/security.md"), ::testing::HasSubstr(as_markdown()));
}

TEST(PermissionsTest, EveryMethodOfTheWireContractHasARowAndNoOther) {
  std::set<std::string> declared;
  for (const auto& file : std::filesystem::directory_iterator("proto/muster/v1")) {
    std::istringstream text(content(file.path()));
    std::string service;
    for (std::string line; std::getline(text, line);) {
      std::smatch found;
      if (std::regex_search(line, found, std::regex(R"(^service (\w+))"))) service = found[1];
      if (std::regex_search(line, found, std::regex(R"(^\s*rpc (\w+)\()"))) {
        declared.insert("/muster.v1." + service + "/" + found[1].str());
      }
    }
  }
  std::set<std::string> listed;
  for (const Permission& row : permissions()) {
    if (row.name.starts_with("/muster.")) listed.emplace(row.name);
  }
  EXPECT_GT(declared.size(), 10u);
  EXPECT_EQ(listed, declared);
}

TEST(PermissionsTest, MethodsAndPathsAreFoundByTheirNames) {
  for (const Permission& row : permissions()) {
    const bool http = row.call >= Call::kHttpPage;
    EXPECT_EQ(http ? call_of_path(row.name) : call_of_method(row.name), row.call) << row.name;
  }
  EXPECT_FALSE(call_of_method("/muster.v1.AdminService/Explode").has_value());
  EXPECT_FALSE(call_of_method("/muster.v1.adminservice/Backup").has_value());
  EXPECT_FALSE(call_of_method("").has_value());
  EXPECT_FALSE(call_of_method("/metrics").has_value());
  EXPECT_EQ(call_of_path("/api/topology"), Call::kHttpApi);
  EXPECT_EQ(call_of_path("/api"), Call::kHttpApi);
  EXPECT_EQ(call_of_path("/app.js"), Call::kHttpPage);
  EXPECT_EQ(call_of_path("/healthz/"), Call::kHttpPage);
  EXPECT_EQ(call_of_path("/v1"), Call::kHttpV1);
  EXPECT_EQ(call_of_path("/v1/elections/a:b@c%20..d"), Call::kHttpV1);
  EXPECT_EQ(call_of_path("/v10"), Call::kHttpPage);
}

TEST(PermissionsTest, APathThatCanBeReadInTwoWaysIsNobodys) {
  for (const char* path :
       {"", "healthz", "/healthz/../api/nodes", "//api", "/healthz%2f..%2fapi", "/api/\n",
        "/healthz?x", "/api/a:b", "/v1/../metrics", "/v1/nodes/..", "/v1//nodes", "/v1/a b"}) {
    EXPECT_FALSE(call_of_path(path).has_value()) << path;
  }
}

TEST(PermissionsTest, RolesGetWhatTheyNeedAndNoMore) {
  for (const Permission& row : permissions()) {
    // Servers talk among themselves, admins may all the rest; only probes need no certificate.
    const bool among_servers = row.name.find("PeerService") != std::string_view::npos;
    EXPECT_EQ(allowed(Role::kAdmin, row.call), !among_servers) << row.name;
    EXPECT_EQ(allowed_without_certificate(row.call),
              row.call == Call::kHttpHealthz || row.call == Call::kHttpReadyz);
  }
  // What changes something is closed to readers, what concerns the cluster to nodes and agents.
  for (const Call call :
       {Call::kRegisterNode, Call::kDeregisterNode, Call::kHeartbeat, Call::kHeartbeatStream,
        Call::kStorePut, Call::kStorePutStream, Call::kStoreRemove, Call::kDrainNode,
        Call::kSetHashRing, Call::kTransferLeadership, Call::kBackup, Call::kMove}) {
    EXPECT_FALSE(allowed(Role::kReader, call))
        << permissions()[static_cast<std::size_t>(call)].name;
  }
  for (const Role role : {Role::kNode, Role::kAgent}) {
    for (const Permission& row : permissions()) {
      const bool concerns_cluster = row.name.find("AdminService") != std::string_view::npos ||
                                    row.name.find("PeerService") != std::string_view::npos;
      if (!concerns_cluster) continue;
      EXPECT_FALSE(allowed(role, row.call)) << row.name;
    }
    EXPECT_TRUE(allowed(role, Call::kHeartbeat));
    EXPECT_TRUE(allowed(role, Call::kStorePut));
    EXPECT_FALSE(allowed(role, Call::kHttpApi));
  }
}

}  // namespace permissions_test
}  // namespace muster::security
