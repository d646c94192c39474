#include "server/engine/peer_views.h"

#include <gtest/gtest.h>

namespace muster::engine {
namespace peer_views_test {

using Kind = PeerView::Kind;

TEST(PeerViewsTest, AMemberListsItsCluster) {
  const PeerView view =
      read_view(R"([{"id":17399418459421698291,"peerURLs":["http://h1:9001"],"name":"s1",)"
                R"("clientURLs":["http://h1:9000"]},)"
                R"({"id":2,"peerURLs":["http://h2:9001"],"isLearner":true}])");
  ASSERT_EQ(view.kind, Kind::kMember);
  ASSERT_EQ(view.members.size(), 2U);
  EXPECT_EQ(view.members[0],
            (Member{17399418459421698291U, "s1", "http://h1:9001", {"h1:9000"}, false}));
  EXPECT_EQ(view.members[1], (Member{2, "", "http://h2:9001", {}, true}));
}

TEST(PeerViewsTest, AWaitingServerSaysWhatItHasSeen) {
  const PeerView view = read_view(R"({"waiting":"s2","sawAll":true})");
  EXPECT_EQ(view.kind, Kind::kWaiting);
  EXPECT_EQ(view.name, "s2");
  EXPECT_TRUE(view.saw_all);
  EXPECT_FALSE(read_view(R"({"waiting":"s2"})").saw_all);
}

TEST(PeerViewsTest, AnythingElseIsSilence) {
  for (const char* body :
       {"", "{}", "[]", "null", "[1]", R"([{"id":-1,"peerURLs":["u"]}])", R"([{"id":1}])",
        R"([{"id":1,"peerURLs":[7]}])", R"({"waiting":7})", "<html>"}) {
    EXPECT_EQ(read_view(body).kind, Kind::kSilent) << body;
  }
}

}  // namespace peer_views_test
}  // namespace muster::engine
