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

/// The ring as it is drawn: who owns how much of it.
struct RingPicture {
  struct Member {
    std::string id;
    double share = 0;
    bool flagged = false;  ///< SUSPECT.
  };
  std::vector<Member> members;                                  ///< Sorted by id.
  std::vector<std::pair<std::uint64_t, std::uint32_t>> points;  ///< Position, index into members.
  std::unordered_map<std::string, double> shares;
};

/// Makes ring pictures, and remembers where nodes stand: hashing is most of the work, and a node's
/// places never change. Forgets nodes that are gone. One thread.
class RingPainter {
 public:
  [[nodiscard]] RingPicture paint(const std::vector<NodeRow>& nodes, std::uint32_t places);

 private:
  struct Places {
    std::vector<std::uint64_t> positions;
    std::uint64_t used = 0;  ///< In which painting.
  };
  std::unordered_map<std::string, Places> known_;
  std::uint64_t paintings_ = 0;
};

/// What would move if nodes came and went: by primary owner, largest first.
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
