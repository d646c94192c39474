#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/membership/node.h"
#include "core/routing/hash_ring.h"
#include "server/web/picture.h"

namespace muster::server {

/// The ring as it is drawn, with the share of each node.
struct RingPicture {
  struct Member {
    std::string id;
    double share = 0;
    bool flagged = false;  ///< SUSPECT.
  };
  std::vector<Member> members;                                  ///< Sorted by id.
  std::vector<std::pair<std::uint64_t, std::uint32_t>> points;  ///< Position, index into members.
};

/// The rings that hold every node once: under "" that of the nodes with a type, and those of the
/// services that have none.
struct RingPictures {
  std::map<std::string, RingPicture> rings;
  std::size_t points = 0;                          ///< Of all rings.
  std::unordered_map<std::string, double> shares;  ///< Of each node on its ring.
};

/// Makes ring pictures, and caches the positions of nodes: hashing is most of the work, and a
/// node's positions never change. Forgets nodes that are gone. Threads: one.
class RingPainter {
 public:
  [[nodiscard]] RingPictures paint(const std::vector<NodeRow>& nodes, std::uint32_t places);
  /// The ring of one service alone, with a type or without.
  [[nodiscard]] RingPicture paint_service(const std::vector<NodeRow>& nodes, std::uint32_t places,
                                          const std::string& service);

 private:
  void enter(const NodeRow& node, std::uint32_t places, RingPicture& picture);
  static void share_out(RingPicture& picture);

  struct Places {
    std::vector<std::uint64_t> positions;
    std::uint64_t used = 0;  ///< In which painting.
  };
  std::unordered_map<std::string, Places> known_;
  std::uint64_t paintings_ = 0;
};

/// What would move if nodes were added or removed: by primary owner, largest first.
struct RingPlan {
  struct Move {
    std::string from;  ///< Empty: nobody.
    std::string to;
    double share = 0;
  };
  double moved = 0;
  std::vector<Move> moves;
};
[[nodiscard]] RingPlan plan(const HashRing& before, const HashRing& after);

}  // namespace muster::server
