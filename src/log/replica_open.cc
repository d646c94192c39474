// Opening: the manifest, the snapshot, the watch.
#include <utility>

#include "log/replica.h"

namespace muster::rlog {
namespace {

Error other_cluster(const Manifest& manifest, const std::string& wanted) {
  const std::string head = "the engine holds the log of ";
  if (manifest.cluster.empty()) {
    return {
        Errc::kDenied,
        head + "a cluster without a name, but this server has --cluster " + wanted +
            "; a separate cluster needs its own engine or prefix; to name the existing cluster, "
            "first restart one of its servers with --cluster " +
            wanted};
  }
  return {Errc::kDenied,
          head + "cluster " + manifest.cluster +
              (wanted.empty() ? ", but this server has no --cluster"
                              : ", but this server has --cluster " + wanted) +
              "; give it its own engine or prefix, or, if it belongs to that cluster, --cluster " +
              manifest.cluster};
}

}  // namespace

void ReplicatedLog::Impl::open(Callback<Done> done) {
  // Called once, by the owner that has just made this log: no input leads here twice.
  MUSTER_CHECK(mode_ == Mode::kClosed);
  mode_ = Mode::kOpening;
  busy_ = true;
  on_open_ = std::move(done);
  read_manifest();
}

void ReplicatedLog::Impl::report_delay(const Error& reason) {
  if (mode_ != Mode::kOpening || reason.message == delayed_by_) return;
  delayed_by_ = reason.message;
  tell(Delayed{reason});
}

void ReplicatedLog::Impl::retry(void (Impl::*step)(), const Error& reason) {
  report_delay(reason);
  step_timer_.arm(context_.options.retry_wait, [this, step] { (this->*step)(); });
}

void ReplicatedLog::Impl::read_manifest() {
  manifest_.refresh(lifetime_.wrap([this](Status read) {
    if (read) return begin_at_manifest();
    const Options& options = context_.options;
    if (read.is(Errc::kNotFound)) {
      if (options.create && options.log_id.empty()) return make_manifest();
      return stop(named(context_.keys.manifest(), read.error()));
    }
    if (!is_passing(read.code())) return stop(read.error());
    retry(&Impl::read_manifest, read.error());
  }));
}

// Only where nothing is: the remains of a log without its manifest need an operator (L1).
void ReplicatedLog::Impl::make_manifest() {
  const auto look = [this](std::string prefix, std::function<void()> then) {
    context_.store.list(std::move(prefix), {}, context_.by(),
                        lifetime_.wrap([this, then = std::move(then)](Result<ListPage> page) {
                          if (!page) return retry(&Impl::read_manifest, page.error());
                          if (page->objects.empty()) return then();
                          refuse_remains(page->objects.front().key);
                        }));
  };
  look(context_.keys.snapshots(),
       [this, look] { look(context_.keys.log(), [this] { put_manifest(); }); });
}

// A manifest is made before anything else. So what is there is a log that another replica has made
// since, unless the manifest, read once more, is still absent.
void ReplicatedLog::Impl::refuse_remains(const Key& key) {
  manifest_.refresh(lifetime_.wrap([this, key](const Status& read) {
    if (read) return read_manifest();
    if (!read.is(Errc::kNotFound)) return retry(&Impl::read_manifest, read.error());
    stop({Errc::kConflict,
          context_.keys.manifest() + " is gone, but " + key + " is there: restore the manifest"});
  }));
}

void ReplicatedLog::Impl::put_manifest() {
  Manifest manifest;
  manifest.log_id = context_.random.uuid();
  manifest.origin = manifest.log_id;
  manifest.nonce = Nonce(context_.random.uuid());
  manifest.guarded = context_.store.capabilities().guarded_put;
  manifest.cluster = context_.options.cluster.value_or("");
  // Whatever the answer, and whichever process made it: the next read returns the log.
  manifest_.create(std::move(manifest), lifetime_.wrap([this](const Status& made) {
    if (made || made.is(Errc::kConflict)) return read_manifest();
    retry(&Impl::read_manifest, made.error());
  }));
}

void ReplicatedLog::Impl::begin_at_manifest() {
  const Manifest& manifest = manifest_.value();
  const std::string& wanted = context_.options.log_id;
  if (!wanted.empty() && manifest.log_id != wanted) {
    return stop({Errc::kConflict, "this is log " + manifest.log_id + ", not " + wanted});
  }
  if (!manifest.pending.empty()) {
    return stop({Errc::kConflict, context_.keys.manifest() + ": the move or restore " +
                                      manifest.pending +
                                      " into this store is not finished. A move: start one server "
                                      "with the engine it comes from, which finishes it. A "
                                      "restore: repeat it into an empty store"});
  }
  const auto& cluster = context_.options.cluster;
  if (cluster && *cluster != manifest.cluster) {
    if (manifest.cluster.empty() && !wanted.empty()) return name_log();
    return stop(other_cluster(manifest, *cluster));
  }
  if (manifest.latest) return load_snapshot();
  position_ = beginning(manifest.origin);
  start_watch();
}

void ReplicatedLog::Impl::name_log() {
  const auto change = [name = *context_.options.cluster](Manifest manifest) -> Result<Manifest> {
    if (manifest.cluster.empty()) manifest.cluster = name;
    return manifest;
  };
  // Whatever is answered: what is read next decides.
  manifest_.swap(change, lifetime_.wrap([this](const Status& named) {
    if (named) return read_manifest();
    if (!is_passing(named.code()) && !named.is(Errc::kConflict)) return stop(named.error());
    retry(&Impl::read_manifest, named.error());
  }));
}

// Also when a number that is wanted has been compacted. Begins at the manifest each time (L6).
void ReplicatedLog::Impl::load_snapshot() {
  manifest_.refresh(lifetime_.wrap([this](Status read) {
    if (mode_ == Mode::kStopped) return;
    if (!read && !is_passing(read.code())) return stop(read.error());
    if (!read) return retry(&Impl::load_snapshot, read.error());
    const Manifest& manifest = manifest_.value();
    // Whatever is in the store ends no process: a manifest that lost its snapshot is damage (L1).
    if (!manifest.latest) {
      return stop({Errc::kCorrupt, context_.keys.manifest() +
                                       " names no snapshot any more, though it did before or its "
                                       "floor needs one"});
    }
    const bool older = mode_ == Mode::kOpening && context_.options.use_previous_snapshot;
    if (!older) return start_loading(*manifest.latest);
    if (manifest.previous) return start_loading(*manifest.previous);
    // Before the first snapshot's predecessor there was nothing, and no number is deleted yet.
    position_ = beginning(manifest.origin);
    start_watch();
  }));
}

void ReplicatedLog::Impl::start_loading(const SnapshotRef& ref) {
  // Parts go only after the manifest has let go of them, and it was read anew since one was absent.
  if (lost_ && lost_->ref == ref) return stop(lost_->reason);
  lost_.reset();
  loader_ = machine_.load();
  fetch_ = std::make_unique<SnapshotFetch>(
      context_, ref, [this](std::size_t, std::string_view bytes) { return loader_->part(bytes); });
  fetch_->start([this, ref](Result<SnapshotHead> head) {
    if (head) return loaded(ref);
    loader_.reset();
    // An absent part means a newer snapshot, unless the manifest still names this one.
    if (head.is(Errc::kNotFound)) {
      lost_ = Lost{ref, {Errc::kCorrupt, head.error().message}};
    }
    if (is_passing(head.code())) return retry(&Impl::load_snapshot, head.error());
    stop(head.error());
  });
}

void ReplicatedLog::Impl::loaded(const SnapshotRef& ref) {
  const Status finished = loader_->finish();
  loader_.reset();
  if (!finished) {
    return stop(
        named("the snapshot at " + std::to_string(ref.position.index.value()), finished.error()));
  }
  position_ = ref.position;
  lift_own_seal(position_, manifest_.value());
  bytes_since_snapshot_ = 0;
  if (mode_ == Mode::kOpening && !watch_) return start_watch();
  tell(Reloaded{position_.index});
  if (position_.seal) tell(Sealed{*position_.seal});
  if (term_ && !may_write(position_, term_->epoch, term_->incarnation)) {
    depose("a snapshot holds another leader's entries");
  }
  look_ = true;
  idle();
}

// The cursor of a list, so that nothing between the first round and the watch is missed.
void ReplicatedLog::Impl::start_watch() {
  look_ = true;
  if (!context_.store.capabilities().watch) return idle();
  context_.store.list(context_.keys.manifest(), {}, context_.by(),
                      lifetime_.wrap([this](Result<ListPage> page) {
                        if (!page) return retry(&Impl::start_watch, page.error());
                        watch_ = context_.store.watch(
                            context_.keys.log(), page->cursor,
                            lifetime_.wrap([this](const WatchEvent& event) { on_watch(event); }));
                        idle();
                      }));
}

void ReplicatedLog::Impl::opened() {
  mode_ = Mode::kOpen;
  if (position_.seal) tell(Sealed{*position_.seal});
  if (const auto done = std::exchange(on_open_, nullptr)) done(Done{});
}

}  // namespace muster::rlog
