#include "server/cluster/log_mover.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "core/log/manifest.h"
#include "log/keys.h"
#include "store/probe.h"
#include "store/url.h"

namespace muster::server {
namespace {

constexpr Duration kRetryWait = 1s;
/// Between two looks whether another server's copy is complete.
constexpr Duration kTargetLookInterval = 200ms;

/// The target is written into the log and told to people, so it must not hold a secret; and it must
/// mean the same wherever a server reads it.
Status check_target(const std::string& target) {
  if (target == "managed") {
    return {Errc::kInvalid,
            "a managed engine has no address and cannot be a target; docs/operating.md says how "
            "to restore a backup into one"};
  }
  const auto url = Url::parse(target);
  if (!url) return url.error();
  if (!url->password.empty()) {
    return {Errc::kInvalid,
            "the address of the new engine is kept in the log and must not hold a password"};
  }
  if (url->scheme != "file" && url->scheme != "etcd" && url->scheme != "s3") {
    return {Errc::kInvalid, target + " is not an engine; write file:///dir, etcd://… or s3://…"};
  }
  return Done{};
}

}  // namespace

Error moved_to(const std::string& target) {
  return {Errc::kConflict,
          "the log has moved to " + target + "; start this server with --engine " + target};
}

namespace {

/// A directory in which anything else lives is no place for a log.
Status check_directory(const std::string& target) {
  static constexpr std::array<std::string_view, 4> kOwn{"lock", "journal", "objects", "new"};
  const auto url = Url::parse(target);
  if (!url || url->scheme != "file") return Done{};
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(url->path, absent)) {
    const std::string name = entry.path().filename();
    if (std::find(kOwn.begin(), kOwn.end(), name) == kOwn.end()) {
      return {Errc::kConflict, target + " is not empty: " + name + " exists. Choose another one"};
    }
  }
  return Done{};
}

}  // namespace

std::string moving_to(const std::string& target) {
  return "the log is moving to " + target +
         "; this server ends by itself when the copy is "
         "complete";
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
  if (Status empty = check_directory(target); !empty) return done(empty.error());
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
  expect_empty([this, prepare] {
    probe_store(*target_, surroundings_.loop, surroundings_.random, surroundings_.request_timeout,
                lifetime_.wrap(prepare));
  });
}

void LogMover::expect_empty(std::function<void()> then) {
  target_->list("", "", surroundings_.loop.now() + surroundings_.request_timeout,
                lifetime_.wrap([this, then = std::move(then)](const Result<ListPage>& page) {
                  if (!page) return end(page.error());
                  if (page->objects.empty()) return then();
                  end(Error{Errc::kConflict, target_->describe() + " is not empty: it holds " +
                                                 page->objects.front().key +
                                                 ". Empty it first, or choose another one"});
                }));
}

// A server that reaches another place under this address, such as a directory of its own machine,
// could neither go on there nor finish the copy.
void LogMover::prepared(const rlog::Seal& seal) {
  surroundings_.seen_by_others(seal, lifetime_.wrap([this, seal](const Status& seen) {
    if (seen) return this->seal(seal);
    end(Error{seen.code(), seen.error().message +
                               ". Nothing has changed here. Before the next attempt empty " +
                               seal.target});
  }));
}

void LogMover::sees_mark(const rlog::Seal& seal, Callback<Done> done) {
  auto opened = surroundings_.open_engine(seal.target);
  if (!opened) return done(opened.error());
  const std::shared_ptr<ObjectStore> store = std::move(*opened);
  store->get(
      rlog::Keys{rlog::kServerLog}.manifest(), {},
      surroundings_.loop.now() + surroundings_.request_timeout,
      lifetime_.wrap([this, store, seal, done = std::move(done)](const Result<Object>& found) {
        // Not from within the store: it goes with what it calls.
        surroundings_.loop.post([store] {});
        if (!found) return done(found.error());
        const auto there = rlog::decode_manifest(found->body);
        if (there && there->pending == seal.move_id) return done(Done{});
        done({Errc::kConflict, "another log is there"});
      }));
}

void LogMover::seal(const rlog::Seal& seal) {
  sealing_ = copying_ = true;
  surroundings_.replica.seal(seal, lifetime_.wrap([this, seal](const Result<rlog::Index>& sealed) {
    if (!sealed) {
      sealing_ = copying_ = false;
      const char* what_now = sealed.is(Errc::kAmbiguous)
                                 ? ": it may have been decided. Start the servers again: if "
                                   "they do not say so, empty "
                                 : ": nothing has changed here. Before the next attempt empty ";
      return end(Error{sealed.code(), sealed.error().message + what_now + seal.target});
    }
    log_info("log sealed", {{"target", seal.target},
                            {"move", seal.move_id},
                            {"index", std::to_string(sealed->value())}});
    copy(seal, [this, index = *sealed](const Status& copied) {
      if (!copied) return end(copied.error());
      end(index);
    });
  }));
}

// There is no way back after the seal, so whatever may pass is waited for. Another server may have
// been faster, and may have left with the engine that this one copies from: so the target is looked
// at before each attempt.
void LogMover::copy(const rlog::Seal& seal, Callback<Done> done) {
  copying_ = true;
  move_->finish(lifetime_.wrap([this, seal, done = std::move(done)](const Status& finished) {
    if (!finished.is(Errc::kUnavailable)) return done(finished);
    copying_ = false;
    log_warn("move not finished yet", {{"error", finished.error().message}});
    retry_.arm(kRetryWait, [this, seal, done] { look(seal, done); });
  }));
}

void LogMover::end(Result<rlog::Index> result) {
  if (!result) log_warn("move ended", {{"error", result.error().message}});
  // Posted: what is told may end this server, and with it this.
  surroundings_.loop.post(
      [done = std::exchange(done_, nullptr), result = std::move(result)] { done(result); });
}

void LogMover::finish(const rlog::Seal& seal, Callback<Done> done) {
  sealing_ = true;
  look(seal, std::move(done));
}

// A target that the first server prepared bears the mark of the move. One without it is another
// place under the same address, such as a directory of another machine: never begun anew.
void LogMover::look(const rlog::Seal& seal, Callback<Done> done) {
  if (!move_) {
    if (Status opened = open(seal.target, seal.move_id); !opened) {
      return cannot_see(seal, opened.error(), std::move(done));
    }
  }
  const std::string manifest = rlog::Keys{rlog::kServerLog}.manifest();
  target_->get(
      manifest, {}, surroundings_.loop.now() + surroundings_.request_timeout,
      lifetime_.wrap([this, seal, done = std::move(done)](const Result<Object>& found) {
        if (found.is(Errc::kNotFound)) {
          return cannot_see(seal,
                            {Errc::kConflict, "the log was sealed to move to " + seal.target +
                                                  ", but from this machine that place has no log; "
                                                  "check from the machine where the move began"},
                            done);
        }
        if (!found) {
          log_warn("move not finished yet", {{"error", found.error().message}});
          return look_later(seal, done);
        }
        const auto there = rlog::decode_manifest(found->body);
        if (there) {
          const auto& moves = there->opened_by;
          const bool open = std::find(moves.begin(), moves.end(), seal.move_id) != moves.end();
          if (open) return done(Done{});
        }
        surroundings_.ask_others(lifetime_.wrap([this, seal, done](bool copying) {
          if (copying) return look_later(seal, done);
          log_info("finishing the move", {{"target", seal.target}, {"move", seal.move_id}});
          copy(seal, done);
        }));
      }));
}

void LogMover::look_later(const rlog::Seal& seal, Callback<Done> done) {
  retry_.arm(kTargetLookInterval, [this, seal, done = std::move(done)] { look(seal, done); });
}

// Others may see it, and need this server to read what they copy.
void LogMover::cannot_see(const rlog::Seal& seal, const Error& why, Callback<Done> done) {
  log_warn("move not finished yet", {{"error", why.message}});
  if (surroundings_.engine_needs_servers) return look_later(seal, std::move(done));
  surroundings_.ask_others(lifetime_.wrap([this, seal, why, done = std::move(done)](bool copying) {
    if (!copying) return done(why);
    look_later(seal, done);
  }));
}

}  // namespace muster::server
