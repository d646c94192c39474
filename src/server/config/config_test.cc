#include "server/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>

#include "base/text.h"

namespace muster {
namespace config_test {

using ::testing::HasSubstr;
using Words = std::vector<std::string>;

Result<ServerCommand> read(const Words& words,
                           const std::map<std::string, std::string>& environment = {}) {
  return read_server_config(words, [&](std::string_view name) -> std::optional<std::string> {
    const auto it = environment.find(std::string(name));
    if (it == environment.end()) return std::nullopt;
    return it->second;
  });
}

std::string problem(const Words& words) {
  const auto command = read(words);
  return command ? "" : command.error().message;
}

ServerConfig config(const Words& words) {
  auto command = read(words);
  EXPECT_TRUE(command.ok()) << (command ? "" : command.error().message);
  return command ? command->config : ServerConfig{};
}

/// `more` on top of a managed engine of one on loopback.
Words managed(const Words& more) {
  Words words{"--engine", "managed", "--id", "s1", "--data-dir", "/var/lib/muster", "--insecure"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

class TempFile {
 public:
  explicit TempFile(const std::string& text)
      : path_(::testing::TempDir() + "/musterd-" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".yaml") {
    std::ofstream(path_) << text;
  }
  ~TempFile() { std::remove(path_.c_str()); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string problem_in(const std::string& yaml) {
  const TempFile file(yaml);
  return problem({"--dev", "--config", file.path()});
}

TEST(ServerConfigTest, DevNeedsNothingElse) {
  const ServerConfig dev = config({"--dev"});
  EXPECT_TRUE(dev.insecure);
  EXPECT_THAT(dev.data_dir, ::testing::EndsWith("/.muster"));
  EXPECT_EQ(dev.engine, "file://" + dev.data_dir + "/store");
  EXPECT_EQ(dev.listen.to_string(), "127.0.0.1:9000");
  EXPECT_FALSE(dev.id.empty());
  EXPECT_EQ(config({"--data-dir", "/x", "--dev"}).data_dir, "/x");
}

TEST(ServerConfigTest, DefaultsAreThoseOfTheSpecification) {
  const ServerConfig dev = config({"--dev"});
  EXPECT_EQ(dev.membership.heartbeat_interval, 10s);
  EXPECT_EQ(dev.membership.suspect_timeout, 45s);
  EXPECT_EQ(dev.membership.down_timeout, 90s);
  EXPECT_EQ(dev.membership.joining_timeout, 300s);
  EXPECT_EQ(dev.membership.leader_grace_period, 90s);
  EXPECT_EQ(dev.membership.heartbeat_batch_interval, 1s);
  EXPECT_EQ(dev.membership.flap_window, 600s);
  EXPECT_EQ(dev.membership.flap_threshold, 3U);
  EXPECT_EQ(dev.lease_timeout, 2s);
}

TEST(ServerConfigTest, S3HasALongerLeaseAndLargerBatches) {
  const ServerConfig s3 = config({"--dev", "--engine", "s3://bucket/prefix"});
  EXPECT_EQ(s3.lease_timeout, 15s);
  EXPECT_EQ(s3.membership.heartbeat_batch_interval, 10s);
  EXPECT_TRUE(s3.validate().ok()) << "15s + 10s + 10s are below the 45s of suspect_timeout";
  const ServerConfig told =
      config({"--dev", "--engine", "s3://bucket/prefix", "--heartbeat-batch-interval", "1s"});
  EXPECT_EQ(told.membership.heartbeat_batch_interval, 1s);
}

// S20: every option sets something, wherever it comes from.
TEST(ServerConfigTest, EveryOptionHasAnEffect) {
  const std::map<std::string, std::string> values{{"engine", "file:///x"},
                                                  {"id", "s9"},
                                                  {"data-dir", "/d"},
                                                  {"listen", "127.0.0.1:1"},
                                                  {"advertise", "h:1"},
                                                  {"http-listen", "127.0.0.1:2"},
                                                  {"log-format", "json"},
                                                  {"log-level", "debug"},
                                                  {"peers", "s1=h:1"},
                                                  {"join", "h:2"},
                                                  {"peer-listen", "h:3"},
                                                  {"etcd", "/opt/etcd"},
                                                  {"engine-quota-mb", "7"},
                                                  {"restore", "/b"},
                                                  {"cert", "c"},
                                                  {"key", "k"},
                                                  {"cacert", "a"},
                                                  {"crl-file", "l"},
                                                  {"crl-url", "http://l"},
                                                  {"audit-log", "/a"},
                                                  {"limits", "off"},
                                                  {"limits-watches", "7"},
                                                  {"limits-calls", "8"},
                                                  {"limits-connections", "7"},
                                                  {"limits-client-connections", "6"},
                                                  {"flap-threshold", "5"},
                                                  {"down-brake-share", "0.5"},
                                                  {"virtual-nodes-per-physical", "32"},
                                                  {"replication-factor", "5"},
                                                  {"snapshot-entries", "77"}};
  const auto bytes = [](const ServerConfig& c) {
    std::string all = c.engine + "|" + c.id + "|" + c.cluster + "|" + c.data_dir + "|" +
                      c.listen.to_string() + "|" + (c.advertise ? c.advertise->to_string() : "") +
                      "|" + (c.peer_listen ? c.peer_listen->to_string() : "") + "|" + c.etcd + "|" +
                      (c.http_listen ? c.http_listen->to_string() : "") + "|" +
                      (c.log_json ? "json|" : "text|") + to_string(c.log_level) + "|" + c.restore +
                      "|" + c.tls.cert + "|" + c.tls.key + "|" + c.tls.ca + "|" + c.crl_file + "|" +
                      c.crl_url + "|" + c.audit_log + "|" + (c.limited ? "on|" : "off|") +
                      std::to_string(c.limits.watches) + "|" + std::to_string(c.limits.calls) +
                      "|" + std::to_string(c.connections) + "|" +
                      std::to_string(c.client_connections) + "|";
    for (const Rate& each :
         {c.limits.heartbeat, c.limits.register_node, c.limits.deregister, c.limits.get_topology,
          c.limits.read, c.limits.all_heartbeats, c.limits.all_registers, c.limits.all_writes}) {
      all += std::to_string(each.per_minute) + ":" + std::to_string(each.burst) + "|";
    }
    for (const auto& peer : c.peers) all += peer.id + "=" + peer.address.to_string() + ",";
    for (const auto& server : c.join) all += server.to_string() + ",";
    const membership::Options& m = c.membership;
    for (const Duration each :
         {m.heartbeat_interval, m.suspect_timeout, m.down_timeout, m.joining_timeout,
          m.leader_grace_period, c.heartbeat_batch_interval, m.flap_window, m.down_brake_window,
          c.lease_timeout, c.renew_interval, c.request_timeout, c.crl_refresh, c.crl_max_age,
          c.connection_max_age}) {
      all += std::to_string(each.count()) + "|";
    }
    return all + std::to_string(m.flap_threshold) + "|" + std::to_string(m.down_brake_share) + "|" +
           std::to_string(m.ring.virtual_nodes_per_physical) + "|" +
           std::to_string(m.ring.replication_factor) + "|" + std::to_string(c.engine_quota_mb) +
           "|" + std::to_string(c.snapshot_entries) + (c.insecure ? "|insecure" : "");
  };
  for (const ServerOption& option : server_options()) {
    const auto it = values.find(option.name);
    const std::string value = it != values.end()      ? it->second
                              : option.type.empty()   ? "on"
                              : option.type == "RATE" ? "77:7"
                                                      : "77s";
    ServerConfig changed;
    const Status status = option.set(changed, value);
    ASSERT_TRUE(status.ok()) << option.name << ": " << status.error().message;
    EXPECT_NE(bytes(changed), bytes(ServerConfig{})) << option.name;
    EXPECT_THAT(server_help(), HasSubstr("--" + option.name));
  }
}

TEST(ServerConfigTest, TheHttpListenerIsOfLoopbackWithoutCertificates) {
  EXPECT_FALSE(read({"--dev", "--http-listen", "off"}, {})->config.http);
  const auto open = read({"--dev", "--http-listen", "0.0.0.0:9002"}, {});
  ASSERT_FALSE(open.ok());
  EXPECT_THAT(open.error().message, HasSubstr("--http-listen"));
  EXPECT_FALSE(read({"--dev", "--log-format", "xml"}, {}).ok());
  EXPECT_FALSE(read({"--dev", "--log-level", "loud"}, {}).ok());
}

TEST(ServerConfigTest, TheNearerSourceWins) {
  const TempFile file("lease-timeout: 5s\nsuspect_timeout: 40s\nid: from-file\n");
  const auto command =
      read({"--dev", "--config", file.path(), "--id", "from-words"},
           {{"MUSTER_ID", "from-environment"}, {"MUSTER_LEASE_TIMEOUT", "4s"}, {"MUSTER_KEY", ""}});
  ASSERT_TRUE(command.ok()) << command.error().message;
  EXPECT_EQ(command->config.id, "from-words");
  EXPECT_EQ(command->config.lease_timeout, 4s);
  EXPECT_EQ(command->config.membership.suspect_timeout, 40s);
}

TEST(ServerConfigTest, TheFileCanComeFromTheEnvironment) {
  const TempFile file("dev: true\nid: from-file\n");
  const auto command = read({}, {{"MUSTER_CONFIG", file.path()}});
  ASSERT_TRUE(command.ok()) << command.error().message;
  EXPECT_EQ(command->config.id, "from-file");
}

TEST(ServerConfigTest, UnknownOptionsNameTheNearestKnownOne) {
  EXPECT_THAT(problem({"--dev", "--suspect-timeuot", "45s"}), HasSubstr("--suspect-timeout?"));
  EXPECT_THAT(problem_in("suspect_timeuot: 45s\n"),
              HasSubstr("line 1: unknown option suspect-timeuot; did you mean suspect-timeout?"));
  EXPECT_THAT(problem({"--configg=x"}), HasSubstr("--config?"));
  EXPECT_THAT(problem({"serve"}), HasSubstr("unexpected argument serve"));
}

TEST(ServerConfigTest, RefusesWhatYamlReadersDisagreeOn) {
  EXPECT_THAT(problem_in("lease-timeout: 5s\nlease_timeout: 6s\n"), HasSubstr("twice"));
  EXPECT_THAT(problem_in("flap-threshold: 010\n"), HasSubstr("010"));
  EXPECT_THAT(problem_in("peers: [a, b]\n"), HasSubstr("one value"));
  EXPECT_THAT(problem_in("- a\n"), HasSubstr("NAME: VALUE"));
}

TEST(ServerConfigTest, BadValuesNameTheirSource) {
  EXPECT_THAT(problem({"--dev", "--lease-timeout", "2"}), HasSubstr("--lease-timeout: \"2\""));
  EXPECT_THAT(problem({"--dev", "--lease-timeout", "0s"}), HasSubstr("above zero"));
  EXPECT_THAT(problem({"--dev", "--id"}), HasSubstr("--id needs a value"));
  EXPECT_THAT(problem({"--dev", "--id=a", "--id=b"}), HasSubstr("more than once"));
  EXPECT_THAT(problem_in("\nlisten: here:x\n"), HasSubstr("line 2"));
  EXPECT_THAT(read({"--dev"}, {{"MUSTER_FLAP_THRESHOLD", "-1"}}).error().message,
              HasSubstr("MUSTER_FLAP_THRESHOLD"));
  EXPECT_THAT(problem({"--config", "/no/such/file"}), HasSubstr("/no/such/file"));
  EXPECT_THAT(problem({"--config", "/dev/zero"}),
              HasSubstr("is larger than 1048576 bytes"));  // R61
}

TEST(ServerConfigTest, TimingsThatContradictEachOtherAreRefusedWithTheirSum) {
  EXPECT_THAT(problem({"--dev", "--leader-grace-period", "80s"}),
              HasSubstr("at least 2 × suspect_timeout 45s"));
  EXPECT_THAT(problem({"--dev", "--suspect-timeout", "30s"}), HasSubstr("3 × heartbeat_interval"));
  EXPECT_THAT(problem({"--dev", "--down-timeout", "45s"}),
              HasSubstr("longer than suspect_timeout"));
  EXPECT_THAT(problem({"--dev", "--renew-interval", "1500ms"}),
              HasSubstr("1500ms + request timeout 400ms + stop budget 400ms + kill margin 200ms = "
                        "2500ms must be below the held time 1680ms"));
  EXPECT_THAT(problem({"--dev", "--lease-timeout", "34s"}),
              HasSubstr("34s + heartbeat_batch_interval 1s + heartbeat_interval 10s = 45s must be "
                        "below suspect_timeout 45s"));
}

TEST(ServerConfigTest, PlaintextStaysOnLoopback) {
  EXPECT_THAT(problem({"--data-dir", "/d"}), HasSubstr("mutual TLS needs --cert"));
  EXPECT_THAT(problem({"--data-dir", "/d", "--cert", "c", "--key", "k"}), HasSubstr("--cacert"));
  EXPECT_THAT(problem({"--dev", "--listen", "10.0.0.1:9000"}), HasSubstr("other machines"));
  EXPECT_THAT(problem({"--dev", "--cert", "c"}), HasSubstr("excludes"));
  EXPECT_THAT(problem(managed({"--peers", "s1=h1:9001"})), HasSubstr("--peers h1:9001 is open"));
  EXPECT_EQ(problem({"--dev", "--listen", "[::1]:0"}), "");
  EXPECT_EQ(problem({"--data-dir", "/d", "--cert", "c", "--key", "k", "--cacert", "a", "--listen",
                     "10.0.0.1:9000"}),
            "");
}

TEST(ServerConfigTest, TlsComesAsOneBlockOfAFile) {
  const TempFile file(
      "data_dir: /d\n"
      "tls: {cert: /c.pem, key: /k.pem, ca: /a.pem, crl_url: 'http://h/l', crl_refresh: 1m,\n"
      "      crl_max_age: 2m}\n"
      "limits: {all-heartbeats: '100000:20000'}\n");
  const ServerConfig read_back = config({"--config", file.path()});
  EXPECT_EQ(read_back.tls.cert, "/c.pem");
  EXPECT_EQ(read_back.tls.key, "/k.pem");
  EXPECT_EQ(read_back.tls.ca, "/a.pem");
  EXPECT_EQ(read_back.crl_url, "http://h/l");
  EXPECT_EQ(read_back.crl_refresh, 1min);
  EXPECT_EQ(read_back.crl_max_age, 2min);
  EXPECT_EQ(read_back.limits.all_heartbeats, (Rate{100'000, 20'000}));
}

TEST(ServerConfigTest, ARefusalOfPlaintextSaysHowToMakeCertificates) {
  for (const Words& words : {Words{"--data-dir", "/d", "--id", "s1", "--listen", "h1:9000"},
                             Words{"--dev", "--id", "s1", "--listen", "h1:9000"}}) {
    EXPECT_THAT(problem(words),
                HasSubstr("muster certs init --dir pki && muster certs issue --dir pki --role "
                          "server --id s1 --san h1"));
  }
}

TEST(ServerConfigTest, AListOfRevokedCertificatesComesFromOnePlaceAndInTime) {
  const auto with = [](const Words& more) {
    Words words{"--data-dir", "/d", "--cert", "c", "--key", "k", "--cacert", "a"};
    words.insert(words.end(), more.begin(), more.end());
    return problem(words);
  };
  EXPECT_EQ(with({"--crl-file", "l"}), "");
  EXPECT_THAT(with({"--crl-file", "l", "--crl-url", "http://l"}), HasSubstr("keep one"));
  EXPECT_THAT(with({"--crl-url", "ftp://l"}), HasSubstr("http://"));
  EXPECT_THAT(with({"--crl-file", "l", "--crl-max-age", "1m"}), HasSubstr("crl_max_age"));
  EXPECT_THAT(problem({"--dev", "--crl-file", "l"}), HasSubstr("excludes"));
  EXPECT_THAT(with({"--connection-max-age", "500ms"}), HasSubstr("at least 1s"));
  EXPECT_THAT(with({"--connection-max-age", "600h"}), HasSubstr("at most 24h"));
}

TEST(ServerConfigTest, LimitsAreOffOnLoopbackOnlyAndAllowTheHeartbeatInterval) {
  const Words open{"--data-dir", "/d",       "--cert",        "c",        "--key", "k", "--cacert",
                   "a",          "--listen", "10.0.0.1:9000", "--limits", "off"};
  EXPECT_THAT(problem(open), HasSubstr("loopback only"));
  EXPECT_THAT(problem({"--data-dir", "/d", "--insecure", "--heartbeat-interval", "1s"}),
              HasSubstr("limits-heartbeat"));
  EXPECT_EQ(
      problem({"--data-dir", "/d", "--insecure", "--heartbeat-interval", "1s", "--limits", "off"}),
      "");
  EXPECT_FALSE(config({"--dev"}).limited);
  EXPECT_TRUE(config({"--data-dir", "/d", "--insecure"}).limited);
}

// T05: nobody is told to dial an address that cannot be dialled.
TEST(ServerConfigTest, AWildcardNeedsAnAddressToAdvertise) {
  const Words tls{"--data-dir", "/d", "--cert", "c", "--key", "k", "--cacert", "a"};
  for (const std::string wildcard : {"0.0.0.0:9000", "[::]:9000", ":9000", "*:9000"}) {
    Words words = tls;
    words.insert(words.end(), {"--listen", wildcard});
    EXPECT_THAT(problem(words), HasSubstr("--advertise")) << wildcard;
    EXPECT_THAT(problem({"--id", "s1", "--engine", "file:///e", "--listen", wildcard}),
                HasSubstr("--san HOST"))
        << wildcard;
    const std::string plaintext =
        problem({"--id", "s1", "--engine", "file:///e", "--insecure", "--listen", wildcard});
    EXPECT_THAT(plaintext, HasSubstr("which --insecure does not allow")) << wildcard;
    EXPECT_THAT(plaintext, Not(HasSubstr("--advertise"))) << wildcard;
    words.insert(words.end(), {"--advertise", "h1:9000"});
    EXPECT_EQ(problem(words), "") << wildcard;
    words.back() = "0.0.0.0:9000";
    EXPECT_THAT(problem(words), HasSubstr("cannot be dialled"));
  }
}

TEST(ServerConfigTest, AManagedClusterBeginsWithOneThreeOrFive) {
  EXPECT_EQ(problem(managed({"--peers", "s1=localhost:9001"})), "");
  EXPECT_EQ(config(managed({"--peers", "s1=127.0.0.1"})).own_peer().to_string(), "127.0.0.1:9001");
  EXPECT_THAT(problem(managed({"--peers", "s1=127.0.0.1:1,s2=127.0.0.1:2"})),
              HasSubstr("1, 3 or 5"));
  EXPECT_THAT(problem(managed({"--peers", "s2=127.0.0.1:1"})), HasSubstr("its --id is s1"));
  EXPECT_THAT(problem(managed({"--peers", "s1=127.0.0.1:1,s2=127.0.0.1:1,s3=127.0.0.1:2"})),
              HasSubstr("two servers"));
  EXPECT_THAT(problem(managed({"--peers", "s1=127.0.0.1:1,s1=127.0.0.1:2,s3=127.0.0.1:3"})),
              HasSubstr("twice"));
  EXPECT_THAT(problem(managed({"--peers", "s1"})), HasSubstr("ID=HOST:PORT"));
  EXPECT_THAT(problem(managed({})), HasSubstr("must name this server"));
  EXPECT_THAT(problem({"--engine", "managed", "--insecure", "--peers", "s1=127.0.0.1:1"}),
              HasSubstr("--data-dir"));
}

TEST(ServerConfigTest, WhatIsForAManagedEngineIsRefusedWithAnother) {
  EXPECT_THAT(problem({"--dev", "--etcd", "/opt/etcd"}), HasSubstr("--engine managed"));
  EXPECT_THAT(problem({"--dev", "--engine-quota-mb", "100"}), HasSubstr("--engine managed"));
}

TEST(ServerConfigTest, AJoiningServerSaysWhereItsEngineIsReached) {
  EXPECT_THAT(problem(managed({"--join", "h1:9000"})), HasSubstr("--peers s1=HOST:9001"));
  EXPECT_EQ(problem(managed({"--join", "h1:9000", "--peer-listen", "127.0.0.1:9001"})), "");
  const ServerConfig joining = config(managed({"--join", "h1,h2:9005", "--peers", "s1=127.0.0.1"}));
  ASSERT_EQ(joining.join.size(), 2U);
  EXPECT_EQ(joining.join[0].to_string(), "h1:9000");
  EXPECT_EQ(joining.join[1].to_string(), "h2:9005");
}

TEST(ServerConfigTest, ABackupIsRestoredByOneServerOfAManagedEngine) {
  const Words alone = managed({"--peers", "s1=127.0.0.1:1", "--restore", "/b"});
  EXPECT_EQ(config(alone).restore, "/b");
  EXPECT_THAT(problem(managed(
                  {"--peers", "s1=127.0.0.1:1,s2=127.0.0.1:2,s3=127.0.0.1:3", "--restore", "/b"})),
              HasSubstr("--join it afterwards"));
  EXPECT_THAT(problem(managed({"--peers", "s1=127.0.0.1:1", "--join", "h1", "--restore", "/b"})),
              HasSubstr("--join it afterwards"));
  EXPECT_THAT(problem({"--dev", "--engine", "etcd://u:secret@h:1/p", "--restore", "/b"}),
              HasSubstr("muster restore /b --engine etcd://…"));
}

TEST(ServerConfigTest, WhatWouldBeIgnoredIsRefused) {
  EXPECT_THAT(problem({"--dev", "--peers", "s1=127.0.0.1:1"}), HasSubstr("--engine managed"));
  EXPECT_THAT(problem({"--dev", "--engine", "etcd://h:1/p", "--join", "h"}),
              HasSubstr("--engine managed"));
  EXPECT_THAT(problem({"--dev", "--engine", "memory:"}), HasSubstr("not memory:"));
  EXPECT_THAT(problem({"--insecure"}), HasSubstr("no place to keep state"));
}

TEST(ServerConfigTest, AReloadTakesOverLimitsAndNamesTheRest) {
  const auto before = read({"--dev", "--limits-calls", "9", "--lease-timeout", "3s"})->given;
  const auto now = read({"--dev", "--limits-calls", "8", "--cluster", "red"})->given;
  EXPECT_EQ(needs_restart(before, now), (std::vector<std::string>{"cluster", "lease-timeout"}));
  EXPECT_EQ(needs_restart(now, now), std::vector<std::string>{});
}

TEST(ServerConfigTest, HelpAndVersionNeedNoConfiguration) {
  EXPECT_TRUE(read({"--help"})->help);
  EXPECT_TRUE(read({"--version"})->version);
}

}  // namespace config_test
}  // namespace muster
