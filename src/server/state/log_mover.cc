#include "server/state/log_mover.h"

#include <utility>

#include "base/log.h"
#include "log/keys.h"
#include "store/probe.h"
#include "store/url.h"

namespace muster::server {
namespace {

constexpr Duration kRetryWait = 1s;

/// The target is written into the log and told to people, so it must not hold a secret; and it must
/// mean the same wherever a server reads it.
Status check_target(const std::string& target) {
  if (target == "managed") {
    return {Errc::kInvalid,
            "a managed engine has no address to move to; docs/operating.md says how a backup is "
            "restored into one"};
  }
  const auto url = Url::parse(target);
  if (!url) return url.error();
  if (!url->password.empty()) {
    return {Errc::kInvalid,
            "the address of the new engine is kept in the log and must not hold a password"};
  }
  if (url->scheme != "file" && url->scheme != "etcd" && url->scheme != "s3") {
    return {Errc::kInvalid, target + " is no engine: file:///dir, etcd://… or s3://…"};
  }
  return Done{};
}

}  // namespace

Error moved_to(const std::string& target) {
  return {Errc::kConflict,
          "the log has moved to " + target + "; start this server with --engine " + target};
}

LogMover::LogMover(Surroundings surroundings)
    : surroundings_(std::move(surroundings)), retry_(surroundings_.loop) {}

LogMover::~LogMover() = default;

Status LogMover::open(const std::string& target, const std::string& id) {
  auto store = surroundings_.open_engine(target);
  if (!store) return store.error();
  move_.reset();
  target_ = std::move(*store);
  move_ = std::make_unique<rlog::Move>(
      surroundings_.loop, Random(surroundings_.random.next()),
      rlog::Place{surroundings_.store, rlog::kServerLog, surroundings_.request_timeout},
      rlog::Place{*target_, rlog::kServerLog, surroundings_.request_timeout}, id);
  return Done{};
}

void LogMover::start(const std::string& target, Callback<rlog::Index> done) {
  if (Status valid = check_target(target); !valid) return done(valid.error());
  if (done_ || sealing_) return done({Errc::kUnavailable, "a move is under way"});
  const rlog::Seal seal{surroundings_.random.uuid(), target};
  if (Status opened = open(target, seal.move_id); !opened) return done(opened.error());
  done_ = std::move(done);
  log_info("move begun", {{"target", target}, {"move", seal.move_id}});
  const auto prepare = [this, seal](const Status& safe) {
    if (!safe) {
      return end(Error{safe.code(), seal.target + ": " + safe.error().message});
    }
    move_->prepare(lifetime_.wrap([this, seal](const Status& marked) {
      if (!marked) return end(marked.error());
      prepared(seal);
    }));
  };
  probe_store(*target_, surroundings_.loop, surroundings_.random, surroundings_.request_timeout,
              lifetime_.wrap(prepare));
}

void LogMover::prepared(const rlog::Seal& seal) {
  sealing_ = true;
  surroundings_.replica.seal(seal, lifetime_.wrap([this, seal](const Result<rlog::Index>& sealed) {
    if (!sealed) {
      sealing_ = false;
      const char* what_now = sealed.is(Errc::kAmbiguous)
                                 ? ": it may have been decided. Start the servers again: if "
                                   "they do not say so, empty "
                                 : ": nothing has changed here. Before the next attempt empty ";
      return end(Error{sealed.code(), sealed.error().message + what_now + seal.target});
    }
    log_info("log sealed", {{"target", seal.target},
                            {"move", seal.move_id},
                            {"index", std::to_string(sealed->value())}});
    copy([this, index = *sealed](const Status& copied) {
      if (!copied) return end(copied.error());
      end(index);
    });
  }));
}

// There is no way back after the seal, so whatever may pass is waited for.
void LogMover::copy(Callback<Done> done) {
  move_->finish(lifetime_.wrap([this, done = std::move(done)](const Status& finished) {
    if (!finished.is(Errc::kUnavailable)) return done(finished);
    log_warn("move not finished yet", {{"error", finished.error().message}});
    retry_.arm(kRetryWait, [this, done] { copy(done); });
  }));
}

void LogMover::end(Result<rlog::Index> result) {
  if (!result) log_warn("move ended", {{"error", result.error().message}});
  // Posted: what is told may end this server, and with it this.
  surroundings_.loop.post(
      [done = std::exchange(done_, nullptr), result = std::move(result)] { done(result); });
}

// A target that the first server prepared bears the mark of the move. One without it is another
// place under the same address, such as a directory of another machine: never begun anew.
void LogMover::finish(const rlog::Seal& seal, Callback<Done> done) {
  sealing_ = true;
  if (Status opened = open(seal.target, seal.move_id); !opened) return done(opened);
  const std::string manifest = rlog::Keys{rlog::kServerLog}.manifest();
  target_->get(
      manifest, {}, surroundings_.loop.now() + surroundings_.request_timeout,
      lifetime_.wrap([this, seal, done = std::move(done)](const Result<Object>& found) {
        if (found) return copy(done);
        if (found.is(Errc::kNotFound)) {
          return done({Errc::kConflict,
                       "the log was sealed to move to " + seal.target +
                           ", but seen from here that place has no log; look from where the move "
                           "was begun"});
        }
        log_warn("move not finished yet", {{"error", found.error().message}});
        retry_.arm(kRetryWait, [this, seal, done] { finish(seal, done); });
      }));
}

}  // namespace muster::server
