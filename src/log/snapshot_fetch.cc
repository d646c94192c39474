#include "log/snapshot_fetch.h"

#include <utility>

namespace muster::rlog {
namespace {

constexpr std::size_t kAhead = 4;
constexpr int kFetchTries = 5;

}  // namespace

void SnapshotFetch::start(Callback<SnapshotHead> done) {
  done_ = std::move(done);
  read(Keys::head(set_), kFetchTries, [this](std::string body) { begin(std::move(body)); });
}

void SnapshotFetch::read(const std::string& key, int tries, std::function<void(std::string)> then) {
  context_.get(
      key, {}, lifetime_.wrap([this, key, tries, then = std::move(then)](Result<Object> object) {
        if (!done_) return;
        if (object) return then(std::move(object->body));
        if (object.is(Errc::kNotFound)) return end(Error{Errc::kNotFound, key + " is gone"});
        if (!is_passing(object.code())) return end(named(key, object.error()));
        if (tries == 1) return end(Error{Errc::kUnavailable, object.error().message});
        context_.loop.at(context_.loop.now() + context_.options.retry_wait,
                         lifetime_.wrap([this, key, tries, then] { read(key, tries - 1, then); }));
      }));
}

void SnapshotFetch::begin(std::string body) {
  const std::string key = Keys::head(set_);
  if (sha256(body) != ref_.head) {
    return end(Error{Errc::kCorrupt, key + ": its bytes do not match the manifest"});
  }
  Result<SnapshotHead> head = decode_snapshot_head(body);
  if (!head) return end(named(key, head.error()));
  head_ = std::move(*head);
  if (head_.position != ref_.position) {
    return end(Error{Errc::kCorrupt, key + ": it belongs to another snapshot"});
  }
  ask_ahead();
  give();
}

void SnapshotFetch::ask_ahead() {
  while (next_to_ask_ < head_.parts.size() && next_to_ask_ < next_to_give_ + kAhead) {
    const std::size_t number = next_to_ask_++;
    read(Keys::part(set_, number), kFetchTries, [this, number](std::string body) {
      arrived_.emplace(number, std::move(body));
      give();
    });
  }
}

void SnapshotFetch::give() {
  for (auto it = arrived_.find(next_to_give_); it != arrived_.end();
       it = arrived_.find(next_to_give_)) {
    const std::string body = std::move(it->second);
    arrived_.erase(it);
    const SnapshotHead::Part& part = head_.parts[next_to_give_];
    if (body.size() != part.bytes || sha256(body) != part.digest) {
      return end(Error{Errc::kCorrupt, Keys::part(set_, next_to_give_) +
                                           ": its bytes do not match the snapshot's head"});
    }
    if (const Status taken = on_part_(next_to_give_, body); !taken) return end(taken.error());
    ++next_to_give_;
    ask_ahead();
  }
  if (next_to_give_ == head_.parts.size()) end(std::move(head_));
}

void SnapshotFetch::end(Result<SnapshotHead> result) {
  // Last, since the owner may drop this object when it hears of the end.
  const Callback<SnapshotHead> done = std::exchange(done_, nullptr);
  done(std::move(result));
}

}  // namespace muster::rlog
