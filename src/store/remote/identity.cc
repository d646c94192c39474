#include "store/remote/identity.h"

#include <algorithm>

namespace muster::remote {

Status Identity::observe(std::uint64_t cluster_id, std::int64_t revision, std::int64_t floor) {
  if (broken_) return *broken_;
  if (cluster_id_ && *cluster_id_ != cluster_id) {
    broken_ = Error{Errc::kCorrupt, "the store at " + address_ +
                                        " is not the one seen before: its cluster id has changed"};
  } else if (revision < floor) {
    broken_ = Error{Errc::kCorrupt,
                    "the store at " + address_ + " has gone back in time: it was at revision " +
                        std::to_string(floor) + " and is now at " + std::to_string(revision)};
  }
  if (broken_) return *broken_;
  cluster_id_ = cluster_id;
  floor_ = std::max(floor_, revision);
  return Done{};
}

Status Identity::status() const {
  if (broken_) return *broken_;
  return Done{};
}

}  // namespace muster::remote
