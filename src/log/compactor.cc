#include "log/compactor.h"

#include <utility>

namespace muster::rlog {
namespace {

constexpr int kTries = 5;

}  // namespace

void Compactor::start(Position position, std::unique_ptr<SnapshotReader> image,
                      Callback<Compacted> done) {
  // The log starts one only while none runs (Impl::compact asks), whatever stores or clients do.
  MUSTER_CHECK(!running());
  done_ = std::move(done);
  image_ = std::move(image);
  ref_ = {};
  ref_.position = position;
  ref_.nonce = Nonce(context_.random.uuid());
  head_ = {std::move(position), {}};
  set_ = context_.keys.snapshot(ref_.position.index, ref_.position.epoch, ref_.nonce);
  write_next_part();
}

void Compactor::write_next_part() {
  std::optional<std::string> part = image_->next_part();
  if (!part) return write_head();
  if (part->empty() || part->size() > kPartBytesMax) {
    return end(Error{Errc::kInvalid, "the state hands out a part of " +
                                         std::to_string(part->size()) + " bytes; 1 to " +
                                         std::to_string(kPartBytesMax) + " are allowed"});
  }
  const std::string key = Keys::part(set_, head_.parts.size());
  head_.parts.push_back({part->size(), sha256(*part)});
  ref_.bytes += part->size();
  write(key, std::move(*part), kTries, [this] { write_next_part(); });
}

void Compactor::write_head() {
  image_.reset();
  std::string body = encode_snapshot_head(head_);
  ref_.head = sha256(body);
  write(Keys::head(set_), std::move(body), kTries, [this] { read_back(); });
}

void Compactor::write(const std::string& key, std::string body, int tries,
                      std::function<void()> then) {
  std::string sent = body;
  context_.store.put(
      key, std::move(sent), Precondition::absent(), context_.by(),
      lifetime_.wrap([this, key, body = std::move(body), tries,
                      then = std::move(then)](Result<Revision> written) mutable {
        // No other process has this name, so the first write was this one; reading back shows it.
        if (written || written.is(Errc::kConflict)) return then();
        if (tries == 1) return end(Error{Errc::kUnavailable, written.error().message});
        context_.loop.at(context_.loop.now() + context_.options.retry_wait,
                         lifetime_.wrap([this, key, body = std::move(body), tries, then]() mutable {
                           write(key, std::move(body), tries - 1, then);
                         }));
      }));
}

void Compactor::read_back() {
  fetch_ = std::make_unique<SnapshotFetch>(
      context_, ref_, [](std::size_t, std::string_view) -> Status { return Done{}; });
  fetch_->start([this](Result<SnapshotHead> head) {
    if (!head) return end(head.error());
    swap(kTries);
  });
}

void Compactor::swap(int tries) {
  manifest_.refresh([this, tries](Status read) {
    if (!read) return end(read.error());
    const auto change = [this](const Manifest& manifest) { return with_snapshot(manifest, ref_); };
    if (const auto next = change(manifest_.value()); !next) return end(next.error());
    manifest_.swap(change, [this, tries](Status swapped) {
      if (swapped) return raise_floor(kTries);
      // Another's change came first for certain, so this one cannot land any more. One that may
      // land yet ends it here: nothing is deleted on a guess.
      if (swapped.is(Errc::kConflict) && tries > 1) return swap(tries - 1);
      end(swapped.error());
    });
  });
}

void Compactor::raise_floor(int tries) {
  if (!with_raised_floor(manifest_.value())) return delete_entries();
  const auto change = [](const Manifest& manifest) -> Result<Manifest> {
    auto raised = with_raised_floor(manifest);
    if (!raised) return {Errc::kConflict, "the floor is raised already"};
    return std::move(*raised);
  };
  manifest_.swap(change, [this, tries](Status raised) {
    if (raised.is(Errc::kConflict) && tries > 1) return raise_floor(tries - 1);
    // The floor that is known to stand decides what is deleted, whether or not it rose now.
    delete_entries();
  });
}

void Compactor::delete_entries() {
  const Index floor = manifest_.value().floor;
  sweep_ = std::make_unique<Sweep>(context_, context_.keys.log(), [this, floor](const Key& key) {
    const auto index = context_.keys.entry_of(key);
    return index && *index <= floor;
  });
  // The snapshot stands; what this cannot delete, the next one will.
  sweep_->start([this](Result<std::size_t>) { delete_parts(); });
}

void Compactor::delete_parts() {
  const Manifest manifest = manifest_.value();
  const auto name = [this](const std::optional<SnapshotRef>& ref) {
    if (!ref) return std::string();
    return context_.keys.snapshot(ref->position.index, ref->position.epoch, ref->nonce);
  };
  const std::string latest = name(manifest.latest);
  const std::string previous = name(manifest.previous);
  sweep_ = std::make_unique<Sweep>(
      context_, context_.keys.snapshots(), [this, manifest, latest, previous](const Key& key) {
        const auto set = context_.keys.set_of(key);
        return set &&
               is_garbage(manifest, set->index, set->name == latest || set->name == previous);
      });
  sweep_->start([this](Result<std::size_t>) {
    end(Compacted{ref_.position.index, manifest_.value().floor});
  });
}

void Compactor::end(Result<Compacted> result) {
  image_.reset();
  // Last, since the next one may be started from it.
  const Callback<Compacted> done = std::exchange(done_, nullptr);
  done(std::move(result));
}

}  // namespace muster::rlog
