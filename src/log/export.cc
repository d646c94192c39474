#include "log/export.h"

#include <utility>

namespace muster::rlog {

void Export::start(Callback<Outcome> done) {
  done_ = std::move(done);
  manifest_.refresh([this](const Status& read) {
    if (!read) return fail(read.error());
    begin();
  });
}

void Export::begin() {
  source_ = manifest_.value();
  if (!source_.pending.empty()) {
    return fail({Errc::kConflict,
                 "the move or restore " + source_.pending + " into this store is not finished"});
  }
  position_ = beginning(source_.origin);
  if (!source_.latest) return next_entry();
  position_ = source_.latest->position;
  lift_own_seal(position_, source_);
  set_ = context_.keys.snapshot(source_.latest->position.index, source_.latest->position.epoch,
                                source_.latest->nonce);
  head();
}

void Export::get(const Key& key, std::function<void(Result<std::string>)> then) {
  context_.get(key, {}, lifetime_.wrap([then = std::move(then)](Result<Object> object) {
    if (!object) return then(object.error());
    then(std::move(object->body));
  }));
}

void Export::give(const Key& key, std::string body, std::function<void()> then) {
  sink_(key.substr(context_.keys.prefix.size()), std::move(body),
        lifetime_.wrap([this, then = std::move(then)](const Status& taken) {
          if (!taken) return fail(taken.error());
          then();
        }));
}

void Export::head() {
  const Key key = Keys::head(set_);
  get(key, [this, key](Result<std::string> body) {
    if (!body) return fail(body.error());
    Result<SnapshotHead> head = decode_snapshot_head(*body);
    if (!head || sha256(*body) != source_.latest->head) {
      return fail({Errc::kCorrupt, key + ": its bytes do not match the manifest"});
    }
    head_ = std::move(*head);
    give(key, std::move(*body), [this] { next_part(); });
  });
}

void Export::next_part() {
  if (part_ == head_.parts.size()) return next_entry();
  const Key key = Keys::part(set_, part_);
  get(key, [this, key](Result<std::string> body) {
    if (!body) return fail(body.error());
    const SnapshotHead::Part& part = head_.parts[part_++];
    if (body->size() != part.bytes || sha256(*body) != part.digest) {
      return fail({Errc::kCorrupt, key + ": its bytes do not match the snapshot's head"});
    }
    give(key, std::move(*body), [this] { next_part(); });
  });
}

void Export::next_entry() {
  if (position_.seal) return confirm();
  const Key key = context_.keys.entry(next(position_.index));
  get(key, [this, key](Result<std::string> body) {
    if (body.is(Errc::kNotFound)) return confirm();
    if (!body) return fail(body.error());
    const Result<Entry> entry = decode_entry(*body);
    if (!entry) return fail(named(key, entry.error()));
    const Result<Verdict> verdict = judge(position_, *entry);
    if (!verdict) return fail(named(key, verdict.error()));
    advance(position_, *entry, *verdict);
    lift_own_seal(position_, source_);
    give(key, std::move(*body), [this] { next_entry(); });
  });
}

// Everything read so far counts only if nothing of it was being deleted (L4).
void Export::confirm() {
  manifest_.refresh([this](const Status& read) {
    if (!read) return fail(read.error());
    const Index base = source_.latest ? source_.latest->position.index : Index();
    if (manifest_.value().floor > base) {
      return fail({Errc::kUnavailable, "the log was compacted meanwhile; try again"});
    }
    Manifest manifest = source_;
    // What is at or below the snapshot is not there. Both kept snapshots are this one, so that
    // nobody looks for older entries.
    manifest.previous = manifest.latest;
    manifest.floor = base;
    std::exchange(done_, nullptr)(Outcome{std::move(manifest), position_});
  });
}

void Export::fail(const Error& error) {
  const bool passing = is_passing(error.code);
  std::exchange(done_, nullptr)(
      passing ? Error{Errc::kUnavailable, error.message, error.retry_after} : error);
}

}  // namespace muster::rlog
