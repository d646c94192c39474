#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "core/engine/members.h"
#include "core/engine/upkeep.h"
#include "platform/event_loop.h"
#include "store/store.h"

namespace muster::engine {

/// The raised alarms of a cluster.
struct Alarms {
  std::set<std::uint64_t> full;
  bool corrupt = false;
};

/// The calls about an etcd member and its cluster, in our words. Each completes once, posted to the
/// loop; none is retried once it may have changed something. Loop thread only.
class EtcdAdmin {
 public:
  /// `socket` is the path of the member's Unix socket.
  EtcdAdmin(const std::string& socket, EventLoop& loop);
  ~EtcdAdmin();
  EtcdAdmin(const EtcdAdmin&) = delete;
  EtcdAdmin& operator=(const EtcdAdmin&) = delete;

  /// kUnavailable when the member does not answer or sees no leader.
  void vitals(Deadline by, Callback<Vitals> done);
  void members(Deadline by, Callback<Members> done);
  void alarms(Deadline by, Callback<Alarms> done);

  void add_learner(const std::string& peer_url, Deadline by, Callback<Members> done);
  void remove(std::uint64_t id, Deadline by, Callback<Done> done);
  void promote(std::uint64_t id, Deadline by, Callback<Done> done);

  void compact(std::int64_t revision, Deadline by, Callback<Done> done);
  void defragment(Deadline by, Callback<Done> done);
  /// Ends the NOSPACE alarm of a member.
  void disarm(std::uint64_t id, Deadline by, Callback<Done> done);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::engine
