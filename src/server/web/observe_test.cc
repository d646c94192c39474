#include <gtest/gtest.h>

#include "server/web/api_json.h"
#include "server/web/event_streams.h"
#include "server/web/node_page.h"
#include "server/web/ring_picture.h"
#include "server/web/series.h"

namespace muster::server {
namespace observe_test {

NodeRow row(const std::string& id, membership::NodeState state, std::uint32_t flaps = 0,
            std::int64_t heard_ms = 0) {
  NodeRow r;
  r.id = id;
  r.type = membership::NodeType::kObject;
  r.address = "10.0.0." + std::to_string(flaps);
  r.port = 9;
  r.state = state;
  r.flaps = flaps;
  r.heartbeat_age = 1s - std::chrono::milliseconds(heard_ms);
  return r;
}

http::Request request(const std::map<std::string, std::string>& query) {
  http::Request r;
  r.query = query;
  return r;
}

using enum membership::NodeState;

TEST(NodePageTest, FiltersAndSorts) {
  const std::vector<NodeRow> rows{row("a1", kActive, 2, 300), row("b2", kDown, 1, 100),
                                  row("c3", kActive, 3, 200)};
  const auto ids = [&](const std::map<std::string, std::string>& query) {
    const auto page = NodePage::parse(request(query));
    EXPECT_TRUE(page);
    std::string all;
    for (const NodeRow* each : page->select(rows)) all += each->id + " ";
    return all;
  };
  EXPECT_EQ(ids({}), "a1 b2 c3 ");
  EXPECT_EQ(ids({{"state", "Active"}}), "a1 c3 ");
  EXPECT_EQ(ids({{"type", "metadata"}}), "");
  EXPECT_EQ(ids({{"q", "B"}}), "b2 ");
  EXPECT_EQ(ids({{"q", "0.0.3"}}), "c3 ");
  EXPECT_EQ(ids({{"sort", "flaps"}, {"order", "desc"}}), "c3 a1 b2 ");
  EXPECT_EQ(ids({{"sort", "age"}}), "a1 c3 b2 ");
  EXPECT_EQ(ids({{"sort", "age"}, {"order", "desc"}}), "b2 c3 a1 ");
  EXPECT_EQ(
      NodePage::parse(request({{"state", "zz"}})).error().message,
      "state: \"zz\" is no state of a node; there are active, joining, draining, down, suspect");
  EXPECT_EQ(NodePage::parse(request({{"type", "zz"}})).error().message,
            "type: \"zz\" is no type of node; there are frontend, metadata, object");
  EXPECT_TRUE(NodePage::parse(request({{"sort", "colour"}})).is(Errc::kInvalid));
  EXPECT_TRUE(NodePage::parse(request({{"order", "up"}})).is(Errc::kInvalid));
  EXPECT_TRUE(NodePage::parse(request({{"limit", "-1"}})).is(Errc::kInvalid));
}

TEST(RingPictureTest, SharesAreThoseOfTheRing) {
  std::vector<NodeRow> rows;
  std::vector<RingMember> members;
  for (int i = 0; i < 20; ++i) {
    rows.push_back(row("n" + std::to_string(10 + i), i % 5 == 0 ? kSuspect : kActive));
    members.push_back({NodeId(rows.back().id), 1, false});
  }
  rows.push_back(row("down", kDown));
  RingPainter painter;
  const RingPictures pictures = painter.paint(rows, 16);
  ASSERT_EQ(pictures.rings.size(), 1U);
  const RingPicture& picture = pictures.rings.at("");
  const HashRing ring(members, {16, 3});
  ASSERT_EQ(picture.members.size(), 20U);
  EXPECT_EQ(picture.points.size(), 320U);
  EXPECT_TRUE(picture.members[0].flagged);
  EXPECT_FALSE(pictures.shares.contains("down"));
  double sum = 0;
  for (const auto& member : picture.members) sum += member.share;
  EXPECT_NEAR(sum, 1, 1e-9);
  for (std::size_t i = 0; i < picture.points.size(); ++i) {
    EXPECT_EQ(picture.points[i].first, ring.positions()[i]);
  }
  EXPECT_EQ(painter.paint({row("only", kActive)}, 1).shares.at("only"), 1);
}

TEST(RingPictureTest, EachServiceWithoutATypeHasARingAndThoseWithOneShareOne) {
  std::vector<NodeRow> rows;
  const char* const services[] = {"", "queue", "search", ""};
  for (int i = 0; i < 40; ++i) {
    rows.push_back(row("n" + std::to_string(10 + i), kActive));
    rows.back().service = services[i % 4];
    rows.back().type = i % 4 == 0   ? membership::NodeType::kObject
                       : i % 4 == 3 ? membership::NodeType::kFrontend
                                    : membership::NodeType::kUnknown;
  }
  RingPainter painter;
  const RingPictures pictures = painter.paint(rows, 16);
  ASSERT_EQ(pictures.rings.size(), 3U);
  EXPECT_EQ(pictures.rings.at("").members.size(), 20U);
  EXPECT_EQ(pictures.rings.at("queue").members.size(), 10U);
  EXPECT_EQ(pictures.points, 640U);
  EXPECT_EQ(pictures.shares.size(), 40U);
  const auto expect_ring = [&](const RingPicture& picture, const std::string& service) {
    std::vector<RingMember> members;
    for (const NodeRow& each : rows) {
      if (service_of(each) == service) members.push_back({NodeId(each.id), 1, false});
    }
    const HashRing ring(members, {16, 3});
    ASSERT_EQ(picture.points.size(), ring.positions().size()) << service;
    for (std::size_t i = 0; i < picture.points.size(); ++i) {
      EXPECT_EQ(picture.points[i].first, ring.positions()[i]);
    }
  };
  expect_ring(pictures.rings.at("search"), "search");
  expect_ring(painter.paint_service(rows, 16, "search"), "search");
  expect_ring(painter.paint_service(rows, 16, "frontend"), "frontend");
}

TEST(NodePageTest, FiltersByServiceAndTag) {
  std::vector<NodeRow> rows{row("a", kActive), row("b", kActive), row("c", kActive)};
  rows[1].type = membership::NodeType::kUnknown;
  rows[1].service = "queue";
  rows[1].tags = {{"zone", "b"}, {"x", "="}};
  rows[2].tags = {{"zone", "b"}};
  const auto ids = [&](const std::map<std::string, std::string>& query) {
    const auto page = NodePage::parse(request(query));
    EXPECT_TRUE(page);
    std::string all;
    for (const NodeRow* each : page->select(rows)) all += each->id;
    return all;
  };
  EXPECT_EQ(ids({{"service", "queue"}}), "b");
  EXPECT_EQ(ids({{"service", "object"}}), "ac");
  EXPECT_EQ(ids({{"tag", "zone=b"}}), "bc");
  EXPECT_EQ(ids({{"tag", "x=="}}), "b");
  EXPECT_EQ(ids({{"tag", "zone=b"}, {"service", "object"}}), "c");
  EXPECT_EQ(ids({{"sort", "service"}, {"order", "desc"}}), "bac");
  EXPECT_EQ(NodePage::services(rows), (std::vector<std::string>{"object", "queue"}));
  EXPECT_TRUE(NodePage::parse(request({{"service", "Queue"}})).is(Errc::kInvalid));
  EXPECT_TRUE(NodePage::parse(request({{"tag", "zone"}})).is(Errc::kInvalid));
  const Json json = to_json(rows[1], {});
  EXPECT_EQ(json["type"], "unknown");
  EXPECT_EQ(json["service"], "queue");
  EXPECT_EQ(json["tags"]["zone"], "b");
  EXPECT_EQ(to_json(rows[0], {})["service"], "object");
  EXPECT_EQ(dump(to_json(rows[0], {})["tags"]), "{}");
}

TEST(RingPictureTest, APlanMovesWhatTheOneThatLeavesHad) {
  std::vector<RingMember> all;
  for (int i = 0; i < 10; ++i) all.push_back({NodeId("n" + std::to_string(i)), 1, false});
  const HashRing before(all, {16, 3});
  all.erase(all.begin() + 3);
  const RingPlan plan = server::plan(before, HashRing(all, {16, 3}));
  RingPainter painter;
  std::vector<NodeRow> rows;
  for (int i = 0; i < 10; ++i) rows.push_back(row("n" + std::to_string(i), kActive));
  EXPECT_NEAR(plan.moved, painter.paint(rows, 16).shares.at("n3"), 1e-9);
  ASSERT_FALSE(plan.moves.empty());
  for (const auto& move : plan.moves) EXPECT_EQ(move.from, "n3");
  EXPECT_GE(plan.moves.front().share, plan.moves.back().share);
}

TEST(SeriesTest, AStepHasWhatHappenedInIt) {
  Series series;
  for (int i = 1; i <= 100; ++i) series.heartbeat(std::chrono::milliseconds(i));
  series.batch(10);
  series.batch(30);
  for (int i = 0; i < 50; ++i) series.commit();
  const Sample sample = series.close(wall_from_ms(5000), 7);
  const Json json = to_json(sample);
  EXPECT_EQ(json["heartbeatP50Ms"], 50);
  EXPECT_EQ(json["heartbeatP95Ms"], 95);
  EXPECT_EQ(json["heartbeatP99Ms"], 99);
  EXPECT_EQ(json["batchSize"], 20);
  EXPECT_EQ(json["commitsPerSecond"], 10);
  EXPECT_EQ(json["watchers"], 7);
  const Json empty = to_json(series.close(wall_from_ms(10000), 0));
  EXPECT_TRUE(empty["heartbeatP50Ms"].is_null());
  EXPECT_TRUE(empty["batchSize"].is_null());
  EXPECT_EQ(series.last(1h).size(), 2U);
  EXPECT_EQ(series.last(5s).size(), 1U);
  for (int i = 0; i < 2000; ++i) series.close(wall_from_ms(i), 0);
  EXPECT_EQ(series.last(24h).size(), Series::kKept);
}

/// An exchange that keeps what was written.
class Listener final : public http::Exchange {
 public:
  [[nodiscard]] const http::Request& request() const override { return request_; }
  void reply(http::Response) override {}
  void stream(http::Response) override {}
  void write(const http::Body& bytes) override { text += *bytes; }
  void end() override {}
  void on_taken(std::function<void()>) override {}
  void on_gone(std::function<void()>) override {}
  [[nodiscard]] bool over() const override { return gone; }
  std::string text;
  bool gone = false;

 private:
  http::Request request_;
};

Picture picture_with(std::uint64_t oldest, std::uint64_t newest) {
  Picture picture;
  picture.oldest_decision = oldest;
  picture.newest_decision = newest;
  for (std::uint64_t seq = oldest; seq <= newest; ++seq) {
    auto decision = std::make_shared<cluster::Decision>();
    decision->seq = seq;
    decision->subject = "n" + std::to_string(seq);
    picture.decisions.push_back(std::move(decision));
  }
  return picture;
}

TEST(EventStreamsTest, WhoComesBackIsToldWhatItMissedOrToBeginAnew) {
  EventStreams streams;
  const auto fresh = std::make_shared<Listener>();
  streams.add(fresh, picture_with(1, 3), 0);
  EXPECT_NE(fresh->text.find("event: hello"), std::string::npos);
  EXPECT_EQ(fresh->text.find("event: decision"), std::string::npos);
  const auto back = std::make_shared<Listener>();
  streams.add(back, picture_with(2, 3), 1);
  EXPECT_NE(back->text.find("event: decision\nid: 3\n"), std::string::npos);
  const auto late = std::make_shared<Listener>();
  streams.add(late, picture_with(5, 6), 1);
  EXPECT_NE(late->text.find("event: reset\nid: 6\n"), std::string::npos);
  const auto foreign = std::make_shared<Listener>();
  streams.add(foreign, picture_with(5, 6), 900);
  EXPECT_NE(foreign->text.find("event: reset"), std::string::npos);
  EXPECT_EQ(streams.size(), 4U);
  late->gone = true;
  streams.sweep({});
  EXPECT_EQ(streams.size(), 3U);
}

TEST(EventStreamsTest, ChangesAreToldToAll) {
  EventStreams streams;
  const auto one = std::make_shared<Listener>();
  streams.add(one, picture_with(1, 1), 0);
  one->text.clear();
  Update update;
  update.version = 7;
  update.upserts.push_back(row("n1", kSuspect));
  update.removed.push_back("n2");
  streams.update(update, {{"n1", 0.25}});
  EXPECT_NE(one->text.find("event: change\ndata: {\"version\":7,"), std::string::npos) << one->text;
  EXPECT_NE(one->text.find("\"share\":0.25"), std::string::npos);
  EXPECT_NE(one->text.find("\"removed\":[\"n2\"]"), std::string::npos);
  one->text.clear();
  streams.update({}, {});
  EXPECT_EQ(one->text, "");
}

}  // namespace observe_test
}  // namespace muster::server
