#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/lock/lock_queue.h"
#include "muster/v1/lock.pb.h"
#include "server/api/cluster.h"
#include "server/api/lock_seat.h"
#include "server/rpc/router.h"

namespace muster::server {

/// muster.v1.LockService: takes locks for clients, at the leading server, in the order in which
/// they came. What is held is in the servers' store, so that a next leader goes on with it; the
/// order is in memory, and ends with the term. Loop thread only.
class LockService {
 public:
  /// `random`: for each session its own.
  LockService(Cluster& cluster, std::function<Random()> random);
  ~LockService();

  void add_to(rpc::Router& router);
  /// Ends all calls, so that their clients go on elsewhere at once.
  void close();

  /// The sessions that hold a lock, and those that wait for one.
  [[nodiscard]] std::size_t holding() const;
  [[nodiscard]] std::size_t waiting() const;

 private:
  struct Seated {
    std::uint64_t number = 0;  ///< Tells it from a later one of the same session.
    std::string identity;      ///< Of the client, for the bounds.
    std::unique_ptr<LockSeat> seat;
    /// Sent while the session gave back what it had.
    rpc::CallPtr next{};
    Duration next_wait{0};
  };
  /// One lock.
  struct Room {
    explicit Room(Loop& loop) : expiry(loop) {}
    LockQueue queue{LockQueue::Options{}};
    std::map<std::string, Seated> seats;  ///< By session.
    Timer expiry;                         ///< Of places whose sessions do not ask.
  };

  void Acquire(const rpc::CallPtr& call, const LockWish& wish, Duration wait);
  void Renew(const rpc::CallPtr& call, const v1::LockRenewRequest& request);
  void Release(const rpc::CallPtr& call, const v1::LockReleaseRequest& request);
  void GetLock(const rpc::CallPtr& call, const v1::GetLockRequest& request);

  void release_by_view(const rpc::CallPtr& call, const v1::LockReleaseRequest& request);
  void look(const std::string& key, const std::string& session);
  void enqueue(Room& room, const std::string& session);
  void promote(Room& room);
  void expire(const std::string& key);
  void arm(const std::string& key, Room& room);
  void held(const std::string& key, const std::string& session, bool resumed);
  void absent(const std::string& key, const std::string& session, bool for_good);
  void ended(const std::string& key, const std::string& session, bool asks);

  /// The seat of a new session; ends the call and returns null if there are too many.
  LockSeat* seat(const rpc::CallPtr& call, const LockWish& wish);
  [[nodiscard]] Seated* find(const std::string& key, const std::string& session);
  /// What another term of this server had is void.
  void follow_term();
  void watch_term();
  void drop_all(const rpc::RpcStatus& status);

  Cluster& cluster_;
  std::function<Random()> random_;
  /// Of all prefixes: a revision names one write of the whole store, so no lock is taken for
  /// another.
  LockMemory memory_;
  Epoch term_;
  std::uint64_t seated_ = 0;
  std::map<std::string, std::unique_ptr<Room>> rooms_;  ///< By LockWish::key().
  std::map<std::string, std::size_t> sessions_;         ///< By identity.
  std::size_t all_sessions_ = 0;
  Timer term_timer_;
  Lifetime lifetime_;
};

}  // namespace muster::server
