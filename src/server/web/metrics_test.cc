#include "server/web/metrics.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace muster::server {
namespace metrics_test {

/// name → "type | help", of everything that a server can ever export.
std::map<std::string, std::string> exported(Metrics& metrics) {
  Metrics::Levels levels;
  levels.certificate_left_s = 1;
  levels.crl_age_s = 1;
  levels.crl_term_s = 1;
  levels.crl_left_s = 1;
  levels.nodes_by_state["ACTIVE"] = 3;
  levels.nodes_by_service = {{"object", 2}, {"search", 1}};
  metrics.set(levels);
  std::map<std::string, std::string> all;
  const std::string text = metrics.text();
  const std::regex head("# HELP (\\w+) (.*)\n# TYPE \\w+ (\\w+)\n");
  for (std::sregex_iterator it(text.begin(), text.end(), head), end; it != end; ++it) {
    all[(*it)[1]] = (*it)[3].str() + " | " + (*it)[2].str();
  }
  return all;
}

// T23: what is defined is exported, and what the document promises is there.
TEST(MetricsTest, TheTableOfTheDocumentIsWhatIsExported) {
  Metrics metrics;
  std::map<std::string, std::string> told;
  std::ifstream file("docs/observing.md");
  ASSERT_TRUE(file);
  const std::regex row(R"(\| `([a-z_]+)` \| (counter|gauge|histogram) \| (.*) \|)");
  for (std::string line; std::getline(file, line);) {
    std::smatch match;
    if (std::regex_match(line, match, row))
      told[match[1]] = match[2].str() + " | " + match[3].str();
  }
  EXPECT_EQ(told, exported(metrics));
}

TEST(MetricsTest, TheTenNamesThatPeopleKnowAreThere) {
  Metrics metrics;
  const auto all = exported(metrics);
  const std::pair<const char*, const char*> known[] = {
      {"coordinator_topology_version", "gauge"},
      {"coordinator_object_nodes_total", "gauge"},
      {"coordinator_metadata_nodes_total", "gauge"},
      {"coordinator_nodes_by_service", "gauge"},
      {"coordinator_nodes_by_state", "gauge"},
      {"coordinator_heartbeats_total", "counter"},
      {"coordinator_heartbeat_batch_size", "histogram"},
      {"coordinator_raft_proposals_total", "counter"},
      {"coordinator_raft_commits_total", "counter"},
      {"coordinator_watch_connections", "gauge"},
      {"coordinator_rate_limit_rejected_total", "counter"},
  };
  for (const auto& [name, type] : known) {
    ASSERT_TRUE(all.contains(name)) << name;
    EXPECT_TRUE(all.at(name).starts_with(type)) << name;
  }
}

// R14: the four events of an election are counted for the servers' own, too.
TEST(ServerMetricsTest, TheServersElectionIsCountedAsAnyOtherIs) {
  Metrics metrics;
  const auto told = [&](telemetry::What what) {
    return metrics.election({WallTime{}, WorkerId("s1"), std::move(what)});
  };
  EXPECT_TRUE(told(telemetry::BecameLeader{Epoch(1)}));
  EXPECT_TRUE(told(telemetry::LostLeadership{Epoch(1), EndReason::kExpired, ""}));
  EXPECT_TRUE(told(telemetry::LeaderDown{WorkerId("s2"), Epoch(2), DownCause::kReplaced}));
  EXPECT_TRUE(told(telemetry::ElectionCheck{}));
  EXPECT_FALSE(told(telemetry::ElectionStarted{}));
  const std::string text = metrics.text();
  for (const char* line : {"muster_candidate_became_leader_total 1",
                           "muster_candidate_lost_leadership_total{reason=\"expired\"} 1",
                           "muster_candidate_leader_down_total{cause=\"replaced\"} 1",
                           "muster_candidate_election_checks_total 1"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line;
  }
}

TEST(MetricsTest, AMethodThatNobodyKnowsMakesNoLabelOfItsOwn) {
  Metrics metrics;
  for (int i = 0; i < 100; ++i) {
    metrics.rpc_ended("/evil.Service/" + std::to_string(i), rpc::Code::kUnimplemented, 1ms, false);
  }
  metrics.rpc_ended("/muster.v1.StoreService/Get", rpc::Code::kOk, 1ms, false);
  const std::string text = metrics.text();
  EXPECT_EQ(text.find("evil"), std::string::npos);
  EXPECT_NE(text.find("muster_rpc_requests_total{code=\"UNIMPLEMENTED\",method=\"other\"} 100"),
            std::string::npos);
  EXPECT_NE(text.find("muster_rpc_requests_total{code=\"OK\",method=\"StoreService/Get\"} 1"),
            std::string::npos);
}

TEST(MetricsTest, NodesAreCountedByServiceAndAServiceThatIsGoneIsGone) {
  Metrics metrics;
  Metrics::Levels levels;
  levels.nodes_by_service = {{"object", 2}, {"search", 1}};
  metrics.set(levels);
  std::string text = metrics.text();
  EXPECT_NE(text.find("coordinator_nodes_by_service{service=\"search\"} 1"), std::string::npos);
  EXPECT_NE(text.find("coordinator_nodes_by_service{service=\"object\"} 2"), std::string::npos);
  EXPECT_NE(text.find("coordinator_object_nodes_total 2"), std::string::npos);
  levels.nodes_by_service.clear();
  for (int i = 0; i < 1100; ++i) levels.nodes_by_service["s" + std::to_string(1000 + i)] = 1;
  metrics.set(levels);
  text = metrics.text();
  EXPECT_EQ(text.find("\"search\""), std::string::npos);
  EXPECT_NE(text.find("coordinator_nodes_by_service{service=\"other\"} 100"), std::string::npos);
  EXPECT_NE(text.find("coordinator_object_nodes_total 0"), std::string::npos);
}

TEST(MetricsTest, RulesAndDashboardNameOnlyWhatIsExported) {
  Metrics metrics;
  const auto all = exported(metrics);
  const std::regex name(R"((muster|coordinator)_[a-z_]+)");
  for (const char* path :
       {"packaging/monitoring/alerts.yml", "packaging/monitoring/grafana-dashboard.json"}) {
    std::ifstream file(path);
    ASSERT_TRUE(file) << path;
    std::stringstream text;
    text << file.rdbuf();
    const std::string content = text.str();
    std::size_t found = 0;
    for (std::sregex_iterator it(content.begin(), content.end(), name), end; it != end; ++it) {
      std::string metric = it->str();
      if (metric.ends_with("_bucket")) metric.resize(metric.size() - 7);
      ++found;
      if (metric.starts_with("muster_coordinator_")) continue;  // Of workers, not of servers.
      EXPECT_TRUE(all.contains(metric)) << path << " names " << metric;
    }
    EXPECT_GT(found, 10U) << path;
  }
}

}  // namespace metrics_test
}  // namespace muster::server
