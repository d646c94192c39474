#include "server/api/lock_service.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "server/rpc/message.h"
#include "server/web/observer.h"

namespace muster::server {
namespace {

/// That hold locks or wait, at one server.
constexpr std::size_t kLockSessionsMax = 10'000;
constexpr std::size_t kLockSessionsOfOneMax = 2'000;
/// How soon a server that does not lead any more sends those that wait away.
constexpr Duration kTermLookInterval = 250ms;

rpc::RpcStatus led_elsewhere() {
  return {rpc::Code::kUnavailable, "leadership has changed; send the request again", {}};
}

rpc::RpcStatus lock_not_held(const std::string& name) {
  return {rpc::Code::kNotFound, "the session does not hold the lock \"" + name + "\"", {}};
}

/// As LockWish has it.
std::string prefix_of(const std::string& prefix) {
  return prefix.empty() ? prefix : prefix + "/";
}

}  // namespace

LockService::LockService(Cluster& cluster, std::function<Random()> random)
    : cluster_(cluster), random_(std::move(random)), term_timer_(cluster.loop()) {}

LockService::~LockService() = default;

void LockService::add_to(rpc::Router& router) {
  const std::string service = "/muster.v1.LockService/";
  router.add(service + "Acquire", [this](const rpc::CallPtr& call) {
    rpc::read_request<v1::LockAcquireRequest>(
        call, [this](const auto& c, const auto& request, const std::string& bytes) {
          const auto wish = LockWish::from(request);
          if (!wish) return c->finish(rpc::to_status(wish.error()));
          if (!cluster_.access().charge(c, LimitedCall::kWrite, wish->name)) return;
          const Duration wait = std::chrono::milliseconds(request.wait_ms());
          cluster_.at_leader(c, bytes, [this, c, wish = *wish, wait] { Acquire(c, wish, wait); });
        });
  });
  router.add(service + "Renew", [this](const rpc::CallPtr& call) {
    rpc::read_request<v1::LockRenewRequest>(
        call, [this](const auto& c, const auto& request, const std::string& bytes) {
          if (!cluster_.access().charge(c, LimitedCall::kWrite, request.name())) return;
          cluster_.at_leader(c, bytes, [this, c, request] { Renew(c, request); });
        });
  });
  router.add(service + "Release", [this](const rpc::CallPtr& call) {
    rpc::read_request<v1::LockReleaseRequest>(
        call, [this](const auto& c, const auto& request, const std::string& bytes) {
          if (!cluster_.access().charge(c, LimitedCall::kWrite, request.name())) return;
          cluster_.at_leader(c, bytes, [this, c, request] { Release(c, request); });
        });
  });
  router.add(service + "GetLock", [this](const rpc::CallPtr& call) {
    rpc::read_request<v1::GetLockRequest>(
        call, [this](const auto& c, const auto& request, const std::string& bytes) {
          if (!cluster_.access().charge(c, LimitedCall::kRead, request.name())) return;
          cluster_.at_leader(c, bytes, [this, c, request] { GetLock(c, request); });
        });
  });
}

void LockService::close() {
  drop_all({rpc::Code::kUnavailable, "this server is stopping; ask another one", {}});
}

std::size_t LockService::holding() const {
  std::size_t count = 0;
  for (const auto& [key, room] : rooms_) {
    count += static_cast<std::size_t>(
        std::count_if(room->seats.begin(), room->seats.end(),
                      [](const auto& each) { return each.second.seat->holds(); }));
  }
  return count;
}

std::size_t LockService::waiting() const {
  std::size_t count = 0;
  for (const auto& [key, room] : rooms_) count += room->queue.size();
  return count;
}

// The term.

void LockService::follow_term() {
  if (cluster_.term().active() && cluster_.term().epoch() == term_) return;
  drop_all(led_elsewhere());
  term_ = cluster_.term().epoch();
}

void LockService::watch_term() {
  term_timer_.arm(kTermLookInterval, [this] {
    follow_term();
    if (!rooms_.empty()) watch_term();
  });
}

void LockService::drop_all(const rpc::RpcStatus& status) {
  const auto rooms = std::exchange(rooms_, {});
  sessions_.clear();
  all_sessions_ = 0;
  for (const auto& [key, room] : rooms) {
    for (const auto& [session, seated] : room->seats) {
      seated.seat->drop(status);
      if (seated.next) seated.next->finish(status);
    }
  }
}

// The sessions.

LockService::Seated* LockService::find(const std::string& key, const std::string& session) {
  const auto room = rooms_.find(key);
  if (room == rooms_.end()) return nullptr;
  const auto seated = room->second->seats.find(session);
  return seated == room->second->seats.end() ? nullptr : &seated->second;
}

LockSeat* LockService::seat(const rpc::CallPtr& call, const LockWish& wish) {
  const std::string identity = Cluster::asked_by(call);
  const auto of_one = sessions_.find(identity);
  const bool too_many = of_one != sessions_.end() && of_one->second >= kLockSessionsOfOneMax;
  if (too_many || all_sessions_ >= kLockSessionsMax) {
    call->finish({rpc::Code::kResourceExhausted,
                  too_many ? identity + " has as many sessions of locks as it may have"
                           : "the servers hold and wait for as many locks as they can",
                  {}});
    return nullptr;
  }
  ++sessions_[identity];
  ++all_sessions_;
  const std::string key = wish.key();
  const std::string session = wish.session.value();
  auto& room = rooms_[key];
  if (!room) room = std::make_unique<Room>(cluster_.loop());
  const std::uint64_t number = ++seated_;
  // A later seat of the session must not hear of this one.
  const auto only = [this, key, session, number](auto then) {
    return lifetime_.wrap([this, key, session, number, then](auto... what) {
      const Seated* now = find(key, session);
      if (now != nullptr && now->number == number) then(what...);
    });
  };
  LockSeat::Deps deps{cluster_,
                      memory_,
                      random_(),
                      [this, key, session] {
                        const auto here = rooms_.find(key);
                        return here == rooms_.end() ? 0 : here->second->queue.place(session);
                      },
                      only([this, key, session](bool for_good) { absent(key, session, for_good); }),
                      only([this, key, session](bool resumed) { held(key, session, resumed); }),
                      only([this, key, session](bool asks) { ended(key, session, asks); })};
  Seated& seated = room->seats[session];
  seated.number = number;
  seated.identity = identity;
  seated.seat = std::make_unique<LockSeat>(wish, std::move(deps));
  if (!term_timer_.armed()) watch_term();
  return seated.seat.get();
}

void LockService::Acquire(const rpc::CallPtr& call, const LockWish& wish, Duration wait) {
  follow_term();
  if (call->over()) return;
  const std::string key = wish.key();
  const std::string session = wish.session.value();
  Seated* seated = find(key, session);
  if (seated == nullptr) {
    LockSeat* made = seat(call, wish);
    if (made == nullptr) return;
    made->acquire(call, wait);
    // The session may hold the lock: its answer was lost, or came from another leader.
    return cluster_.barrier(
        lifetime_.wrap([this, key, session, number = find(key, session)->number](const Status& s) {
          Seated* now = find(key, session);
          if (now == nullptr || now->number != number) return;
          if (!s) return now->seat->leave(rpc::to_status(s.error()));
          look(key, session);
        }));
  }
  if (!(seated->seat->wish() == wish)) {
    return call->finish({rpc::Code::kInvalidArgument,
                         "session has asked for the lock \"" + wish.name +
                             "\" with other options before; take another session",
                         {}});
  }
  if (seated->seat->ending()) {
    if (seated->next) {
      seated->next->finish({rpc::Code::kAborted, "the session has asked again", {}});
    }
    seated->next = call;
    seated->next_wait = wait;
    return;
  }
  Room& room = *rooms_.at(key);
  seated->seat->acquire(call, wait);
  if (room.queue.place(session) == 0) return;
  [[maybe_unused]] const bool there = room.queue.join(session);
  arm(key, room);
}

void LockService::look(const std::string& key, const std::string& session) {
  LockSeat& seat = *find(key, session)->seat;
  if (!seat.idle()) return;
  const LockWish& wish = seat.wish();
  const LockView view =
      view_lock(cluster_.state().kv(), cluster_.replica().log_now(), wish.prefix, wish.name);
  const LockView::Holder* holder = view.of(wish.session);
  const bool holds = holder != nullptr && view.shape == wish.shape &&
                     holder->writes() == wish.writes && holder->enough(wish.shape);
  if (!holds) return enqueue(*rooms_.at(key), session);
  auto permits = holder->permits;
  if (!wish.writes) permits.resize(1);
  seat.resume(std::move(permits));
}

void LockService::enqueue(Room& room, const std::string& session) {
  LockSeat& seat = *room.seats.at(session).seat;
  const std::string& name = seat.wish().name;
  if (!seat.asks()) return seat.leave({});
  if (seat.once() && room.queue.size() > 0) {
    return seat.leave({rpc::Code::kAborted, "others wait for the lock \"" + name + "\"", {}});
  }
  if (!room.queue.join(session)) {
    return seat.leave({rpc::Code::kResourceExhausted,
                       "as many sessions wait for the lock \"" + name + "\" as may",
                       {}});
  }
  promote(room);
}

// Only the head competes.
void LockService::promote(Room& room) {
  const std::string* head = room.queue.head();
  if (head == nullptr) return;
  LockSeat& seat = *room.seats.at(*head).seat;
  if (seat.idle()) seat.compete();
}

void LockService::held(const std::string& key, const std::string& session, bool resumed) {
  Metrics& metrics = cluster_.observer().metrics();
  (resumed ? metrics.locks_resumed : metrics.locks_taken).add();
  Room& room = *rooms_.at(key);
  room.queue.leave(session);
  promote(room);
  arm(key, room);
}

void LockService::absent(const std::string& key, const std::string& session, bool for_good) {
  Room& room = *rooms_.at(key);
  Seated& seated = room.seats.at(session);
  if (seated.seat->asks()) return;  // It has asked again.
  if (for_good) {
    room.queue.leave(session);
    promote(room);
  } else if (room.queue.place(session) > 0) {
    room.queue.absent(session, cluster_.loop().now());
  }
  arm(key, room);
}

void LockService::arm(const std::string& key, Room& room) {
  const MonoTime due = room.queue.wake_at();
  if (due == MonoTime::max()) return room.expiry.cancel();
  room.expiry.arm(due, [this, key] { expire(key); });
}

void LockService::expire(const std::string& key) {
  Room& room = *rooms_.at(key);
  for (const std::string& session : room.queue.expire(cluster_.loop().now())) {
    room.seats.at(session).seat->leave({});
  }
  promote(room);
  arm(key, room);
}

void LockService::ended(const std::string& key, const std::string& session, bool asks) {
  Room& room = *rooms_.at(key);
  if (asks) return enqueue(room, session);
  room.queue.leave(session);
  Seated seated = std::move(room.seats.at(session));
  room.seats.erase(session);
  --all_sessions_;
  if (--sessions_[seated.identity] == 0) sessions_.erase(seated.identity);
  promote(room);
  arm(key, room);
  if (room.seats.empty()) rooms_.erase(key);
  const LockWish wish = seated.seat->wish();
  // The seat is at work: it goes when it has returned.
  const std::shared_ptr<LockSeat> gone = std::move(seated.seat);
  cluster_.loop().post([gone] {});
  if (seated.next) Acquire(seated.next, wish, seated.next_wait);
}

void LockService::Renew(const rpc::CallPtr& call, const v1::LockRenewRequest& request) {
  follow_term();
  const auto handle = decode_lock_handle(request.handle());
  if (!handle) return call->finish(rpc::to_status(handle.error()));
  const auto wish = LockWish::from(request.name(), request.session(), request.prefix(), *handle);
  if (!wish) return call->finish(rpc::to_status(wish.error()));
  Seated* seated = find(wish->key(), request.session());
  if (seated != nullptr && seated->seat->ending()) {
    return call->finish({rpc::Code::kUnavailable, "the session's lock is about to end here", {}});
  }
  if (seated != nullptr) {
    if (seated->seat->permits() != handle->permits) {
      return call->finish(lock_not_held(request.name()));
    }
    return seated->seat->renew(call);
  }
  LockSeat* made = seat(call, *wish);
  if (made == nullptr) return;
  made->renew(call);
  made->resume(handle->permits);
}

void LockService::Release(const rpc::CallPtr& call, const v1::LockReleaseRequest& request) {
  follow_term();
  LockHandle handle{{LockKind::kMutex, 1}, false, 6s, {}, "session"};
  if (!request.handle().empty()) {
    const auto given = decode_lock_handle(request.handle());
    if (!given) return call->finish(rpc::to_status(given.error()));
    handle = *given;
  }
  const auto wish = LockWish::from(request.name(), request.session(), request.prefix(), handle);
  if (!wish) return call->finish(rpc::to_status(wish.error()));
  Seated* seated = find(wish->key(), request.session());
  if (seated != nullptr) {
    const bool meant = request.handle().empty() || seated->seat->ending() ||
                       seated->seat->permits() == handle.permits;
    return meant ? seated->seat->release(call) : call->finish(lock_not_held(request.name()));
  }
  if (request.handle().empty()) return release_by_view(call, request);
  LockSeat* made = seat(call, *wish);
  if (made == nullptr) return;
  made->release_after(call);
  made->resume(handle.permits);
}

// The client does not know what the session holds: the servers do.
void LockService::release_by_view(const rpc::CallPtr& call, const v1::LockReleaseRequest& request) {
  cluster_.read(call, true, [this, call, request] {
    const LockView view = view_lock(cluster_.state().kv(), cluster_.replica().log_now(),
                                    prefix_of(request.prefix()), request.name());
    const LockView::Holder* holder = view.of(Incarnation(request.session()));
    if (holder == nullptr || !view.shape || !holder->enough(*view.shape)) {
      return call->finish(lock_not_held(request.name()));
    }
    v1::LockReleaseRequest exact = request;
    exact.set_handle(encode(holder->handle(*view.shape)));
    Release(call, exact);
  });
}

void LockService::GetLock(const rpc::CallPtr& call, const v1::GetLockRequest& request) {
  follow_term();
  if (Status s = validate_name("name", request.name()); !s) {
    return call->finish(rpc::to_status(s.error()));
  }
  cluster_.read(call, true, [this, call, request] {
    const std::string prefix = prefix_of(request.prefix());
    const LockView view =
        view_lock(cluster_.state().kv(), cluster_.replica().log_now(), prefix, request.name());
    if (!view.shape) {
      return call->finish(
          {rpc::Code::kNotFound, "nobody has ever taken the lock \"" + request.name() + "\"", {}});
    }
    v1::GetLockResponse response;
    to_proto(view, response);
    if (const auto room = rooms_.find(prefix + request.name()); room != rooms_.end()) {
      for (const std::string& session : room->second->queue.sessions()) {
        response.add_waiters(room->second->seats.at(session).seat->wish().holder.value());
      }
    }
    rpc::reply(call, response);
  });
}

}  // namespace muster::server
