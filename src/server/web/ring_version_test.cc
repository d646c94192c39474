// The ring that /api/ring shows is of the nodes that are shown with it.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/membership/testing.h"
#include "server/web/api.h"
#include "server/web/observer.h"
#include "sim/world.h"
#include "store/memory/memory_store.h"

namespace muster::server {
namespace ring_version_test {

/// A GET, and what it was answered.
class Asked final : public http::Exchange {
 public:
  explicit Asked(std::string path, std::map<std::string, std::string> query = {}) {
    request_.method = "GET";
    request_.path = std::move(path);
    request_.query = std::move(query);
  }
  [[nodiscard]] const http::Request& request() const override { return request_; }
  void reply(http::Response response) override {
    answer = *response.content;
    code = response.status;
  }
  void stream(http::Response) override {}
  void write(const http::Body&) override {}
  void end() override {}
  void on_taken(std::function<void()>) override {}
  void on_gone(std::function<void()>) override {}
  [[nodiscard]] bool over() const override { return !answer.empty(); }
  std::string answer;
  int code = 0;

 private:
  http::Request request_;
};

class RingVersionTest : public ::testing::Test {
 protected:
  RingVersionTest() {
    Observer::Subject subject;
    subject.replica = &replica_;
    subject.leader = [] { return LeaderView{true, "s1", "127.0.0.1:9000", Epoch(1)}; };
    subject.watchers = [] { return std::size_t{0}; };
    subject.watch_lag = [] { return std::uint64_t{0}; };
    subject.lease_left = [] { return Duration(1s); };
    subject.held = [] { return membership::Verdict{}; };
    subject.sightings = [] { return std::map<std::string, Sighting>(); };
    observer_.attach(std::move(subject));
  }

  void change(const membership::Command& command) {
    const std::string bytes = cluster::encode(cluster::ChangeTopology{command});
    const std::vector<std::string_view> commands{bytes};
    const Incarnation run("run");
    ASSERT_TRUE(replica_
                    .apply({rlog::Index(static_cast<std::uint64_t>(++index_)), Epoch(1), run,
                            membership::testing::at(index_), WallTime{}, rlog::EntryKind::kCommands,
                            commands})
                    .ok());
  }
  /// The node is in the ring, two changes later.
  void enter(const std::string& id, const std::string& service = "object",
             membership::Tags tags = {}) {
    change(membership::registration_of(membership::testing::service_spec(
        id, service, std::move(tags), static_cast<unsigned>(index_) + 1)));
    change(membership::testing::beat(replica_.state().topology(), id));
    ASSERT_EQ(membership::testing::state(replica_.state().topology(), id),
              membership::NodeState::kActive);
  }
  std::vector<std::string> shown() {
    const auto asked = std::make_shared<Asked>("/api/ring");
    api_.handle(asked);
    const nlohmann::json ring = nlohmann::json::parse(asked->answer);
    std::vector<std::string> ids;
    for (const auto& node : ring["nodes"]) ids.push_back(node["id"]);
    return ids;
  }

  sim::World world_{1};
  sim::Process process_{world_, 1.0, 0s};
  MemoryStore store_{process_};
  ReplicatedState replica_{{},
                           {process_, store_, Random(1)},
                           {.applied = [](const std::vector<membership::Event>&) {},
                            .reloaded = [] {},
                            .deposed = {},
                            .stopped = {}}};
  std::int64_t index_ = 0;
  Metrics metrics_;
  Observer observer_{process_, metrics_, {.server = "s1", .engine = "file", .membership = {}}};
  Api api_{{.loop = process_,
            .ask =
                [this](const Query& query, const std::function<void(PicturePtr)>& done) {
                  done(std::make_shared<const Picture>(observer_.look(query)));
                },
            .listeners = [](std::size_t) {},
            .metrics = metrics_,
            .answered = [](const std::string&, int) {}}};
};

// Rows of nodes are kept for a moment, and the ring is kept per version: painted of older rows and
// kept under the newer version, it would stay without the node until the next change.
TEST_F(RingVersionTest, ANodeThatEntersBetweenTwoLooksIsInTheRingOfALaterOne) {
  const std::vector<std::string> one{"n1"}, both{"n1", "n2"};
  enter("n1");
  EXPECT_EQ(shown(), one);
  enter("n2");
  EXPECT_EQ(shown(), one) << "the rows were not kept, and this tests nothing";
  world_.run(world_.now() + 1s);
  EXPECT_EQ(shown(), both);
}

/// The same parts, asked about other things.
class ObserverTest : public RingVersionTest {
 protected:
  /// The status of the answer, and the sentence of an error.
  std::pair<int, std::string> ask(const std::string& path,
                                  std::map<std::string, std::string> query = {}) {
    const auto asked = std::make_shared<Asked>(path, std::move(query));
    api_.handle(asked);
    return {asked->code, nlohmann::json::parse(asked->answer).value("error", "")};
  }
};

TEST_F(ObserverTest, AServerThatWasAskedToStopSaysSo) {
  observer_.waiting("this server is loading its state");
  EXPECT_EQ(ask("/readyz"), std::pair(503, std::string("this server is loading its state")));
  observer_.stopping();
  EXPECT_EQ(ask("/readyz"), std::pair(503, std::string("this server is stopping")));
}

TEST_F(ObserverTest, APlanWithANodeThatIsNotThereIsRefused) {
  enter("n1");
  enter("n2");
  EXPECT_EQ(ask("/api/ring/plan", {{"remove", "n1"}, {"add", "n3"}}).first, 200);
  EXPECT_EQ(ask("/api/ring/plan", {{"remove", "zz"}}),
            std::pair(400, std::string("remove: zz is not in the ring")));
  EXPECT_EQ(ask("/api/ring/plan", {{"add", "n2"}}),
            std::pair(400, std::string("add: n2 is in the ring already")));
}

TEST_F(ObserverTest, ServicesAndTagsAreShownAndEachServiceHasARing) {
  enter("f1", "frontend");
  enter("o1", "object", {{"zone", "b"}});
  enter("q1", "queue", {{"zone", "b"}, {"disk", "ssd"}});
  enter("q2", "queue");
  const auto answer = [&](const std::string& path, std::map<std::string, std::string> query) {
    const auto asked = std::make_shared<Asked>(path, std::move(query));
    api_.handle(asked);
    return nlohmann::json::parse(asked->answer);
  };
  const auto ids = [](const nlohmann::json& nodes) {
    std::string all;
    for (const auto& node : nodes) {
      all += (all.empty() ? "" : " ") + node.at("id").get<std::string>();
    }
    return all;
  };
  const nlohmann::json all = answer("/api/nodes", {});
  EXPECT_EQ(ids(all["nodes"]), "f1 o1 q1 q2");
  EXPECT_EQ(all["services"], (std::vector<std::string>{"frontend", "object", "queue"}));
  EXPECT_EQ(all["nodes"][1]["service"], "object");
  EXPECT_EQ(all["nodes"][2]["service"], "queue");
  EXPECT_EQ(all["nodes"][2]["type"], "unknown");
  EXPECT_EQ(all["nodes"][2]["tags"], (nlohmann::json{{"zone", "b"}, {"disk", "ssd"}}));
  EXPECT_NEAR(all["nodes"][0]["share"].get<double>() + all["nodes"][1]["share"].get<double>(), 1,
              1e-6)
      << "of the ring that they share";
  EXPECT_NEAR(all["nodes"][2]["share"].get<double>() + all["nodes"][3]["share"].get<double>(), 1,
              1e-6)
      << "of the ring of the queue";
  EXPECT_EQ(ids(answer("/api/nodes", {{"service", "queue"}})["nodes"]), "q1 q2");
  EXPECT_EQ(ids(answer("/api/nodes", {{"tag", "zone=b"}})["nodes"]), "o1 q1");
  EXPECT_EQ(ids(answer("/api/ring", {})["nodes"]), "f1 o1");
  EXPECT_TRUE(answer("/api/ring", {})["service"].is_null());
  EXPECT_EQ(ids(answer("/api/ring", {{"service", "queue"}})["nodes"]), "q1 q2");
  EXPECT_EQ(ids(answer("/api/ring", {{"service", "object"}})["nodes"]), "o1");
  EXPECT_EQ(ids(answer("/api/ring", {{"service", "search"}})["nodes"]), "");
  const auto plan = answer("/api/ring/plan", {{"service", "queue"}, {"remove", "q1"}});
  EXPECT_EQ(plan["moves"].size(), 1U);
  EXPECT_EQ(plan["moves"][0]["to"], "q2");
  EXPECT_EQ(ask("/api/ring/plan", {{"remove", "q1"}}),
            std::pair(400, std::string("remove: q1 is not in the ring")));
  EXPECT_EQ(ask("/api/ring", {{"service", "Queue"}}).first, 400);
  EXPECT_EQ(ask("/api/nodes", {{"tag", "zone"}}).first, 400);
}

TEST_F(ObserverTest, AnIdMayBeEncoded) {
  enter("n-1");
  EXPECT_EQ(ask("/api/node/n%2D1/explain").first, 200);
  EXPECT_EQ(ask("/api/node/n%2/explain").first, 400);
}

}  // namespace ring_version_test
}  // namespace muster::server
