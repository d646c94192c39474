// Servers that run their engine themselves leave it for another one, in simulated time.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "muster/v1/admin.pb.h"
#include "muster/v1/store.pb.h"
#include "tests/sim/cluster/hosts.h"

namespace muster::sim {
namespace move_test {

constexpr const char* kTarget = "etcd://elsewhere:2379/moved";
constexpr int kKeys = 30;

/// Three servers whose engine answers while two of them run, and another engine.
class MoveScene {
 public:
  explicit MoveScene(std::uint64_t seed) : world_(seed) {
    set_log_sink([](const LogLine&) {});
    store_->guarded_put = store_->watch = world_.random().chance(0.5);
    setting_.server.engine = "managed";
    setting_.server.lease_timeout = 2s;
    target_->guarded_put = world_.random().chance(0.5);
    setting_.target = [this](const std::string& server) {
      return server == elsewhere ? std::make_shared<SharedStore>() : target_;
    };
    setting_.on_fatal = [this](const std::string& name, const Error& why) {
      if (!told_.emplace(name, why.message).second) return;
      // As musterd does: in order, and its part of the engine goes at the end.
      host(name).stop([this, name] { world_.after(0s, [this, name] { host(name).kill(); }); });
    };
    for (int i = 1; i <= 3; ++i) {
      setting_.servers.push_back("s" + std::to_string(i) + ":9000");
      servers_.push_back(std::make_unique<ServerHost>(setting_, setting_.servers.back()));
    }
    for (const auto& server : servers_) server->start();
    run(20s);
    for (int i = 0; i < kKeys; ++i) put("k" + std::to_string(i));
  }
  ~MoveScene() {
    for (const auto& server : servers_) server->kill();
    EXPECT_EQ(invariants_.violation(), "");
    set_log_sink({});
  }

  World& world() { return world_; }
  SharedStore& target() { return *target_; }
  void run(Duration time) {
    world_.run(world_.now() + time, [this] {
      const auto up = std::count_if(servers_.begin(), servers_.end(),
                                    [](const auto& server) { return server->runs(); });
      store_->faults.down = own_engine_ && up < 2;
      return true;
    });
  }
  ServerHost& host(const std::string& name) {
    return **std::find_if(servers_.begin(), servers_.end(),
                          [&](const auto& server) { return server->name() == name; });
  }
  ServerHost* leader() {
    for (const auto& server : servers_) {
      if (server->runs() && server->peer().leader().self) return server.get();
    }
    return nullptr;
  }
  void put(const std::string& key) {
    v1::StorePutRequest request;
    request.set_key(key);
    request.set_value("v");
    ask("/muster.v1.StoreService/Put", request.SerializeAsString());
    run(500ms);
    ASSERT_TRUE(answer_ && answer_->ok()) << key;
  }
  void ask_for_move() {
    v1::MoveRequest request;
    request.set_engine(kTarget);
    ask("/muster.v1.AdminService/Move", request.SerializeAsString());
  }
  [[nodiscard]] const std::optional<client::RpcStatus>& answer() const { return answer_; }
  /// What the servers said when they ended.
  [[nodiscard]] const std::map<std::string, std::string>& told() const { return told_; }
  [[nodiscard]] bool decided() const {
    return std::any_of(servers_.begin(), servers_.end(), [](const auto& server) {
      return server->runs() && server->peer().replica().log().position().seal.has_value();
    });
  }

  /// One server on the engine that was moved to, which has everything.
  void expect_everything_there() {
    for (const auto& server : servers_) server->kill();
    own_engine_ = false;
    setting_.store = target_;
    setting_.server.engine = kTarget;
    told_.clear();
    servers_[0]->start();
    run(40s);
    EXPECT_TRUE(told_.empty()) << told_.begin()->second;
    ASSERT_NE(leader(), nullptr);
    for (int i = 0; i < kKeys; ++i) {
      const std::string key = "k" + std::to_string(i);
      EXPECT_NE(leader()->peer().replica().state().kv().find(key), nullptr) << key;
    }
  }

  /// A server for which the target's address means another place.
  std::string elsewhere;

 private:
  void ask(const std::string& method, const std::string& request) {
    ASSERT_NE(leader(), nullptr);
    connection_ = transport_.connect(leader()->name());
    answer_.reset();
    call_ = connection_->unary(
        method, request, client_.now() + 10min,
        [this](const client::RpcStatus& told, const std::string&) { answer_ = told; });
  }

  World world_;
  std::shared_ptr<SharedStore> store_ = std::make_shared<SharedStore>();
  std::shared_ptr<SharedStore> target_ = std::make_shared<SharedStore>();
  Network network_{world_};
  WorkJournal journal_;
  Setting setting_{world_, network_, store_, invariants_, {}, {}, journal_, 0};
  Invariants invariants_{world_, store_, setting_.server.membership, 0};
  std::vector<std::unique_ptr<ServerHost>> servers_;
  std::map<std::string, std::string> told_;
  bool own_engine_ = true;
  Process client_{world_, 1, 0s};
  SimTransport transport_{network_, "operator", client_};
  std::unique_ptr<client::Connection> connection_;
  std::unique_ptr<client::Call> call_;
  std::optional<client::RpcStatus> answer_;
};

TEST(MoveSceneTest, NobodyLeavesTheServersOwnEngineBeforeEverythingIsThere) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    MoveScene scene(seed);
    if (testing::Test::HasFailure()) return;
    scene.ask_for_move();
    scene.run(60s);
    ASSERT_TRUE(scene.answer().has_value());
    ASSERT_TRUE(scene.answer()->ok()) << scene.answer()->message;
    ASSERT_EQ(scene.told().size(), 3U) << "all have left";
    for (const auto& [name, why] : scene.told()) {
      EXPECT_EQ(why.find("the log has moved to"), 0U) << name << ": " << why;
    }
    scene.expect_everything_there();
  }
}

TEST(MoveSceneTest, AServerThatDoesNotReachTheTargetIsNamedBeforeAnythingIsDecided) {
  MoveScene scene(1);
  if (testing::Test::HasFailure()) return;
  scene.elsewhere = scene.leader()->name() == "s1:9000" ? "s2:9000" : "s1:9000";
  scene.ask_for_move();
  scene.run(20s);
  ASSERT_TRUE(scene.answer().has_value());
  EXPECT_EQ(scene.answer()->code, client::RpcCode::kFailedPrecondition);
  const std::string named = "server " + scene.elsewhere.substr(0, 2) + " does not see";
  EXPECT_NE(scene.answer()->message.find(named), std::string::npos) << scene.answer()->message;
  EXPECT_FALSE(scene.decided());
  scene.put("still");
  EXPECT_TRUE(scene.told().empty());
}

// The leader is killed at any moment, and started again at any, or never; the target is away now
// and then.
TEST(MoveSceneTest, AMoveThatWasDecidedIsFinishedWhoeverDies) {
  int decided = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    MoveScene scene(seed);
    if (testing::Test::HasFailure()) return;
    Random& random = scene.world().random();
    ServerHost& leader = *scene.leader();
    scene.ask_for_move();
    scene.run(random.between(0s, 5s));
    const bool away = random.chance(0.3);
    scene.target().faults.down = away;
    leader.kill();
    const bool again = random.chance(0.5);
    scene.run(random.between(0s, 5s));
    if (again) leader.start();
    if (away) scene.run(random.between(0s, 20s));
    scene.target().faults.down = false;
    scene.run(3s);  // A seal that was written is read by now.
    if (!scene.decided() && scene.told().empty()) {
      scene.run(60s);
      EXPECT_NE(scene.leader(), nullptr) << "nothing has changed";
      continue;
    }
    ++decided;
    scene.run(90s);
    // One that is started when the others have left waits for them.
    for (const char* name : {"s1:9000", "s2:9000", "s3:9000"}) {
      if (name == leader.name()) continue;
      ASSERT_TRUE(scene.told().contains(name)) << name << " stays for ever";
      EXPECT_EQ(scene.told().at(name).find("the log has moved to"), 0U) << scene.told().at(name);
    }
    scene.expect_everything_there();
  }
  EXPECT_GE(decided, 20);
}

}  // namespace move_test
}  // namespace muster::sim
