#include "api/lock.h"

#include <algorithm>
#include <utility>

#include "api/stop_bell.h"
#include "base/text.h"
#include "platform/host.h"
#include "platform/system_clock.h"

namespace muster::api {
namespace {

/// A wait that is at least this long has no end.
constexpr Duration kNoEnd = std::chrono::hours(24 * 365);
constexpr std::uint32_t kReadersUsual = 8;

LockShape shape_of(const pub::LockOptions& options) {
  const std::uint32_t usual = options.shared ? kReadersUsual : 1;
  const std::uint32_t permits = options.permits == 0 ? usual : options.permits;
  if (options.shared) return {LockKind::kReadWrite, permits};
  return {permits == 1 ? LockKind::kMutex : LockKind::kSemaphore, permits};
}

}  // namespace

LockCore::LockCore(std::shared_ptr<Connection> connection, pub::LockOptions options)
    : connection_(std::move(connection)),
      options_(std::make_shared<const pub::LockOptions>(std::move(options))) {}

pub::Result<LockCore::Core> LockCore::acquire(const pub::Arbiter& arbiter, const std::string& name,
                                              pub::LockOptions options) {
  const std::shared_ptr<Connection>& connection = Connection::of(arbiter);
  if (connection->in_callback()) return waits_for_callbacks("acquire()");
  LockTaker::Options taker;
  taker.name = name;
  taker.shape = shape_of(options);
  taker.writes = options.shared && !*options.shared;
  taker.ttl = options.ttl;
  taker.once = options.wait <= Duration(0);
  if (Status good = LockTaker::validate(taker); !good) return to_public(good.error());
  const Core core(new LockCore(connection, std::move(options)));
  core->open(std::move(taker));
  if (auto error = core->wait(name)) return std::move(*error);
  return core;
}

void LockCore::open(LockTaker::Options taker) {
  taker.host = host_name();
  connection_->thread().run([&] {
    Random random = system_random();
    // The process, and which of its attempts: for people who look at the store.
    taker.holder = WorkerId(default_worker_id().substr(0, 100) + "-" + random.uuid().substr(0, 8));
    if (!taker.once && options_->wait < kNoEnd) {
      taker.give_up_at = connection_->loop().now() + options_->wait;
    }
    const Duration per_call = LeaseTimings::for_lease(taker.ttl, taker.ttl / 5).request_timeout;
    LockTaker::Hooks hooks;
    hooks.on_held = [this](std::shared_ptr<const LeaseGuard> guard) {
      const std::lock_guard lock(mutex_);
      guard_ = std::move(guard);
      changed_.notify_all();
    };
    hooks.on_lost = [this](const Error& why) {
      if (!options_->on_lost) return;
      connection_->call_back(
          [options = options_, error = to_public(why)] { options->on_lost(error); });
    };
    hooks.on_end = [this](const std::optional<Status>& how) { ended(how, taker_->trouble()); };
    taker_ = std::make_unique<LockTaker>(
        std::move(taker),
        LockTaker::Deps{connection_->loop(), connection_->store(), random,
                        [this, per_call](Callback<Done> done) {
                          connection_->probe(per_call, std::move(done));
                        },
                        &connection_->lock_memory()},
        std::move(hooks));
    taker_->start();
  });
}

std::optional<pub::Error> LockCore::wait(const std::string& name) {
  {
    const StopBell bell(*connection_, options_->stop, [this] {
      if (taker_) taker_->release();
    });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return guard_ || ended_; });
    if (guard_ && !ended_ && !options_->stop.stop_requested()) return {};
  }
  wait_for_end();
  const std::lock_guard lock(mutex_);
  if (options_->stop.stop_requested()) {
    return pub::Error{pub::Code::kCancelled, "no longer waiting for the lock " + name};
  }
  if (how_ && !how_->ok()) return how_->error();
  return pub::Error{pub::Code::kTimeout, "the lock " + name + " is held by others" +
                                             (trouble_.empty() ? "" : ", or: " + trouble_)};
}

// Called in the taker, which ends after it has returned.
void LockCore::ended(const std::optional<Status>& how, const std::string& trouble) {
  connection_->loop().post([this, how, trouble] {
    taker_.reset();
    // Once the mutex is free, a waiting thread may destroy this.
    Core self;
    const std::lock_guard lock(mutex_);
    if (how) how_ = to_public(*how);
    trouble_ = trouble;
    ended_ = true;
    self.swap(self_);
    changed_.notify_all();
  });
}

Duration LockCore::left() const {
  if (!held()) return Duration(0);
  return std::max(Duration(0), guard_->deadline() - connection_->loop().now());
}

void LockCore::release() {
  connection_->loop().post([self = shared_from_this()] {
    if (self->taker_) self->taker_->release();
  });
}

void LockCore::wait_for_end() {
  release();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ended_; });
}

pub::Status LockCore::unlock() {
  if (connection_->in_callback()) return waits_for_callbacks("unlock()");
  wait_for_end();
  connection_->wait_for_callbacks();
  const std::lock_guard lock(mutex_);
  if (std::exchange(unlocked_, true) || !how_) return pub::Done{};
  return *how_;
}

void LockCore::end() {
  if (!connection_->in_callback()) {
    [[maybe_unused]] const pub::Status unlocked = unlock();
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    self_ = shared_from_this();
  }
  release();
}

}  // namespace muster::api

MUSTER_BEGIN_NAMESPACE

using api::LockCore;

Lock::Lock(std::shared_ptr<LockCore> core) : core_(std::move(core)) {}
Lock::Lock(Lock&&) noexcept = default;
Lock& Lock::operator=(Lock&& other) noexcept {
  if (this == &other) return *this;
  if (core_) core_->end();
  core_ = std::move(other.core_);
  return *this;
}
Lock::~Lock() {
  if (core_) core_->end();
}

Result<Lock> Lock::acquire(const Arbiter& arbiter, const std::string& name, LockOptions options) {
  auto core = LockCore::acquire(arbiter, name, std::move(options));
  if (!core) return core.error();
  return Lock(std::move(*core));
}

bool Lock::held() const {
  return core_ && core_->held();
}
Duration Lock::left() const {
  return core_ ? core_->left() : Duration(0);
}
Token Lock::token() const {
  return core_ ? core_->token() : 0;
}
// A handle that was moved from holds nothing.
Status Lock::unlock() {
  return core_ ? core_->unlock() : Status(Done{});
}

MUSTER_END_NAMESPACE
