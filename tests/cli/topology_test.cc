#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "platform/system_clock.h"
#include "tests/cli/guest.h"
#include "tests/cli/muster_program.h"
#include "tests/cli/on_terminal.h"
#include "tests/server/musterd.h"
#include "tests/support/full_pipe.h"
#include "tests/support/scripted_coordinator.h"
#include "tests/support/silent_server.h"

namespace muster {
namespace topology_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Musterd;

/// One musterd for all of these, and `muster` asking it.
class MusterTopologyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server_.start();
    ASSERT_TRUE(testing::eventually([&] { return testing::health(server_).healthy(); }));
  }
  [[nodiscard]] Outcome ask(Words words) const {
    words.insert(words.end(), {"--server", server_.address()});
    return run_muster(words);
  }
  [[nodiscard]] Outcome enter(const std::string& id) const {
    return ask({"node", "register", id, "--address", "10.0.0.1", "--port", "7000", "--json"});
  }

  TempDir dir_;
  Musterd server_{"s1", "file://" + (dir_.path() / "store").string(), dir_.path()};
};

TEST_F(MusterTopologyTest, NodesAreRegisteredShownDrainedAndRemoved) {
  const Outcome entered = enter("a");
  ASSERT_EQ(entered.code, 0) << entered.err;
  EXPECT_EQ(entered.json()["topology_version"], 1);
  EXPECT_EQ(entered.json()["already_registered"], false);
  const Outcome shown = ask({"topology", "--linearizable", "--json"});
  ASSERT_EQ(shown.code, 0) << shown.err;
  EXPECT_EQ(shown.json()["version"], 1);
  EXPECT_EQ(shown.json()["leader_id"], "s1");
  EXPECT_EQ(shown.json()["object_nodes"][0]["id"], "a");
  EXPECT_EQ(shown.json()["object_nodes"][0]["state"], "JOINING");
  EXPECT_EQ(shown.json()["object_nodes"][0]["generation_id"], entered.json()["generation_id"]);
  EXPECT_EQ(ask({"nodes", "--state", "joining", "--json"}).json()["nodes"].size(), 1U);
  EXPECT_EQ(ask({"nodes", "--state", "down"}).code, 1);
  EXPECT_THAT(ask({"nodes", "--type", "object"}).out,
              AllOf(HasSubstr("GENERATION"), HasSubstr("JOINING"), HasSubstr("10.0.0.1:7000")));
  EXPECT_EQ(ask({"node", "drain", "a"}).code, 0);
  EXPECT_EQ(ask({"topology", "--json"}).json()["object_nodes"][0]["drain_requested"], true);
  EXPECT_EQ(ask({"node", "undrain", "a"}).code, 0);
  EXPECT_EQ(ask({"topology", "--json"}).json()["object_nodes"][0]["drain_requested"], false);
  EXPECT_EQ(ask({"node", "remove", "a", "--json"}).json()["node_id"], "a");
  const Outcome gone = ask({"node", "remove", "a"});
  EXPECT_EQ(gone.code, 1);
  EXPECT_THAT(gone.err, AllOf(HasSubstr("muster node: "), HasSubstr("not registered")));
}

TEST_F(MusterTopologyTest, AWatchPrintsWhatKeepAliveDoes) {
  const std::string watch_errors = dir_.path() / "watch";
  ChildProcess watch(
      prepared({"topology", "--watch", "--json", "--server", server_.address()}, watch_errors));
  EXPECT_EQ(nlohmann::json::parse(watch.read_line())["event"], "snapshot");
  const std::string keep_errors = dir_.path() / "keep";
  ChildProcess keep(prepared({"node", "register", "a", "--address", "10.0.0.1", "--port", "7000",
                              "--keep-alive", "--json", "--server", server_.address()},
                             keep_errors));
  EXPECT_EQ(nlohmann::json::parse(keep.read_line())["event"], "registered");
  auto event = nlohmann::json::parse(watch.read_line());
  EXPECT_EQ(event["event"], "node_added");
  EXPECT_EQ(event["node"]["state"], "JOINING");
  event = nlohmann::json::parse(watch.read_line());
  EXPECT_EQ(event["event"], "node_updated");
  EXPECT_EQ(event["node"]["state"], "ACTIVE");
  EXPECT_EQ(event["version"], 2);
  const Outcome lookup = ask({"ring", "lookup", "hello", "--json"});
  EXPECT_EQ(lookup.json()["owners"][0]["id"], "a");
  EXPECT_EQ(lookup.json()["degraded"], true);
  EXPECT_EQ(lookup.json()["position"], "1054880662928880172");
  const Outcome plan = ask({"ring", "plan", "--add", "b", "--remove", "a", "--json"});
  EXPECT_EQ(plan.json()["primary_moved"], 1.0) << plan.err;
  EXPECT_EQ(ask({"ring", "plan", "--remove", "zzz"}).code, 64);
  ::kill(keep.pid(), SIGTERM);
  EXPECT_EQ(nlohmann::json::parse(keep.read_line())["event"], "deregistered");
  EXPECT_EQ(keep.finish(), 0) << content(keep_errors);
  EXPECT_EQ(nlohmann::json::parse(watch.read_line())["event"], "node_removed");
  EXPECT_EQ(ask({"ring", "lookup", "hello"}).code, 1) << "nobody holds the key";
  ::kill(watch.pid(), SIGTERM);
  EXPECT_EQ(watch.finish(), 0) << content(watch_errors);
}

TEST_F(MusterTopologyTest, NodesOfAnyServiceAreRegisteredChosenByTagAndHaveARing) {
  int port = 7000;
  const auto add = [&](const std::string& id, Words words) {
    words.insert(words.begin(), {"node", "register", id, "--address", "10.0.0.1", "--port",
                                 std::to_string(++port), "--generation", testing::uuid(1)});
    const Outcome outcome = ask(words);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    ASSERT_TRUE(testing::heartbeat(server_, id).ok());
  };
  add("q1", {"--service", "queue", "--tag", "zone=b", "--tag", "disk=ssd=fast"});
  add("q2", {"--service", "queue", "--tag", "zone=c"});
  add("o1", {"--tag", "zone=b"});
  add("f1", {"--service", "frontend"});
  const auto ids = [&](Words words) {
    words.insert(words.begin(), {"nodes", "--json"});
    const auto json = ask(words).json();
    std::string all;
    for (const auto& each : json["nodes"]) {
      all += (all.empty() ? "" : " ") + each["id"].get<std::string>();
    }
    return all;
  };
  ASSERT_TRUE(testing::eventually([&] {
    return ids({"--state", "active"}) == "f1 o1 q1 q2";
  })) << ask({"nodes"}).out;
  EXPECT_EQ(ids({"--service", "queue"}), "q1 q2");
  EXPECT_EQ(ids({"--service", "frontend"}), "f1");
  EXPECT_EQ(ids({"--type", "object"}), "o1");
  EXPECT_EQ(ids({"--tag", "zone=b"}), "o1 q1");
  EXPECT_EQ(ids({"--tag", "zone=b", "--service", "queue"}), "q1");
  EXPECT_EQ(ids({"--tag", "zone=b", "--tag", "disk=ssd=fast"}), "q1");
  EXPECT_EQ(ids({"--tag", "zone=x"}), "");
  EXPECT_THAT(ask({"nodes", "--service", "queue"}).out,
              AllOf(HasSubstr("SERVICE"), HasSubstr("queue"), HasSubstr("disk=ssd=fast zone=b")));
  const auto topology = ask({"topology", "--json", "--linearizable"}).json();
  EXPECT_EQ(topology["nodes"].size(), 2U);
  EXPECT_EQ(topology["nodes"][0]["service"], "queue");
  EXPECT_EQ(topology["nodes"][0]["tags"]["disk"], "ssd=fast");
  EXPECT_EQ(topology["object_nodes"][0]["service"], "object");
  EXPECT_EQ(topology["object_nodes"][0]["tags"]["zone"], "b");
  EXPECT_EQ(ask({"topology", "--json", "--service", "queue"}).json()["object_nodes"].size(), 0U);

  const auto owners = [&](Words words) {
    words.insert(words.begin(), {"ring", "lookup", "hello", "--json"});
    std::set<std::string> all;
    const auto json = ask(words).json();
    for (const auto& each : json["owners"]) all.insert(each["id"].get<std::string>());
    return all;
  };
  EXPECT_EQ(owners({}), (std::set<std::string>{"f1", "o1"})) << "the ring of release 0.1";
  EXPECT_EQ(owners({"--service", "queue"}), (std::set<std::string>{"q1", "q2"}));
  EXPECT_EQ(owners({"--service", "object"}), (std::set<std::string>{"o1"}));
  EXPECT_EQ(ask({"ring", "plan", "--service", "queue", "--remove", "o1"}).code, 64);
  const Outcome plan = ask({"ring", "plan", "--service", "object", "--remove", "o1", "--json"});
  EXPECT_EQ(plan.json()["primary_moved"], 1.0) << plan.err;
}

TEST_F(MusterTopologyTest, MistakesWithServicesAndTagsAreNamed) {
  const auto refused = [&](Words words) {
    words.insert(words.begin(),
                 {"node", "register", "a", "--address", "10.0.0.1", "--port", "7000"});
    const Outcome outcome = ask(words);
    EXPECT_EQ(outcome.code, 64) << outcome.out;
    return outcome.err;
  };
  EXPECT_THAT(refused({"--service", "Queue"}), HasSubstr("lower-case"));
  EXPECT_THAT(refused({"--service", "queue", "--type", "object"}), HasSubstr("two services"));
  EXPECT_THAT(refused({"--tag", "zone"}), HasSubstr("KEY=VALUE"));
  EXPECT_THAT(refused({"--tag", "zo ne=b"}), HasSubstr("key"));
  EXPECT_THAT(refused({"--tag", "zone=b", "--tag", "zone=c"}), HasSubstr("given twice"));
  EXPECT_EQ(ask({"ring", "set", "--service", "queue", "--replication-factor", "2"}).code, 64);
  EXPECT_EQ(ask({"nodes"}).code, 1) << "none was registered";
}

// What others do has versions, too, and must not look like a loss.
TEST_F(MusterTopologyTest, AWatchOfOneServicePrintsItsChangesOnly) {
  const std::string errors = dir_.path() / "watch";
  ChildProcess watch(prepared(
      {"topology", "--watch", "--json", "--service", "queue", "--server", server_.address()},
      errors));
  EXPECT_EQ(nlohmann::json::parse(watch.read_line())["event"], "snapshot");
  ASSERT_EQ(enter("a").code, 0);
  ASSERT_EQ(ask({"node", "register", "q", "--service", "queue", "--address", "10.0.0.1", "--port",
                 "7001"})
                .code,
            0);
  ASSERT_EQ(enter("b").code, 0);
  ASSERT_EQ(ask({"node", "remove", "a"}).code, 0);
  ASSERT_EQ(ask({"node", "remove", "q"}).code, 0);
  auto event = nlohmann::json::parse(watch.read_line());
  EXPECT_EQ(event["event"], "node_added");
  EXPECT_EQ(event["node"]["id"], "q");
  EXPECT_EQ(event["version"], 2);
  event = nlohmann::json::parse(watch.read_line());
  EXPECT_EQ(event["event"], "node_removed");
  EXPECT_EQ(event["version"], 5);
  ::kill(watch.pid(), SIGTERM);
  EXPECT_EQ(watch.finish(), 0) << content(errors);
}

// R61: its callback waited for the reader, and the end of the watch for its callback.
TEST_F(MusterTopologyTest, AWatchEndsWhenItsReaderHasStoppedReading) {
  const FullPipe lines;
  Command command{.argv = {MUSTER_PROGRAM, "topology", "--watch", "--server", server_.address()}};
  command.null_stdin = true;
  command.descriptors = {{lines.fd(), 1}};
  Guest watch(command);
  for (const MonoTime end = boot_now() + 30s; !watch.writes_to(1);) {
    ASSERT_LT(boot_now(), end);
  }
  watch.signal(SIGTERM);
  ASSERT_TRUE(watch.ends_within(20s));
  EXPECT_EQ(watch.status().code, 0);
}

TEST_F(MusterTopologyTest, AViewIsDrawnOverItselfOnATerminalAndLeavesItInOrder) {
  ASSERT_EQ(enter("a").code, 0);
  OnTerminal person({"perl", "-e", "alarm 120; exec @ARGV", MUSTER_PROGRAM, "topology", "--watch",
                     "--server", server_.address()});
  // Twice at least: the second frame begins at the top of the first.
  const std::string first = person.until("10.0.0.1:7000");
  EXPECT_THAT(first, AllOf(HasSubstr("s1 leads"), HasSubstr("epoch 1"), HasSubstr("FLAPS")));
  ASSERT_EQ(enter("b").code, 0);
  EXPECT_THAT(person.until("2 joining"), HasSubstr("\033[J\033[H")) << "drawn from the top again";
  person.type("\003");  // Ctrl-C
  EXPECT_THAT(person.until("\033[?1049l"), HasSubstr("\033[?25h")) << "the cursor is back";
  EXPECT_EQ(person.finish(), 0);
}

TEST_F(MusterTopologyTest, NodesAreWatchedByProgramsLineByLine) {
  const std::string errors = dir_.path() / "watch";
  ChildProcess watch(
      prepared({"nodes", "--watch", "--json", "--server", server_.address()}, errors));
  EXPECT_EQ(nlohmann::json::parse(watch.read_line())["nodes"].size(), 0U);
  ASSERT_EQ(enter("a").code, 0);
  EXPECT_EQ(nlohmann::json::parse(watch.read_line())["nodes"][0]["id"], "a");
  server_.kill();
  server_.start();
  ASSERT_EQ(enter("b").code, 0);
  EXPECT_EQ(nlohmann::json::parse(watch.read_line())["nodes"].size(), 2U);
  ::kill(watch.pid(), SIGTERM);
  EXPECT_EQ(watch.finish(), 0) << content(errors);
}

TEST(MusterServersTest, WhoWaitsAtATerminalIsToldSo) {
  const SilentServer silent;
  OnTerminal person({"perl", "-e", "alarm 120; exec @ARGV", MUSTER_PROGRAM, "health", "--server",
                     silent.address(), "--timeout", "2s"});
  EXPECT_THAT(person.until("check"), HasSubstr("muster health: still at it after 1s"));
  EXPECT_EQ(person.finish(), 69);
}

TEST_F(MusterTopologyTest, HealthAndServersAreTold) {
  const Outcome health = ask({"health", "--json"});
  EXPECT_EQ(health.code, 0) << health.err;
  EXPECT_EQ(health.json()["leader_address"], server_.address());
  EXPECT_EQ(health.json()["raft_state"], "LEADER");
  EXPECT_THAT(ask({"health"}).out, HasSubstr("healthy: leader, s1 leads"));
  const Outcome servers = ask({"server", "list", "--json"});
  EXPECT_EQ(servers.json()["servers"][0]["id"], "s1") << servers.err;
  EXPECT_EQ(servers.json()["servers"][0]["leader"], true);
  EXPECT_EQ(ask({"server", "transfer", "--to", "nobody"}).code, 1);
  const Outcome same = ask({"server", "transfer", "--to", "s1"});
  EXPECT_EQ(same.code, 1);
  EXPECT_THAT(same.err, HasSubstr("server s1 leads already"));
  EXPECT_THAT(ask({"server", "add", "s2"}).out, HasSubstr("--engine URL --data-dir"));
  EXPECT_EQ(ask({"server", "add", "s2", "--peer", "h:1"}).code, 1);
}

TEST(MusterServersTest, WhoDoesNotAnswerIsNamedWithinTheTimeout) {
  const std::string nobody = "127.0.0.1:" + std::to_string(free_port());
  const Outcome refused = run_muster({"health", "--server", nobody});
  EXPECT_EQ(refused.code, 69);
  EXPECT_THAT(refused.err, AllOf(HasSubstr(nobody), HasSubstr("check")));
  const SilentServer silent;
  const MonoTime before = boot_now();
  const Outcome hung = run_muster({"topology", "--server", silent.address(), "--timeout", "500ms"});
  EXPECT_EQ(hung.code, 69);
  EXPECT_THAT(hung.err, AllOf(HasSubstr(silent.address()), HasSubstr("check")));
  EXPECT_LT(boot_now() - before, 10s);
  const Outcome dns = run_muster({"health", "--server", "no-such-host.invalid:9000"});
  EXPECT_EQ(dns.code, 69);
  EXPECT_THAT(dns.err, AllOf(HasSubstr("no-such-host.invalid:9000"), HasSubstr("DNS")));
  EXPECT_EQ(run_muster({"health", "--server", "no-port"}).code, 64);
}

TEST(MusterServersTest, ABackupIsAFileThatIsThereWhenItIsWhole) {
  ScriptedCoordinator server;
  server.health_check = [](auto&, const auto&, auto&) { return grpc::Status::OK; };
  server.backup = [](auto&, auto& writer) {
    v1::BackupChunk chunk;
    chunk.set_data("state");
    writer.Write(chunk);
    return grpc::Status::OK;
  };
  server.start();
  const TempDir dir;
  const std::string file = dir.path() / "b";
  const Words to{"--server", server.address(), "--json"};
  const auto with = [&](Words words) {
    words.insert(words.end(), to.begin(), to.end());
    return run_muster(words);
  };
  const Outcome saved = with({"backup", file});
  EXPECT_EQ(saved.json()["bytes"], 5) << saved.err;
  EXPECT_EQ(content(file), "state");
  EXPECT_EQ(with({"backup", file}).code, 64) << "what is there is not overwritten";
  server.backup = [](auto&, auto& writer) {
    v1::BackupChunk chunk;
    chunk.set_data("half");
    writer.Write(chunk);
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "going down");
  };
  const std::string half = dir.path() / "half";
  EXPECT_EQ(with({"backup", half}).code, 69);
  EXPECT_FALSE(std::filesystem::exists(half));
  EXPECT_FALSE(std::filesystem::exists(half + ".part"));
  const std::string engine = "file://" + (dir.path() / "engine").string();
  const Outcome no_backup = run_muster({"restore", file, "--engine", engine});
  EXPECT_EQ(no_backup.code, 64);
  EXPECT_THAT(no_backup.err, HasSubstr(file));
  EXPECT_FALSE(std::filesystem::exists(dir.path() / "engine"));
}

}  // namespace topology_test
}  // namespace muster
